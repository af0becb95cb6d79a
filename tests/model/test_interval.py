"""Intervals against closed forms and against draws of the parameters, in the user's units."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import norm

import nke
from nke.data import Coordinates
from nke.data.transforms import Log, Logit, Plain
from nke.errors import InputError
from nke.model import Model, Uncertainty, load
from nke.model.uncertainty import named_arrays, with_arrays
from nke.operators import (
    Advection,
    ConstantFactor,
    Diffusion,
    DriftNetwork,
    Generator,
    JumpNetwork,
    PoissonJump,
    SmoothBasis,
    SmoothDrift,
    SmoothFactor,
    SmoothFunction,
    trainable,
)

BIAS, SLOPE = "advection.drift.body.skip.bias", "advection.drift.body.skip.weight"
COVARIANCE = np.array([[0.04, -0.01], [-0.01, 0.09]])  # of constant and slope of a drift in z


def linear(constant=0.5, slope=-1.0, scale=2.0, shift=1.0, time_unit=0.5) -> Model:
    """f(z) = constant + slope·z, noise of one, uncertain as COVARIANCE says."""
    drift = DriftNetwork(jnp.ones(1), 0, 0, key=jax.random.key(0))
    drift = drift.starting_from(jnp.array([constant]), jnp.array([[slope]]))
    noise = ConstantFactor(jnp.eye(1), 0, 0, inputs=1, key=jax.random.key(0))
    root = np.linalg.cholesky(COVARIANCE)
    uncertainty = Uncertainty({BIAS: root[0][:, None], SLOPE: root[1][:, None, None]})
    coordinates = Coordinates([shift], [scale], time_unit)
    return Model(
        Generator(Advection(drift), Diffusion(noise)), coordinates, 0.1, ("x",), ("",), uncertainty=uncertainty
    )


def with_jumps(transforms) -> Model:
    """A law of two coordinates with jumps of two kinds, every trained number of it uncertain."""
    key = jax.random.key(1)
    drift = DriftNetwork(jnp.ones(2), 0, 0, key=key)
    drift = drift.starting_from(jnp.array([0.3, -0.2]), jnp.array([[-1.0, 0.2], [0.1, -0.5]]))
    noise = ConstantFactor(jnp.array([[0.4, 0.0], [0.1, 0.3]]), 0, 0, inputs=2, key=key)
    network = JumpNetwork(0.3 * jnp.ones(2), 0.05 * jnp.eye(2), 0.8, 2, 0, 0, key=key)
    generator = Generator(Advection(drift), Diffusion(noise), PoissonJump(network, 3))
    arrays = named_arrays(eqx.filter(generator, trainable(generator)))
    rng, count = np.random.default_rng(0), 5
    uncertainty = Uncertainty({n: 0.01 * rng.normal(size=(count, *a.shape)) for n, a in arrays.items() if a.size})
    coordinates = Coordinates([0.1, 0.2], [0.8, 1.2], 0.5, transforms)
    return Model(generator, coordinates, 0.1, ("a", "b"), ("", ""), uncertainty=uncertainty)


class TestClosedForm:
    X = np.array([[-1.0], [1.0], [4.0]])

    def test_the_drift_of_a_line(self):
        """The variance of b + c·z is C₀₀ + 2 C₀₁ z + C₁₁ z², in units of scale over time."""
        model, z = linear(), (self.X - 1) / 2
        error = np.sqrt(COVARIANCE[0, 0] + 2 * COVARIANCE[0, 1] * z + COVARIANCE[1, 1] * z**2) * 2 / 0.5
        for level in (0.5, 0.9, 0.99):
            lower, upper = model.interval("drift", self.X, level)
            reach = norm.ppf((1 + level) / 2) * error
            np.testing.assert_allclose(lower, model.drift(self.X) - reach, rtol=1e-5, atol=1e-5)
            np.testing.assert_allclose(upper, model.drift(self.X) + reach, rtol=1e-5, atol=1e-5)

    def test_the_total_drift_without_jumps_is_the_drift(self):
        model = linear()
        for one, other in zip(model.interval("total_drift", self.X), model.interval("drift", self.X), strict=True):
            np.testing.assert_array_equal(one, other)

    def test_what_is_certain_has_no_width(self):
        model = linear()
        lower, upper = model.interval("diffusion", self.X)
        np.testing.assert_array_equal(lower, upper)
        np.testing.assert_allclose(lower, model.diffusion(self.X), rtol=1e-6)
        assert not np.any(model.interval("jump_rate", self.X))

    def test_the_offset_moves_the_middle(self):
        """Terms that were dropped are not zero in the middle of the interval."""
        model = linear()
        uncertainty = replace(model.uncertainty, offset={SLOPE: np.array([[0.25]])})
        moved = replace(model, uncertainty=uncertainty).interval("drift", self.X)
        before, by = model.interval("drift", self.X), 0.25 * (self.X - 1) / 2 * 2 / 0.5
        for end, start in zip(moved, before, strict=True):
            np.testing.assert_allclose(end, start + by, rtol=1e-5, atol=1e-5)

    def test_a_variance_has_a_positive_interval(self):
        """Its logarithm has the standard error δa/a."""
        model = linear()
        name = next(name for name in named_arrays(model.generator) if name.startswith("diffusion") and "raw" in name)
        lower, upper = replace(model, uncertainty=Uncertainty({name: np.full((1, 1), 1.0)})).interval(
            "diffusion", self.X
        )
        assert (lower > 0).all()
        np.testing.assert_allclose(lower * upper, model.diffusion(self.X) ** 2, rtol=1e-4)
        assert (upper > 2 * lower).all()


@pytest.mark.parametrize(
    "transforms",
    [None, (Log(), Plain()), (Logit(0.0, 1.0), Log())],
    ids=["plain", "logarithm", "logit"],
)
@pytest.mark.parametrize("quantity", ["drift", "diffusion", "jump_rate", "total_drift"])
def test_errors_are_those_of_drawn_parameters(transforms, quantity):
    """To first order the interval is that of 200 draws of the parameters: within 4 × 5 % for their spread."""
    model, x = with_jumps(transforms), np.array([[0.4, 0.7], [0.6, 1.5]])
    rng, value = np.random.default_rng(1), getattr(model, quantity)(x)
    drawn = []
    start = named_arrays(model.generator)
    for _ in range(200):
        xi = rng.normal(size=model.uncertainty.count)
        moved = {n: np.tensordot(xi, m, axes=1) for n, m in model.uncertainty.directions.items()}
        arrays = {n: jnp.asarray(start[n] + m, jnp.float32) for n, m in moved.items()}
        drawn.append(getattr(replace(model, generator=with_arrays(model.generator, arrays)), quantity)(x))
    spread = np.std(drawn, axis=0)
    lower, upper = model.interval(quantity, x, level=norm.cdf(1) - norm.cdf(-1))
    assert lower.shape == upper.shape == value.shape
    np.testing.assert_allclose((upper - lower) / 2, spread, rtol=0.2)


class TestBeyondTheData:
    def test_limits_do_not_make_the_law_certain(self):
        """Beyond the data the noise is cut off and has no derivative; its interval is that at the data's end."""
        one, x = jnp.ones((1, 1)), np.linspace(-1, 1, 21)[:, None]
        line = SmoothFunction(SmoothBasis(1, one, one, []), jnp.array([[0.0, 0.5]]))
        generator = Generator(
            Advection(SmoothDrift(line, jnp.ones(1)).within(x)), Diffusion(SmoothFactor(line.within(x), one))
        )
        names = [name for name in named_arrays(generator) if name.endswith("body.weights")]
        directions = {name: np.array([[0.1, 0.0], [0.0, 0.2]]) for name in names}
        coordinates = Coordinates([0.0], [1.0], 1.0)
        model = Model(generator, coordinates, 0.1, ("x",), ("",), uncertainty=Uncertainty(directions))
        for quantity in ("drift", "diffusion"):
            (low, lower), (high, upper) = model.interval(quantity, [[1.0], [7.0]])
            np.testing.assert_allclose([lower, upper], [low, high], rtol=1e-4)
            assert upper > 1.2 * lower


