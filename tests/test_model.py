"""A model built from true coefficients gives them back, in the user's units, and simulates their law.

Tolerances: the model computes in float32 (eps 6e-8; sums of a few terms lose a factor of ten), sampled
means are compared within four standard errors, and seeds are fixed.
"""

import warnings
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from nke.model.evaluation import BLOCK, PIECES, _piece, in_blocks

from nke.data import Coordinates, Trajectories
from nke.mixtures import GaussianMixture
from nke.model import Model
from nke.operators import Advection, Diffusion, Generator, LieTrotter, PoissonJump
from nke.systems import BimodalJumps, BlackScholes, DoubleWell, GeometricBrownianMotion, OrnsteinUhlenbeck

FLOAT32 = 2e-6
UNITS = Coordinates(shift=np.array([3.0, -20.0]), scale=np.array([0.5, 40.0]), time_unit=0.25)


@cache
def true_generator(system, coordinates):
    """The system's own coefficients, expressed in the dimensionless coordinates of the model.

    z = (x − m)/c, τ = t/u: f_z = u f/c, a_z = u a/(c cᵀ), λ_z = u λ, and jumps are divided by c.
    """
    c = jnp.asarray(coordinates.scale, jnp.float32)
    m = jnp.asarray(coordinates.shift, jnp.float32)
    u = coordinates.time_unit

    def tensor(z):
        return system.diffusion(m + c * z) / c[:, None] / c * u

    jump = None
    if system.has_jumps:
        jump = PoissonJump.from_functions(
            lambda z: system.jump_rate(m + c * z) * u,
            lambda z: system.jump_law(m + c * z).affine(jnp.zeros_like(c), 1 / c),
        )
    return Generator(Advection(lambda z: system.drift(m + c * z) / c * u), Diffusion.from_tensor(tensor), jump)


PLAIN = {d: Coordinates(np.zeros(d), np.ones(d), 1.0) for d in (1, 2, 3)}


def true_model(system, coordinates=None, step=0.02):
    coordinates = coordinates or PLAIN[system.dimension]
    generator = true_generator(system, coordinates)  # shared, so that it compiles once
    return Model(generator, coordinates, step, system.names, ("",) * system.dimension)


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


