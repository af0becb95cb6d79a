"""Simulated paths have the moments of the law they are drawn from; sub-steps follow the coefficients."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nke.mixtures import GaussianMixture
from nke.model import Model
from nke.model.simulation import PIECES, sample, sample_piece, substeps_needed
from nke.operators import (
    Advection,
    Diffusion,
    Generator,
    LieTrotter,
    PoissonJump,
    Strang,
)
from nke.systems import BimodalJumps, GeometricBrownianMotion, OrnsteinUhlenbeck
from true_models import (
    PLAIN,
    UNITS,
    assert_mean,
    states_of,
    true_model,
)


@pytest.fixture(scope="module")
def ornstein_uhlenbeck():
    system = OrnsteinUhlenbeck(rate=2, mean=1, noise=0.5)
    return system, true_model(system)


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
        whole = sample_piece(
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


class TestSubsteps:
    def test_substeps_follow_the_noise(self):
        """Noise that changes by 30 % of itself over a step is cut until it changes by 20 %, additive noise is not."""
        z, step, key = jnp.linspace(0.5, 2.0, 400)[:, None], jnp.asarray([0.09]), jax.random.key(0)
        still = Advection(lambda x: 0.0 * x)
        multiplicative = Generator(still, Diffusion(lambda x: x[:, None]), None)
        additive = Generator(still, Diffusion(lambda x: jnp.eye(1)), None)
        # The 90 % quantile of ξ² is 2.7 times its mean of one: 2.7 (0.3/0.2)² = 6.1, ± 0.9 over 400 states.
        assert 4 <= int(substeps_needed(multiplicative, z, step, key)) <= 9
        assert int(substeps_needed(additive, z, step, key)) == 1

    def test_a_superlinear_drift_does_not_explode(self):
        generator = Generator(Advection(lambda x: -(x**5)), Diffusion(lambda x: 0.1 * jnp.eye(1)), None)
        steps, counts = np.full(20, 0.5), np.ones(20, int)
        paths = sample(generator, Strang(), jnp.full((3, 1), 20.0), steps, counts, jax.random.key(0))
        assert np.isfinite(paths).all()
        assert np.abs(paths[-1]).max() < 20