class TestErrors:
    def test_a_quantity_that_does_not_exist(self):
        with pytest.raises(InputError, match="expected one of 'drift', 'diffusion', 'jump_rate', 'total_drift'"):
            linear().interval("drifts", [[0.0]])

    @pytest.mark.parametrize("level", [0, 1, 90, -0.1, np.nan, True])
    def test_a_level_that_is_no_probability(self, level):
        with pytest.raises(InputError, match="expected a level between 0 and 1"):
            linear().interval("drift", [[0.0]], level)

    def test_states_of_another_dimension(self):
        with pytest.raises(InputError, match="expected states of shape"):
            linear().interval("drift", [[0.0, 1.0]])

    def test_a_law_whose_errors_are_not_known(self):
        with pytest.raises(InputError, match="no intervals"):
            replace(linear(), uncertainty=None).interval("drift", [[0.0]])

    def test_the_errors_of_another_law(self):
        other = with_jumps(None)
        with pytest.raises(InputError, match="another generator"):
            replace(linear(), uncertainty=other.uncertainty).interval("drift", [[0.0]])

    def test_a_model_made_by_hand_does_not_know_its_data(self):
        with pytest.raises(InputError, match="does not know where its data was"):
            linear().seen([[0.0]])


def test_files_keep_intervals_and_the_data_s_place(tmp_path, small_fit):
    model, x = small_fit["model"], np.linspace(-1, 1, 7)[:, None]
    model.save(tmp_path / "law.nke")
    loaded = load(tmp_path / "law.nke")
    for quantity in ("drift", "diffusion"):
        for saved, read in zip(model.interval(quantity, x), loaded.interval(quantity, x), strict=True):
            np.testing.assert_array_equal(saved, read)
    np.testing.assert_array_equal(model.seen(5 * x), loaded.seen(5 * x))


