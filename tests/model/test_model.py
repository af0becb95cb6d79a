"""A model built from true coefficients gives them back, in the user's units, and simulates their law.

Tolerances: the model computes in float32 (eps 6e-8; sums of a few terms lose a factor of ten), sampled
means are compared within four standard errors, and seeds are fixed.
"""

import jax.numpy as jnp
import numpy as np
import pytest

from nke.data import Coordinates, Trajectories
from nke.errors import InputTypeError
from nke.model import Model
from nke.operators import (
    Advection,
    Diffusion,
    Generator,
)
from nke.systems import BimodalJumps, BlackScholes, DoubleWell, GeometricBrownianMotion, OrnsteinUhlenbeck
from true_models import (
    FLOAT32,
    UNITS,
    states_of,
    true_model,
)

TWO_PRICES = BlackScholes(growth=[0.1, -0.1], volatility=[0.3, 0.2], correlation=[[1.0, -0.5], [-0.5, 1.0]])
SYSTEMS = {
    "OU": (OrnsteinUhlenbeck(rate=2, mean=1, noise=0.5), None),
    "prices": (TWO_PRICES, None),
    "double well": (DoubleWell(dimension=2), None),
    "bimodal": (BimodalJumps(), None),
    "bimodal in other units": (BimodalJumps(), UNITS),
}


@pytest.fixture(scope="module", params=SYSTEMS.values(), ids=SYSTEMS)
def known(request):
    system, coordinates = request.param
    return system, true_model(system, coordinates)


@pytest.fixture(scope="module")
def ornstein_uhlenbeck():
    system = OrnsteinUhlenbeck(rate=2, mean=1, noise=0.5)
    return system, true_model(system)


# Coefficients


class TestCoefficients:
    """Float32 rounds z and f(z): relative to their largest entries, times the condition of the shift."""

    def test_drift(self, known):
        system, model = known
        x = states_of(system, 8, 5)
        truth = system.drift(x)
        rounding = 10 * np.abs(truth).max() + 20  # x itself is recovered from z to 20·2e-7 in UNITS
        np.testing.assert_allclose(model.drift(x), truth, rtol=0, atol=FLOAT32 * rounding)
        assert model.drift(x).dtype == np.float64

    def test_diffusion(self, known):
        system, model = known
        x = states_of(system, 8, 5)
        truth = system.diffusion(x)
        np.testing.assert_allclose(model.diffusion(x), truth, rtol=0, atol=10 * FLOAT32 * np.abs(truth).max())

    def test_jump_rate(self, known):
        system, model = known
        x = states_of(system, 8, 5)
        np.testing.assert_allclose(model.jump_rate(x), system.jump_rate(x), rtol=10 * FLOAT32)
        assert model.jump_rate(x).shape == (8, 5)
        assert model.has_jumps == system.has_jumps

    def test_jump_law(self, known):
        system, model = known
        x = states_of(system, 8, 5)
        if not system.has_jumps:
            with pytest.raises(ValueError, match=r"no jumps.*jumps=True"):
                model.jump_law(x)
            return
        law, truth = model.jump_law(x), system.jump_law(x)
        np.testing.assert_allclose(law.weights.sum(axis=-1), 1.0, rtol=1e-12)
        for name in ("weights", "means", "covariances"):
            np.testing.assert_allclose(getattr(law, name), getattr(truth, name), rtol=1e-5, atol=1e-6)

    def test_total_drift(self, known):
        """f + λ·E[jump]: the first Kramers–Moyal coefficient of the system itself."""
        system, model = known
        x = states_of(system, 8, 5)
        truth = system.drift(x)
        if system.has_jumps:
            truth = truth + system.jump_rate(x)[..., None] * system.jump_law(x).mean
        rounding = 20 * np.abs(truth).max() + 20  # twice that of the drift: two terms
        np.testing.assert_allclose(model.total_drift(x), truth, rtol=0, atol=FLOAT32 * rounding)

    def test_total_drift_is_the_mean_motion_of_a_short_step(self):
        """(E x' − x)/s of the transition law; the next order in s is λs/2 times the state's own drift, 0.1 %."""
        model, x = true_model(BimodalJumps()), states_of(BimodalJumps(), 40)
        moved = (model.transition(x, 1e-3).mean - x) / 1e-3
        np.testing.assert_allclose(moved, model.total_drift(x), atol=5e-3 * np.abs(moved).max())

    def test_shapes_and_lists(self):
        model, one = true_model(BimodalJumps(), UNITS), np.array([0.3, -0.2])
        assert model.drift(one.tolist()).shape == (2,)
        assert model.diffusion(one).shape == (2, 2)
        assert model.jump_rate(one).shape == ()
        assert model.total_drift(one).shape == (2,)
        assert model.jump_law(one).means.shape == (2, 2)
        np.testing.assert_array_equal(model.drift(one), model.drift(one[None])[0])
        assert model.drift(np.empty((0, 2))).shape == (0, 2)

    @pytest.mark.parametrize("exponent", [-12, 12])
    @pytest.mark.parametrize("time_exponent", [-12, 12])
    def test_extreme_units(self, exponent, time_exponent):
        """The same dimensionless law in units of 1e±12: everything scales exactly as it must."""
        plain, scale, unit = true_model(BimodalJumps()), 10.0**exponent, 10.0**time_exponent
        coordinates = Coordinates(np.zeros(2), np.full(2, scale), unit)
        model = Model(plain.generator, coordinates, 0.02 * unit, plain.names, plain.units)
        expected = self.everything(plain, 1.0, 1.0)
        powers = {
            "drift": (1, -1),
            "diffusion": (2, -1),
            "jump_rate": (0, -1),
            "covariance": (2, 0),
            "log_prob": (0, 0),
        }
        for name, value in self.everything(model, scale, unit).items():
            of_scale, of_unit = powers.get(name, (1, 0))
            truth = expected[name] * scale**of_scale * unit**of_unit
            if name == "log_prob":
                truth = truth - 2 * np.log(scale)
            np.testing.assert_allclose(value, truth, rtol=1e-5, atol=1e-6 * np.abs(truth).max(), err_msg=name)

    def everything(self, model, scale, unit):
        x, step = states_of(BimodalJumps(), 40) * scale, 0.02 * unit
        mixture = model.transition(x, step)
        return {
            "drift": model.drift(x),
            "diffusion": model.diffusion(x),
            "jump_rate": model.jump_rate(x),
            "jump_law": model.jump_law(x).means,
            "mean": mixture.mean,
            "covariance": mixture.covariance,
            "log_prob": model.log_prob(x + 0.1 * scale, given=x, step=step),
            "sample": model.sample(x, np.array([0, 1, 3]) * step),
        }