def states_of(system, *batch):
    rng = np.random.default_rng(0)
    return np.abs(system.initial(int(np.prod(batch)), rng)).reshape(*batch, system.dimension)


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

    def test_shapes_and_lists(self):
        model, one = true_model(BimodalJumps(), UNITS), np.array([0.3, -0.2])
        assert model.drift(one.tolist()).shape == (2,)
        assert model.diffusion(one).shape == (2, 2)
        assert model.jump_rate(one).shape == ()
        assert model.jump_law(one).means.shape == (2, 2)
        np.testing.assert_array_equal(model.drift(one), model.drift(one[None])[0])
        assert model.drift(np.empty((0, 2))).shape == (0, 2)

    def test_blocks_do_not_show(self, ornstein_uhlenbeck):
        """More states than one compiled block holds give the same values, in order."""
        _, model = ornstein_uhlenbeck
        x = np.linspace(-1, 1, BLOCK + 3)[:, None]
        whole = model.drift(x)
        np.testing.assert_array_equal(whole[-5:], model.drift(x[-5:]))
        np.testing.assert_array_equal(whole[:5], model.drift(x[:5]))
        heard = []
        in_blocks(lambda x: x, x, report=heard.append)
        assert heard == [BLOCK, 3]

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
            "log_prob": model.log_prob(x + 0.1 * scale, x, step),
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
        np.testing.assert_allclose(model.log_prob(y, x, 0.02), mixture.log_prob(y), rtol=1e-4, atol=1e-3)

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
            error = np.abs(model.log_prob(y, x, step) - system.log_prob(y, x, step))
            z = system.rate * step
            displaced = z**3 / 6 * np.abs(x[:, 0] - system.mean) / deviation
            # The next order, z, of both; and float32.
            bound = (1 + z) * (5 / 24 * (1 + r**2) * z**2 + (np.abs(r) + displaced) * displaced) + 1e-4
            assert (error < bound).all()
            at_rest, y = np.full_like(x, system.mean), system.mean + deviation * r[:, None]
            error = model.log_prob(y, at_rest, step) - system.log_prob(y, at_rest, step)
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
        assert (np.abs(model.log_prob(y, x, step) - system.log_prob(y, x, step)) < bound).all()

    @pytest.mark.parametrize("name", ["OU", "one-dimensional double well"])
    def test_integrates_to_one_in_one_dimension(self, ornstein_uhlenbeck, name):
        """Trapezoidal rule, spectrally accurate for Gaussians narrower than ten grid steps."""
        model = ornstein_uhlenbeck[1] if name == "OU" else true_model(DoubleWell(dimension=1), step=0.05)
        grid = np.linspace(-9, 9, 6001)
        for start, step in ((-1.0, 0.05), (0.5, 0.5)):
            density = np.exp(model.log_prob(grid[:, None], np.array([start]), step))
            assert np.sum(density) * (grid[1] - grid[0]) == pytest.approx(1.0, abs=1e-4)

    def test_integrates_to_one_in_two_dimensions_and_other_units(self):
        """In UNITS, so that the density carries the Jacobian of the change of units.

        Several jumps are one Gaussian of sd about 3·1.5: the grid covers three of these (mass 5 % by 0.3 %).
        """
        model = true_model(BimodalJumps(), UNITS)
        first, second = np.linspace(-14, 14, 561), np.linspace(-2, 2, 81)
        grid = np.stack(np.meshgrid(first, second, indexing="ij"), axis=-1)
        density = np.exp(model.log_prob(grid, np.array([0.3, -0.2]), 0.3))
        cell = (first[1] - first[0]) * (second[1] - second[0])
        assert density.sum() * cell == pytest.approx(1.0, abs=2e-4)

    def test_steps_may_differ(self, ornstein_uhlenbeck):
        _, model = ornstein_uhlenbeck
        x = np.linspace(0, 2, 40)[:, None]
        steps = np.geomspace(0.01, 1, 40)
        together = model.log_prob(x + 0.1, x, steps)
        apart = [model.log_prob(x + 0.1, x, step)[i] for i, step in enumerate(steps)]
        np.testing.assert_allclose(together, apart, rtol=1e-6)
        assert len(np.unique(together)) == 40

    def test_start_and_end_broadcast(self, ornstein_uhlenbeck):
        _, model = ornstein_uhlenbeck
        y = np.linspace(0, 2, 40).reshape(8, 5, 1)
        one_start = model.log_prob(y, np.array([0.5]), 0.1)
        assert one_start.shape == (8, 5)
        np.testing.assert_array_equal(one_start, model.log_prob(y, np.full((8, 5, 1), 0.5), 0.1))

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
        exact = plain.log_prob(y, x, 0.1)
        np.testing.assert_allclose(model.log_prob(1e6 + y, 1e6 + x, 0.1), exact, atol=1e-4)


# Simulation


def assert_mean(samples, truth, bias=0.0):
    """The mean over the paths equals the truth, to four standard errors and a stated bias."""
    error = np.abs(samples.mean(axis=0) - truth)
    assert (error <= 4 * samples.std(axis=0) / np.sqrt(len(samples)) + bias).all(), error