def test_a_file_without_them_is_read(tmp_path, small_fit):
    """As earlier versions of nke wrote it."""
    bare = replace(small_fit["model"], uncertainty=None, region=None)
    bare.save(tmp_path / "law.nke")
    loaded = nke.load(tmp_path / "law.nke")
    assert loaded.uncertainty is None
    assert loaded.region is None


def test_the_shape_is_that_of_the_quantity(small_fit):
    model = small_fit["model"]
    for x in ([0.1], [[0.1], [0.2]], np.zeros((2, 3, 1)), np.zeros((0, 1))):
        for quantity in ("drift", "diffusion", "jump_rate", "total_drift"):
            ends = model.interval(quantity, x)
            assert ends.lower.shape == ends.upper.shape == getattr(model, quantity)(x).shape


def test_the_error_of_a_slope_is_that_of_regression(small_fit):
    """Ornstein–Uhlenbeck: the drift at x has variance a/(n s)·(1 + (x − mean)²/var)."""
    model, steps = small_fit["model"], small_fit["data"].transitions()
    x = np.array([[-1.0], [0.0], [1.0]])
    lower, upper = model.interval("drift", x)
    error = (upper - lower) / 2 / norm.ppf(0.95)
    n, start = 0.9 * len(steps), steps.x[:, 0]  # a tenth is held out
    noise = float(model.diffusion([0.0])[0, 0]) / (n * steps.step[0])
    expected = np.sqrt(noise * (1 + (x - start.mean()) ** 2 / start.var()))
    np.testing.assert_allclose(error, expected, rtol=0.12)