# Transition density


class TestTransition:
    def test_log_prob_of_the_mixture_is_log_prob(self, known):
        """One law stands behind both; float32 against float64 evaluation of the same components."""
        system, model = known
        x = states_of(system, 40)
        y = model.transition(x, 0.02).sample(1, 1)[0]
        mixture = model.transition(x, 0.02)
        np.testing.assert_allclose(model.log_prob(y, given=x, step=0.02), mixture.log_prob(y), rtol=1e-4, atol=1e-3)

    def test_agrees_with_the_exact_density_to_second_order(self, ornstein_uhlenbeck):
        """With z = θs, a second-order rule has a mean off by O(z³) and a covariance off by c z² of itself, hence a log
        density off by c z² (1 − r²)/2 at r standard deviations. A trapezoidal rule for the moments has
        c = 5/12 (it gives (1 − z/2)² s a for s a (1 − z + 2z²/3)) and a mean off by z³/6·(x − m); Strang's
        c is 1/6. Asserted: within these bounds, and four times smaller for half the step.
        """
        system, model = ornstein_uhlenbeck
        x = np.linspace(0, 2, 40)[:, None]
        r = np.linspace(-2, 2, 40)
        errors = []
        for step in (0.1, 0.05, 0.025):
            flow, covariance = system.transition_matrices(np.asarray(step))
            deviation = np.sqrt(covariance[0, 0])
            y = system.mean + flow[0, 0] * (x - system.mean) + deviation * r[:, None]
            error = np.abs(model.log_prob(y, given=x, step=step) - system.log_prob(y, given=x, step=step))
            z = system.rate * step
            displaced = z**3 / 6 * np.abs(x[:, 0] - system.mean) / deviation
            # The next order, z, of both; and float32.
            bound = (1 + z) * (5 / 24 * (1 + r**2) * z**2 + (np.abs(r) + displaced) * displaced) + 1e-4
            assert (error < bound).all()
            at_rest, y = np.full_like(x, system.mean), system.mean + deviation * r[:, None]
            error = model.log_prob(y, given=at_rest, step=step) - system.log_prob(y, given=at_rest, step=step)
            errors.append(np.abs(error).max())
        # The coarsest error is about 0.02, float32 rounding 1e-5; the next order changes the ratio by z.
        assert errors[0] / errors[1] == pytest.approx(4, rel=0.2)
        assert errors[1] / errors[2] == pytest.approx(4, rel=0.1)

    def test_prices_at_a_small_step(self):
        """A log-normal and its Gaussian of equal moments: the densities differ by skewness 3σ√s·(r³ − 3r)/6."""
        system = GeometricBrownianMotion(volatility=0.2)
        model, step = true_model(system), 1e-3
        rng = np.random.default_rng(2)
        x = system.initial(40, rng)
        y = system.advance(x, step, rng)
        r = np.log(y / x)[:, 0] / (0.2 * np.sqrt(step))
        bound = 0.2 * np.sqrt(step) * (np.abs(r) ** 3 + 3 * np.abs(r) + 1) / 2 + 1e-3
        assert (np.abs(model.log_prob(y, given=x, step=step) - system.log_prob(y, given=x, step=step)) < bound).all()

    @pytest.mark.parametrize("name", ["OU", "one-dimensional double well"])
    def test_integrates_to_one_in_one_dimension(self, ornstein_uhlenbeck, name):
        """Trapezoidal rule, spectrally accurate for Gaussians narrower than ten grid steps."""
        model = ornstein_uhlenbeck[1] if name == "OU" else true_model(DoubleWell(dimension=1), step=0.05)
        grid = np.linspace(-9, 9, 6001)
        for start, step in ((-1.0, 0.05), (0.5, 0.5)):
            density = np.exp(model.log_prob(grid[:, None], given=np.array([start]), step=step))
            assert np.sum(density) * (grid[1] - grid[0]) == pytest.approx(1.0, abs=1e-4)

    def test_integrates_to_one_in_two_dimensions_and_other_units(self):
        """In UNITS, so that the density carries the Jacobian of the change of units.

        Several jumps are one Gaussian of sd about 3·1.5: the grid covers three of these (mass 5 % by 0.3 %).
        """
        model = true_model(BimodalJumps(), UNITS)
        first, second = np.linspace(-14, 14, 561), np.linspace(-2, 2, 81)
        grid = np.stack(np.meshgrid(first, second, indexing="ij"), axis=-1)
        density = np.exp(model.log_prob(grid, given=np.array([0.3, -0.2]), step=0.3))
        cell = (first[1] - first[0]) * (second[1] - second[0])
        assert density.sum() * cell == pytest.approx(1.0, abs=2e-4)

    def test_steps_may_differ(self, ornstein_uhlenbeck):
        _, model = ornstein_uhlenbeck
        x = np.linspace(0, 2, 40)[:, None]
        steps = np.geomspace(0.01, 1, 40)
        together = model.log_prob(x + 0.1, given=x, step=steps)
        apart = [model.log_prob(x + 0.1, given=x, step=step)[i] for i, step in enumerate(steps)]
        np.testing.assert_allclose(together, apart, rtol=1e-6)
        assert len(np.unique(together)) == 40

    def test_start_and_end_broadcast(self, ornstein_uhlenbeck):
        _, model = ornstein_uhlenbeck
        y = np.linspace(0, 2, 40).reshape(8, 5, 1)
        one_start = model.log_prob(y, given=np.array([0.5]), step=0.1)
        assert one_start.shape == (8, 5)
        np.testing.assert_array_equal(one_start, model.log_prob(y, given=np.full((8, 5, 1), 0.5), step=0.1))

    def test_score_is_the_mean_log_density(self, ornstein_uhlenbeck):
        """Two rows of 20 trajectories, their unequal steps included, through the float64 mixtures."""
        system, model = ornstein_uhlenbeck
        data = system.simulate(20, 0, times=[0, 0.1, 0.3])
        values = [
            model.transition(data.states[:, i], step).log_prob(data.states[:, i + 1])
            for i, step in enumerate((0.1, 0.2))
        ]
        assert model.score(data) == pytest.approx(np.mean(values), rel=1e-4)

    def test_offset_does_not_cost_digits(self):
        """x = 1e6 ± 1e-3: displacements are taken in float64 before anything is rounded to float32."""
        system = OrnsteinUhlenbeck(noise=0.01)
        shift = Coordinates(np.array([1e6]), np.array([0.01]), 1.0)
        plain = true_model(system)
        model = Model(
            Generator(Advection(lambda z: -z), Diffusion.from_tensor(lambda z: jnp.ones((1, 1)))),
            shift,
            0.1,
            ("x",),
            ("",),
        )
        x, y = np.array([[0.003]]), np.array([[0.0045]])
        exact = plain.log_prob(y, given=x, step=0.1)
        np.testing.assert_allclose(model.log_prob(1e6 + y, given=1e6 + x, step=0.1), exact, atol=1e-4)