class TestSample:
    TIMES = np.array([0.0, 0.5, 0.625, 1.25])

    def test_ornstein_uhlenbeck_moments(self, ornstein_uhlenbeck):
        """Exact mean and Cov(X_s, X_t) = e^{−θ(t−s)} Var X_s; variances are low by (θh)²/6 of themselves for
        sub-steps h = 0.02, added as bias.
        """
        system, model = ornstein_uhlenbeck
        times = np.array([0.0, 0.1, 0.2, 0.7])
        paths = model.sample([2.0], times, seed=1, paths=20_000)[..., 0]
        assert (paths[:, 0] == 2.0).all()
        flow, variance = (matrix[:, 0, 0] for matrix in system.transition_matrices(times))
        mean = system.mean + flow * (2.0 - system.mean)
        for i in (1, 2, 3):
            assert_mean(paths[:, i], mean[i])
            for j in (1, 2, 3)[:i]:
                product = (paths[:, i] - mean[i]) * (paths[:, j] - mean[j])
                assert_mean(product, flow[i] / flow[j] * variance[j], bias=variance[j] * (2 * 0.02) ** 2 / 6)

    def test_geometric_brownian_motion_moments(self):
        """E S = e^{μt} exactly; E S² has (1 + σ²h) for e^{σ²h} in each sub-step: low by σ⁴ h t/2 of itself."""
        system = GeometricBrownianMotion(growth=0.3, volatility=0.4)
        model = true_model(system, step=0.01)
        paths = model.sample([1.0], [0.0, 1.0], seed=3, paths=40_000)[:, 1, 0]
        assert_mean(paths, np.exp(0.3), bias=1e-5)
        assert_mean(paths**2, np.exp(2 * 0.3 + 0.16), bias=2 * 0.16**2 * 0.01 / 2)

    def test_substeps_converge(self):
        """E S² of one interval of σ² = 1 in n sub-steps is (1 + 1/n + 1/2n²)ⁿ, which approaches e by e/(6n²)."""
        system = GeometricBrownianMotion(growth=0.0, volatility=1.0)
        model = true_model(system)
        for n in (1, 4, 64):
            paths = model.sample([1.0], [0.0, 1.0], seed=4, paths=100_000, substeps=n)[:, 1, 0]
            assert_mean(paths**2, (1 + 1 / n + 1 / (2 * n**2)) ** n)

    def test_default_substeps_follow_the_step_of_the_data(self):
        """Intervals are cut into steps no longer than model.step: two for 0.3 and a step of 0.2, one for 0.2.

        Additive noise and a slow drift ask for no more than that.
        """
        model = true_model(OrnsteinUhlenbeck(), step=0.2)
        for end, count in ((0.3, 2), (0.2, 1)):
            default = model.sample([1.0], [0.0, end], seed=5, paths=100_000)
            explicit, other = (
                model.sample([1.0], [0.0, end], seed=5, paths=100_000, substeps=n) for n in (count, count + 1)
            )
            np.testing.assert_array_equal(default, explicit)
            assert (default[:, 1] != other[:, 1]).mean() > 0.99

    def test_counts_of_jumps(self):
        """Jumps of 1 ± 0.001 at rate 3 without drift or noise: the displacement counts them, Poisson(3 t).

        Within a sub-step of 0.01 the count is exact up to one jump and right in mean and variance beyond.
        """
        law = GaussianMixture(jnp.ones(1), jnp.ones((1, 1)), jnp.full((1, 1, 1), 1e-6))
        generator = Generator(
            Advection(jnp.zeros_like),
            Diffusion(lambda x: jnp.full((1, 1), 1e-4)),
            PoissonJump.from_functions(lambda x: jnp.asarray(3.0), lambda x: law),
        )
        model = Model(generator, PLAIN[1], 0.01, ("x",), ("",))
        paths = model.sample([0.0], [0.0, 0.5, 2.0], seed=6, paths=20_000)[..., 0]
        for i, t in ((1, 0.5), (2, 2.0)):
            assert_mean(paths[:, i], 3 * t, bias=1e-5)
            assert_mean((paths[:, i] - 3 * t) ** 2, 3 * t, bias=1e-4)
            assert_mean(np.abs(paths[:, i]) < 0.5, np.exp(-3 * t))
            assert_mean(np.abs(paths[:, i] - 1) < 0.5, 3 * t * np.exp(-3 * t), bias=1e-5)

    def test_state_dependent_jumps_against_the_system(self):
        """One interval of BimodalJumps against the system's own simulator on its grid of 1e-3."""
        system = BimodalJumps()
        model = true_model(system, step=0.005)
        start = np.tile([0.5, -1.0], (10_000, 1))
        times = np.array([0.0, 0.3])
        ours = model.sample(start, times, seed=7)[:, 1]
        theirs = system.simulate_states(10_000, 8, times, start)[:, 1]
        for statistic in (lambda x: x, lambda x: x**2, lambda x: np.abs(x) > 1):
            a, b = statistic(ours), statistic(theirs)
            # Both freeze the coefficients over their sub-steps: a bias of order λ h = 0.01 of the effect.
            error = 4 * np.sqrt((a.var(axis=0) + b.var(axis=0)) / 10_000) + 0.01 * np.abs(b.mean(axis=0) - 0.1)
            assert (np.abs(a.mean(axis=0) - b.mean(axis=0)) < error).all()

    def test_other_units(self):
        """The same dimensionless random numbers, so the same paths up to rounding."""
        system = BimodalJumps()
        start = states_of(system, 40)  # as many as in test_extreme_units, so that it is compiled already
        times = [1.0, 1.25, 2.0]
        plain = true_model(system).sample(start, times, seed=9)
        scaled = true_model(system, UNITS).sample(start, times, seed=9)
        # A path whose jump is decided within rounding of its probability may differ; none does here.
        np.testing.assert_allclose(scaled, plain, atol=1e-4)

    def test_shapes_and_start(self, ornstein_uhlenbeck):
        _, model = ornstein_uhlenbeck
        start = np.array([[0.1], [0.2], [1 / 3], [2.0]])
        times = np.array([5.0, 5.01, 5.5, 7.0])
        paths = model.sample(start, times, seed=0)
        assert paths.shape == (4, 4, 1)
        assert paths.dtype == np.float64
        np.testing.assert_array_equal(paths[:, 0], start)
        assert model.sample([0.5], times, paths=4).shape == (4, 4, 1)
        assert model.sample([0.5], times).shape == (1, 4, 1)

    def test_seed(self, ornstein_uhlenbeck):
        _, model = ornstein_uhlenbeck
        first, again, other = (model.sample([0.5], self.TIMES, seed=s, paths=4) for s in (3, 3, 4))
        np.testing.assert_array_equal(first, again)
        assert (first[:, 1:] != other[:, 1:]).all()
        assert len(np.unique(first[:, 1:])) == 12, "paths and steps are independent of each other"

    def test_pieces_are_one_simulation_and_reported(self, ornstein_uhlenbeck):
        """Bit by bit one scan over all intervals; every interval is reported once."""
        system, model = ornstein_uhlenbeck
        start, intervals = states_of(system, 4), np.resize([0.0625, 0.03125, 0.125], PIECES + 3)
        heard = []
        paths = model.sample(start, np.cumsum([0, *intervals]), seed=3, progress=lambda name, total: heard.append)
        whole = _piece(
            model.generator,
            model.splitting,
            jnp.asarray(model.coordinates.to(start), jnp.float32),
            np.float32(model.coordinates.step_to(intervals)),
            np.ceil(intervals / model.step).astype(int),
            jax.random.split(jax.random.key(3), PIECES + 3),
            refine=True,
        )
        np.testing.assert_array_equal(paths[:, 1:], model.coordinates.back(np.float64(whole)).swapaxes(0, 1))
        assert heard == [2] * (PIECES // 2 + 1) + [1]

    def test_only_elapsed_time_matters(self, ornstein_uhlenbeck):
        _, model = ornstein_uhlenbeck
        early = model.sample([0.5], self.TIMES, seed=0, paths=4)
        np.testing.assert_array_equal(model.sample([0.5], self.TIMES + 64.0, seed=0, paths=4), early)

    def test_lie_trotter_is_another_law(self, ornstein_uhlenbeck):
        """One step of s = 1 from rest: Lie–Trotter adds the noise last, variance s a = ¼; Strang carries it along
        for half a step of Runge–Kutta, by e^{−1} to 1/120·e.
        """
        _, model = ornstein_uhlenbeck
        times = [0.0, 1.0, 2.0, 3.0]
        paths = model.sample([1.0], times, seed=10, paths=20_000, substeps=1, splitting=LieTrotter())
        assert_mean((paths[:, 1, 0] - 1) ** 2, 0.25)
        paths = model.sample([1.0], times, seed=10, paths=20_000, substeps=1)
        assert_mean((paths[:, 1, 0] - 1) ** 2, 0.25 * np.exp(-2), bias=0.25 * np.exp(-2) * 2 * np.e / 120)

    def test_lost_paths_are_reported(self):
        """x' = x³ from 2 reaches infinity at 1/8; from 0.1 not before 50."""
        generator = Generator(Advection(lambda x: x**3), Diffusion(lambda x: jnp.full((1, 1), 1e-3)))
        model = Model(generator, PLAIN[1], 0.05, ("x",), ("",))
        start = np.array([[0.1], [0.1], [2.0], [2.0]])
        with pytest.warns(RuntimeWarning, match=r"2 of 4 simulated paths.*path 2 at time 3\b.*substeps"):
            paths = model.sample(start, [0.0, 1e-3, 3.0, 4.0])
        assert np.isfinite(paths[:2]).all()
        assert np.isfinite(paths[2:, :2]).all()
        assert not np.isfinite(paths[2:, 2:]).any()

    def test_no_warning_without_loss(self, ornstein_uhlenbeck):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ornstein_uhlenbeck[1].sample([0.5], self.TIMES, paths=4)


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
            ornstein_uhlenbeck[1].drift(np.zeros(5))

    def test_text(self, model):
        with pytest.raises(TypeError, match="real numbers"):
            model.drift([["a", "b"]])

    @pytest.mark.parametrize("shape", [(4, 3), (4, 1), (1,), (3,)])
    def test_wrong_dimension_of_the_next_state(self, model, shape):
        """Also shapes that would broadcast: one coordinate cannot stand for both."""
        with pytest.raises(ValueError, match=r"\(\.\.\., 2\)"):
            model.log_prob(np.zeros(shape), np.zeros((4, 2)), 0.1)

    @pytest.mark.parametrize("step", [0.0, -0.1, np.nan, np.inf, [0.1, 0.0]])
    def test_steps(self, model, step):
        x = np.zeros((2, 2))
        with pytest.raises(ValueError, match="step"):
            model.transition(x, step)
        with pytest.raises(ValueError, match="step"):
            model.log_prob(x, x, step)

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
