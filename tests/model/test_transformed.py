"""Models of transformed columns against closed forms: everything in the user's coordinates.

A Brownian motion with drift of log x is a geometric Brownian motion of x: drift, density and moments are known.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad

from nke.data import Coordinates, Trajectories
from nke.data.transforms import Log, Logit, Periodic, Plain
from nke.errors import InputError
from nke.mixtures import GaussianMixture
from nke.model import Model, load
from nke.operators import (
    Advection,
    ConstantFactor,
    Diffusion,
    DriftNetwork,
    Fixed,
    Generator,
    KinematicConstraint,
    PoissonJump,
)
from nke.systems import BlackScholes
from true_models import FLOAT32

PRICES = BlackScholes(growth=[0.1, -0.1], volatility=[0.3, 0.2], correlation=[[1.0, -0.5], [-0.5, 1.0]])
STATES, NEXT = np.array([[0.8, 2.0], [1.5, 0.3]]), np.array([[0.9, 2.1], [1.4, 0.31]])
STEP = 0.25


def constant_law(drift, factor, coordinates, names, jump=None):
    """Constant drift and noise of u, in the units of z."""
    scale, unit = coordinates.scale, coordinates.time_unit
    f, g = np.asarray(drift) / scale * unit, np.asarray(factor) / scale[:, None] * np.sqrt(unit)
    f, g = jnp.asarray(f, jnp.float32), jnp.asarray(g, jnp.float32)
    generator = Generator(Advection(lambda z: f + 0 * z), Diffusion(lambda z: g), jump)
    return Model(generator, coordinates, 0.02, names, ("",) * len(names))


@pytest.fixture(scope="module")
def prices():
    coordinates = Coordinates([0.2, -0.3], [0.5, 2.0], 0.5, [Log(), Log()])
    factor = PRICES.volatility_matrix
    drift = PRICES.growth_rates - np.sum(factor**2, axis=1) / 2
    return constant_law(drift, factor, coordinates, PRICES.names)


@pytest.fixture(scope="module")
def share():
    """Ornstein–Uhlenbeck-like motion of a logit beside a plain coordinate."""
    coordinates = Coordinates([0.0, 1.0], [1.0, 2.0], 1.0, [Logit(-1.0, 2.0), Plain()])
    return constant_law([0.3, -0.1], [[0.8, 0.0], [0.5, 0.4]], coordinates, ("share", "x"))


class TestLogarithm:
    def test_coefficients(self, prices):
        np.testing.assert_allclose(prices.drift(STATES), PRICES.drift(STATES), rtol=20 * FLOAT32, atol=FLOAT32)
        np.testing.assert_allclose(prices.diffusion(STATES), PRICES.diffusion(STATES), rtol=10 * FLOAT32)
        np.testing.assert_array_equal(prices.total_drift(STATES), prices.drift(STATES))

    def test_density(self, prices):
        truth = PRICES.log_prob(NEXT, given=STATES, step=STEP)
        np.testing.assert_allclose(prices.log_prob(NEXT, given=STATES, step=STEP), truth, atol=1e-4)
        data = Trajectories(np.stack([STATES, NEXT], axis=1), STEP)
        assert prices.score(data) == pytest.approx(truth.mean(), abs=1e-4)

    def test_moments_of_a_transition(self, prices):
        """E x = x exp(growth s), covariance x_i x_j exp((growth_i + growth_j) s) (exp(a_ij s) − 1)."""
        law = prices.transition(STATES, STEP)
        mean = STATES * np.exp(PRICES.growth_rates * STEP)
        a = PRICES.volatility_matrix @ PRICES.volatility_matrix.T
        np.testing.assert_allclose(law.mean, mean, rtol=10 * FLOAT32)
        truth = mean[:, :, None] * mean[:, None] * np.expm1(a * STEP)
        np.testing.assert_allclose(law.covariances[:, 0], truth, rtol=20 * FLOAT32)

    def test_samples_are_positive(self, prices):
        paths = prices.sample([1e-3, 1.0], np.linspace(0, 20, 5), paths=200)
        assert (paths > 0).all()
        growth = np.log(paths[:, -1] / paths[:, 0])
        drift = PRICES.growth_rates - np.diag(PRICES.diffusion(np.ones(2))) / 2
        assert (np.abs(growth.mean(axis=0) - 20 * drift) < 4 * growth.std(axis=0) / np.sqrt(200)).all()

    def test_states_out_of_the_domain(self, prices):
        for ask in (
            prices.drift,
            prices.diffusion,
            prices.jump_rate,
            lambda x: prices.log_prob(x, given=STATES, step=STEP),
            lambda x: prices.sample(x, [0.0, 1.0]),
        ):
            with pytest.raises(InputError, match=f"{PRICES.names[1]!r} greater than 0.*got 0 at state 1"):
                ask([[1.0, 1.0], [1.0, 0.0]])


class TestJumps:
    """A jump of log x by N(m, s²) multiplies x by a log-normal factor."""

    LAW = GaussianMixture(jnp.array([0.3, 0.7]), jnp.array([[0.4], [-0.2]]), jnp.array([[[0.09]], [[0.04]]]))

    @pytest.fixture(scope="class")
    @classmethod
    def model(cls):
        jump = PoissonJump.from_functions(lambda z: jnp.asarray(2.0), lambda z: cls.LAW)
        return constant_law([0.1], [[0.2]], Coordinates([0.5], [1.0], 0.5, [Log()]), ("x",), jump)

    def test_law_and_mean_motion(self, model):
        x = np.array([[0.5], [3.0]])
        factors = np.exp(np.array([0.4, -0.2]) + np.array([0.09, 0.04]) / 2)
        law = model.jump_law(x)
        np.testing.assert_allclose(law.means[..., 0], x * (factors - 1), rtol=10 * FLOAT32)
        spread = (x * factors) ** 2 * np.expm1([0.09, 0.04])
        np.testing.assert_allclose(law.covariances[..., 0, 0], spread, rtol=10 * FLOAT32)
        np.testing.assert_allclose(model.jump_rate(x), 4.0)
        mean = np.array([0.3, 0.7]) @ (factors - 1)
        truth = x * (0.1 + 0.02 + 4.0 * mean)
        np.testing.assert_allclose(model.total_drift(x), truth, rtol=1e-5)

    def test_density_integrates_to_one(self, model):
        x = np.geomspace(0.05, 60.0, 20001)
        density = np.exp(model.log_prob(x[:, None], given=[1.0], step=0.1))
        assert np.trapezoid(density, x) == pytest.approx(1.0, abs=1e-3)


class TestLogit:
    def test_density_integrates_to_one(self, share):
        """Over share and x; the plain coordinate is integrated over ten deviations."""
        start = np.array([1.5, 0.0])
        grid = np.linspace(-1, 2, 402)[1:-1], np.linspace(-6, 6, 400)
        points = np.stack(np.meshgrid(*grid, indexing="ij"), axis=-1)
        density = np.exp(share.log_prob(points, given=start, step=1.0))
        assert np.trapezoid(np.trapezoid(density, grid[1], axis=1), grid[0]) == pytest.approx(1.0, abs=2e-3)

    def test_moments_by_simulation(self, share):
        start = np.array([1.5, 0.0])
        law = share.transition(start, 1.0)
        ends = share.sample(start, [0.0, 1.0], paths=40_000, substeps=1)[:, 1]
        error = ends.std(axis=0) / np.sqrt(len(ends))
        assert (np.abs(law.mean - ends.mean(axis=0)) < 4 * error).all()
        np.testing.assert_allclose(law.covariances[0], np.cov(ends.T), atol=0.03)

    def test_pairs_of_logits_by_adaptive_quadrature(self):
        """Fully correlated, so that one integral gives the covariance."""
        coordinates = Coordinates([0.0, 0.0], [1.0, 1.0], 1.0, [Logit(0.0, 1.0), Log()])
        model = constant_law([0.2, 0.1], [[0.6, 0.0], [0.3, 0.0]], coordinates, ("a", "b"))
        law = model.transition([0.3, 2.0], 1.0)

        def mean(function):
            return quad(lambda e: function(e) * np.exp(-(e**2) / 2) / np.sqrt(2 * np.pi), -9, 9)[0]

        a = lambda e: Logit(0.0, 1.0).back(Logit(0.0, 1.0).to(0.3) + 0.2 + 0.6 * e)  # noqa: E731
        b = lambda e: 2 * np.exp(0.1 + 0.3 * e)  # noqa: E731
        assert law.mean[0] == pytest.approx(mean(a), abs=1e-5)
        covariance = mean(lambda e: (a(e) - mean(a)) * (b(e) - mean(b)))
        assert law.covariances[0, 0, 1] == pytest.approx(covariance, rel=1e-4)

    def test_samples_stay_within_bounds(self, share):
        paths = share.sample([1.999, 0.0], [0.0, 10.0, 100.0], paths=100)[..., 0]
        assert ((paths > -1) & (paths < 2)).all()


def turning(start=None):
    """A wheel whose angle is pushed by a torque 1 + sin θ, with learned functions of (cos θ, sin θ)."""
    coordinates = Coordinates([0.0], [1.0], 1.0, [Periodic(start=start)])
    constraint = KinematicConstraint(
        (), (), (), 1, Fixed(jnp.zeros(0)), Fixed(jnp.zeros(0)), (0,), Fixed(jnp.ones(1)), Fixed(jnp.zeros(1))
    )
    key = jax.random.key(0)
    drift = DriftNetwork(jnp.ones(1), 0, 0, inputs=2, key=key).starting_from(jnp.ones(1), jnp.array([[0.0, 1.0]]))
    generator = Generator.of_free(
        Advection(drift), Diffusion(ConstantFactor(0.1 * jnp.eye(1), key=key)), None, constraint
    )
    return Model(generator, coordinates, 0.05, ("theta",), ("",))


class TestAngle:
    def test_law_is_the_same_after_a_turn(self):
        model, x = turning(), np.linspace(-3, 3, 7)[:, None]
        np.testing.assert_allclose(model.drift(x), 1 + np.sin(x), atol=1e-5)
        np.testing.assert_allclose(model.drift(x + 40 * np.pi), model.drift(x), atol=1e-5)
        here, there = (model.log_prob(x + 0.1 + turn, given=x + turn, step=0.1) for turn in (0.0, 4 * np.pi))
        np.testing.assert_allclose(here, there, atol=1e-3)

    def test_paths_go_round(self):
        times = np.linspace(0, 20, 101)
        free, wrapped = (turning(s).sample([100.0], times, paths=3) for s in (None, 0.0))
        assert (free[:, -1] > 105).all()
        assert ((wrapped[:, 1:] >= 0) & (wrapped[:, 1:] < 2 * np.pi)).all()
        np.testing.assert_allclose(np.cos(free), np.cos(wrapped), atol=2e-3)

    def test_wrapped_density_is_to_the_nearest_turn(self):
        model = turning(-np.pi)
        across = model.log_prob([[-np.pi + 0.04]], given=[[np.pi - 0.04]], step=0.1)
        np.testing.assert_allclose(
            across, turning().log_prob([[np.pi + 0.04]], given=[[np.pi - 0.04]], step=0.1), rtol=1e-4
        )

    def test_storage(self, tmp_path):
        model, x = turning(-np.pi), np.array([[0.5], [2.0]])
        model.save(tmp_path / "wheel.nke")
        again = load(tmp_path / "wheel.nke")
        assert again.coordinates.transforms == model.coordinates.transforms
        np.testing.assert_array_equal(again.drift(x), model.drift(x))