# What is refused


@pytest.fixture(scope="module")
def model():
    return true_model(OrnsteinUhlenbeck(dimension=2))


class TestRefusals:
    @pytest.mark.parametrize("method", ["drift", "diffusion", "jump_rate"])
    @pytest.mark.parametrize("shape", [(), (3,), (4, 1), (2, 5)])
    def test_wrong_dimension(self, model, method, shape):
        with pytest.raises(ValueError, match=r"shape \(\.\.\., 2\) for x1, x2, but got"):
            getattr(model, method)(np.zeros(shape))

    def test_advice_in_one_dimension(self, ornstein_uhlenbeck):
        with pytest.raises(ValueError, match=r"x\[\.\.\., None\]"):
            ornstein_uhlenbeck[1].drift(np.zeros((5, 4)))

    def test_text(self, model):
        with pytest.raises(TypeError, match="real numbers"):
            model.drift([["a", "b"]])

    @pytest.mark.parametrize("shape", [(4, 3), (4, 1), (1,), (3,)])
    def test_wrong_dimension_of_the_next_state(self, model, shape):
        """Also shapes that would broadcast: one coordinate cannot stand for both."""
        with pytest.raises(ValueError, match=r"\(\.\.\., 2\)"):
            model.log_prob(np.zeros(shape), given=np.zeros((4, 2)), step=0.1)

    @pytest.mark.parametrize("step", [0.0, -0.1, np.nan, np.inf, [0.1, 0.0]])
    def test_steps(self, model, step):
        x = np.zeros((2, 2))
        with pytest.raises(ValueError, match="step"):
            model.transition(x, step)
        with pytest.raises(ValueError, match="step"):
            model.log_prob(x, given=x, step=step)

    def test_start_and_step_must_be_named(self, model):
        """Swapped states give plausible numbers."""
        x = np.zeros((3, 2))
        for wrong in ((x, 0.1), (x,), ()):
            with pytest.raises(InputTypeError, match="given=x, step=step"):
                model.log_prob(x, *wrong)

    @pytest.mark.parametrize(
        "times", [[0.0], [0.0, 0.0], [0.0, 0.2, 0.1], [0.0, np.nan], [0.0, np.inf], [[0.0, 1.0]], 1.0]
    )
    def test_times(self, model, times):
        with pytest.raises(ValueError, match="increasing"):
            model.sample([0.0, 0.0], times)

    @pytest.mark.parametrize("x0", [[0.0, np.nan], [np.inf, 0.0], [0.0], [[0.0] * 3], np.zeros((2, 2, 2)), 0.0])
    def test_start(self, model, x0):
        with pytest.raises(ValueError, match="start states"):
            model.sample(x0, [0.0, 1.0])

    def test_paths_with_many_starts(self, model):
        with pytest.raises(ValueError, match="paths only with a single start"):
            model.sample(np.zeros((3, 2)), [0.0, 1.0], paths=3)

    @pytest.mark.parametrize("substeps", [0, -1])
    def test_substeps(self, model, substeps):
        with pytest.raises(ValueError, match="substeps"):
            model.sample([0.0, 0.0], [0.0, 1.0], substeps=substeps)

    def test_negative_number_of_paths(self, model):
        with pytest.raises(ValueError, match="paths"):
            model.sample([0.0, 0.0], [0.0, 1.0], paths=-2)

    def test_score_of_other_data(self, model):
        with pytest.raises(ValueError, match="x1, x2"):
            model.score(Trajectories(np.zeros((3, 4, 1)), 0.1))
