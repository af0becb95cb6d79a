"""Systems against their own truth: closed forms, quadrature and sampling error.

Tolerances of sampled quantities are four standard errors: a correct system exceeds one in 16,000 of them.
Kolmogorov–Smirnov tests refuse one correct system in a thousand. Seeds are fixed.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import cumulative_trapezoid, quad_vec, solve_ivp, trapezoid
from scipy.linalg import expm
from scipy.special import ive
from scipy.stats import gamma, kstest, lognorm, ncx2, norm

from nke.data import Trajectories
from nke.systems import (
    BimodalJumps,
    BlackScholes,
    CoxIngersollRoss,
    DoubleWell,
    GeometricBrownianMotion,
    HarmonicOscillator,
    Langevin,
    Lorenz,
    OrnsteinUhlenbeck,
)
from nke.systems.bessel import _uniform_expansion, log_bessel_ratio
from nke.systems.euler_maruyama import fine_steps

TWO_ASSETS = BlackScholes(growth=[0.1, -0.1], volatility=[0.3, 0.2], correlation=[[1.0, -0.5], [-0.5, 1.0]])
ONE_DIMENSIONAL = [
    OrnsteinUhlenbeck(),
    OrnsteinUhlenbeck(rate=2, mean=1, noise=0.5),
    GeometricBrownianMotion(),
    CoxIngersollRoss(),
]
EXACT = [
    *ONE_DIMENSIONAL,
    OrnsteinUhlenbeck(rate=2, mean=1, noise=0.5, dimension=2),
    CoxIngersollRoss(speed=1, level=0.1, volatility=1),
    BlackScholes(),
    TWO_ASSETS,
    HarmonicOscillator(),
    HarmonicOscillator(frequency=1, damping=3, noise=2),
    Langevin(friction=2, diffusivity=0.5),
]
FINE_STEPPED = [
    Lorenz(),
    Lorenz(noise=0.3),
    DoubleWell(),
    DoubleWell(rate=0),
    DoubleWell(dimension=1),
    BimodalJumps(),
]
SYSTEMS = [*EXACT, *FINE_STEPPED]
JUMPING = [system for system in SYSTEMS if system.has_jumps]
TIMES = np.linspace(0.0, 0.02, 3)


def every(systems):
    return pytest.mark.parametrize("system", systems, ids=str)


def states_of(system, count=6):
    """States spread over the domain of the system."""
    rng = np.random.default_rng(7)
    return system.initial(count, rng) * rng.uniform(0.5, 1.5, (count, system.dimension))


def assert_within_standard_errors(samples, truth, bias=0.0):
    """The mean over the first axis equals the truth, to four standard errors and a stated bias."""
    error = np.abs(samples.mean(axis=0) - truth)
    tolerance = 4 * samples.std(axis=0) / np.sqrt(len(samples)) + bias + 1e-12
    assert (error <= tolerance).all(), (error, tolerance)


class TestEverySystem:
    @every(SYSTEMS)
    def test_shapes_and_lists(self, system):
        d = system.dimension
        x = states_of(system).reshape(2, 3, d)
        assert len(system.names) == len(set(system.names)) == d
        assert system.drift(x).shape == (2, 3, d)
        assert system.diffusion(x).shape == (2, 3, d, d)
        assert system.jump_rate(x).shape == (2, 3)
        assert (system.jump_rate(x) >= 0).all()
        for method in (system.drift, system.diffusion, system.jump_rate):
            assert method(x).dtype == np.float64
            np.testing.assert_array_equal(method(x.tolist()), method(x))
            np.testing.assert_allclose(method(x[1, 2]), method(x)[1, 2], rtol=1e-14)

    @every(SYSTEMS)
    def test_jax_agrees_with_numpy(self, system):
        x = states_of(system)
        single = jnp.asarray(x, jnp.float32)
        for method in (system.drift, system.diffusion, system.jump_rate):
            traced = jax.jit(jax.vmap(method))(single)
            assert traced.dtype == jnp.float32
            np.testing.assert_allclose(traced, method(x), rtol=2e-5, atol=2e-5)

    @every(SYSTEMS)
    def test_jax_differentiates_the_drift(self, system):
        x, h = states_of(system), 1e-5
        jacobian = jax.vmap(jax.jacfwd(system.drift))(jnp.asarray(x, jnp.float32))
        shifts = h * np.eye(system.dimension)
        numerical = np.stack([system.drift(x + e) - system.drift(x - e) for e in shifts], axis=-1) / (2 * h)
        np.testing.assert_allclose(jacobian, numerical, rtol=1e-4, atol=1e-4)

    @every(SYSTEMS)
    def test_diffusion_is_symmetric_and_positive(self, system):
        a = system.diffusion(states_of(system))
        np.testing.assert_array_equal(a, np.matrix_transpose(a))
        assert (np.linalg.eigvalsh(a) >= -1e-12 * np.abs(a).max()).all()

    @every(SYSTEMS)
    def test_wrong_number_of_coordinates_is_refused(self, system):
        with pytest.raises(ValueError, match=rf"\(\.\.\., {system.dimension}\)"):
            system.drift(np.ones((4, system.dimension + 1)))

    @every(SYSTEMS)
    def test_seeds(self, system):
        first, again, other = (system.simulate_states(4, seed, TIMES) for seed in (0, 0, 1))
        np.testing.assert_array_equal(first, again)
        assert (first[:, 1:] != other[:, 1:]).all()

    @every(SYSTEMS)
    def test_simulate_gives_trajectories(self, system):
        times = np.array([1.0, 1.003, 1.01, 1.0105, 1.05])
        start = states_of(system, 5)
        data = system.simulate(5, seed=3, times=times, initial=start)
        assert isinstance(data, Trajectories)
        assert data.names == system.names
        np.testing.assert_array_equal(data.times, np.broadcast_to(times, (5, 5)))
        np.testing.assert_array_equal(np.asarray(data.states)[:, 0], start)
        np.testing.assert_array_equal(data.states, system.simulate_states(5, 3, times, start))

    @every(SYSTEMS)
    def test_own_grid(self, system):
        assert system.times[0] == 0
        assert system.times[-1] == system.duration
        np.testing.assert_allclose(np.diff(system.times), system.interval, rtol=1e-12)

    @every(SYSTEMS)
    def test_input_that_cannot_be_simulated_is_refused(self, system):
        start = states_of(system, 2)
        with pytest.raises(ValueError, match=r"from 0\.1 to 0\.1 at row 2"):
            system.simulate(2, 0, times=[0.0, 0.1, 0.1])
        with pytest.raises(ValueError, match="1-D array"):
            system.simulate(2, 0, times=[0.0])
        with pytest.raises(ValueError, match=r"expected initial states of shape \(3, "):
            system.simulate(3, 0, initial=start)
        with pytest.raises(ValueError, match="at least one trajectory"):
            system.simulate(0, 0)
        start[1, 0] = np.nan
        with pytest.raises(ValueError, match="trajectory 1 starts at"):
            system.simulate(2, 0, initial=start)

    @every(SYSTEMS)
    def test_small_steps_have_the_stated_drift_and_diffusion(self, system):
        """E ΔX/h = f + λ E J and Cov ΔX/h = a + λ E JJᵀ, up to the next term of the Itô–Taylor series."""
        h, count = 1e-3, 200_000
        x = max(states_of(system), key=lambda state: np.abs(state).min())  # no term vanishes there
        start = np.broadcast_to(x, (count, system.dimension))
        change = system.simulate_states(count, 5, [0.0, h], start)[:, 1] - x
        drift, a = system.drift(x), system.diffusion(x)
        if system.has_jumps:
            rate, law = system.jump_rate(x), system.jump_law(x)
            drift = drift + rate * law.mean
            a = a + rate * (law.covariance + np.outer(law.mean, law.mean))
        slope = np.abs(np.asarray(jax.jacfwd(system.drift)(jnp.asarray(x, jnp.float32)), np.float64))
        spread, moved = slope @ np.abs(a), np.abs(system.diffusion(x + h * drift) - system.diffusion(x))
        bias = h * (spread + spread.T + 10 * np.abs(a)) + h**2 * spread @ slope.T + moved
        assert_within_standard_errors(change / h, drift, bias=h * slope @ np.abs(drift))
        centred = change - change.mean(axis=0)
        products = centred[:, :, None] * centred[:, None, :] / h
        assert_within_standard_errors(products, a, bias)


class TestJumps:
    @every(JUMPING)
    def test_jax_agrees_with_numpy(self, system):
        x = states_of(system)
        law = system.jump_law(x)
        traced = jax.vmap(system.jump_law)(jnp.asarray(x, jnp.float32))
        np.testing.assert_allclose(law.weights.sum(axis=-1), 1.0, rtol=1e-14)
        for mine, theirs in zip(jax.tree.leaves(law), jax.tree.leaves(traced), strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(system.jump_law(x[0].tolist()).weights, law.weights[0])

    @every(JUMPING)
    def test_drawn_jumps_follow_the_law(self, system):
        x = states_of(system)[1]
        law = system.jump_law(x)
        jumps = system.sample_jumps(np.broadcast_to(x, (50_000, system.dimension)), np.random.default_rng(0))
        assert_within_standard_errors(jumps, law.mean)
        centred = jumps - law.mean
        assert_within_standard_errors(centred[:, :, None] * centred[:, None, :], law.covariance)

    @every([system for system in SYSTEMS if not system.has_jumps])
    def test_no_law_without_jumps(self, system):
        assert (system.jump_rate(states_of(system)) == 0).all()
        with pytest.raises(ValueError, match="has no jumps"):
            system.jump_law(states_of(system))

    def test_counts_are_poisson(self):
        """Without noise a fine step that leaves x + f(x)h has jumped: probability 1 − exp(−λh)."""
        h, rate, paths = 0.01, 1.5, 2000
        system = DoubleWell(noise=0, rate=rate, dt=h)
        states = system.simulate_states(paths, 2, h * np.arange(201))
        residual = states[:, 1:] - states[:, :-1] - h * system.drift(states[:, :-1])
        jumped = np.abs(residual[..., 0]) > 1e-12
        assert np.abs(residual[..., 1:]).max() < 1e-12
        p, n = 1 - np.exp(-rate * h), jumped.size
        assert abs(jumped.sum() - n * p) < 4 * np.sqrt(n * p * (1 - p))
        counts = jumped.sum(axis=1)
        variance = 200 * p * (1 - p)
        assert abs(counts.var() - variance) < 4 * variance * np.sqrt(2 / paths + 1 / (paths * variance))

    def test_several_jumps_in_one_step(self):
        """From the saddle without noise one step is a sum of Poisson(λh) jumps of variance σ_J²."""
        system = DoubleWell(noise=0, rate=20, jump_scale=0.5, dt=0.1)
        x = system.simulate_states(50_000, 0, [0.0, 0.1], np.zeros((50_000, 3)))[:, 1, 0]
        assert_within_standard_errors(x == 0, np.exp(-2.0))
        assert_within_standard_errors(x**2, 2.0 * 0.25)
        assert_within_standard_errors(x**4, 3 * 0.25**2 * (2.0 + 2.0**2))

    def test_rate_and_law_follow_the_state(self):
        """Jumps minus their compensators are martingales, whatever the weight by the state before."""
        system = BimodalJumps(dt=0.01)
        states = system.simulate_states(1000, 4, 0.01 * np.arange(301))
        before = states[:, :-1]
        along = (states[:, 1:] - before - 0.01 * system.drift(before))[..., 0]
        up, down = along > 0.6, along < -0.6  # ±1.5 with sd 0.2; the noise of a step has sd 0.05
        chance = 1 - np.exp(-0.01 * system.jump_rate(before))
        weight = system.jump_law(before).weights[..., 0]
        for test in (np.ones_like(chance), before[..., 0], before[..., 1]):
            for seen, expected in ((up, chance * weight), (down, chance * (1 - weight))):
                error = (test * (seen - expected)).sum()
                # Two opposite jumps within a step hide each other: fewer than (λh)²/2 of the steps.
                hidden = np.abs(test * chance**2 / 2).sum()
                assert abs(error) < 4 * np.sqrt((test**2 * expected).sum()) + hidden


class TestExactDensity:
    @staticmethod
    def grid(system, x, step, half_width=12.0, points=4001):
        """A grid over all of the mass of a 1-D transition."""
        mean = x + step * system.drift([x])[0]
        spread = np.sqrt(step * system.diffusion([x])[0, 0])
        low = mean - half_width * spread
        if not isinstance(system, OrnsteinUhlenbeck):
            low = max(low, 1e-12)
        return np.linspace(low, mean + 1.5 * half_width * spread, points)

    @every(ONE_DIMENSIONAL)
    @pytest.mark.parametrize("step", [1e-6, 0.02, 0.2])
    def test_integrates_to_one(self, system, step):
        for x in (0.2, 0.7):
            y = self.grid(system, x, step)
            density = np.exp(system.log_prob(y[:, None], [x], step))
            assert trapezoid(density, y) == pytest.approx(1.0, abs=1e-6)

    @pytest.mark.parametrize(("system", "x"), [(HarmonicOscillator(), [1.0, -0.5]), (TWO_ASSETS, [1.2, 0.9])], ids=str)
    def test_integrates_to_one_in_the_plane(self, system, x):
        cloud = system.simulate_states(2000, 0, [0.0, 0.5], np.tile(x, (2000, 1)))[:, 1]
        reach = 10 * cloud.std(axis=0)
        low = cloud.mean(axis=0) - reach
        low = np.maximum(low, 1e-6) if system is TWO_ASSETS else low
        axes = [np.linspace(a, b, 401) for a, b in zip(low, cloud.mean(axis=0) + reach, strict=True)]
        density = np.exp(system.log_prob(np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1), x, 0.5))
        assert trapezoid(trapezoid(density, axes[1]), axes[0]) == pytest.approx(1.0, abs=1e-6)

    @every(ONE_DIMENSIONAL)
    def test_chapman_kolmogorov(self, system):
        """p_{s+t}(y|x) = ∫ p_t(y|z) p_s(z|x) dz."""
        x, s, t = 0.5, 0.1, 0.15
        z = self.grid(system, x, s)[:, None]
        for y in (0.35, 0.5, 0.6):
            inner = np.exp(system.log_prob([y], z, t) + system.log_prob(z, [x], s))
            whole = np.exp(system.log_prob([y], [x], s + t))
            assert trapezoid(inner, z[:, 0]) == pytest.approx(whole, rel=1e-6)

    @every(ONE_DIMENSIONAL)
    def test_draws_follow_the_density(self, system):
        x, step, count = 0.5, 0.3, 20_000
        draws = system.simulate_states(count, 1, [0.0, step], np.full((count, 1), x))[:, 1, 0]
        y = self.grid(system, x, step)
        distribution = cumulative_trapezoid(np.exp(system.log_prob(y[:, None], [x], step)), y, initial=0.0)
        assert kstest(draws, lambda points: np.interp(points, y, distribution)).pvalue > 1e-3

    @every([system for system in EXACT if system.dimension > 1])
    def test_mean_log_density_is_the_negative_entropy(self, system):
        """The transition is Gaussian, or its logarithm is: E log p = −½ log det(2πeC) − E Σ log y."""
        x, step, count = states_of(system)[0], 0.3, 50_000
        draws = system.simulate_states(count, 1, [0.0, step], np.tile(x, (count, 1)))[:, 1]
        prices = isinstance(system, BlackScholes)
        cov = step * system.log_covariance if prices else system.transition_matrices(np.asarray(step))[1]
        truth = -np.linalg.slogdet(2 * np.pi * np.e * cov)[1] / 2
        log_jacobian = np.log(draws).sum(axis=-1) if prices else 0.0
        assert_within_standard_errors(system.log_prob(draws, x, step) + log_jacobian, truth)

    @every(EXACT)
    def test_broadcasts_over_states_and_steps(self, system):
        x, x_next = states_of(system, 3), states_of(system, 8)[-4:]
        steps = np.array([0.1, 0.2, 0.1])
        together = system.log_prob(x_next[:, None], x, steps)
        assert together.shape == (4, 3)
        for i in range(4):
            for j in range(3):
                assert system.log_prob(x_next[i], x[j], steps[j]) == pytest.approx(together[i, j], rel=1e-9)

    @every(EXACT)
    def test_step_must_be_positive(self, system):
        x = states_of(system)
        with pytest.raises(ValueError, match="step to be finite and > 0"):
            system.log_prob(x, x, [0.1] * 5 + [0.0])

    @every([system for system in FINE_STEPPED if not isinstance(system, DoubleWell)])
    def test_absent_where_there_is_no_closed_form(self, system):
        x = states_of(system)
        with pytest.raises(NotImplementedError, match="no closed form"):
            system.log_prob(x, x, 0.1)

    @every([GeometricBrownianMotion(), BlackScholes(), CoxIngersollRoss()])
    def test_domain(self, system):
        inside, outside = np.ones(system.dimension), -np.ones(system.dimension)
        assert system.log_prob(outside, inside, 0.1) == -np.inf
        with pytest.raises(ValueError, match="in the domain"):
            system.log_prob(inside, outside, 0.1)


class TestClosedForms:
    def test_ornstein_uhlenbeck(self):
        system = OrnsteinUhlenbeck(rate=2, mean=1, noise=0.5)
        decay = np.exp(-2 * 0.3)
        truth = norm.logpdf(0.8, 1 - 0.6 * decay, np.sqrt(0.25 / 4 * (1 - decay**2)))
        assert system.log_prob([0.8], [0.4], 0.3) == pytest.approx(truth, rel=1e-12)

    def test_ornstein_uhlenbeck_is_stationary(self):
        system = OrnsteinUhlenbeck(rate=2, mean=1, noise=0.5)
        x = system.simulate_states(50_000, 0, [0.0, 0.3, 5.0])[..., 0] - 1
        assert_within_standard_errors(x, 0.0)
        assert_within_standard_errors(x**2, 0.25 / 4)
        assert_within_standard_errors(x[:, 0] * x[:, 1], 0.25 / 4 * np.exp(-0.6))

    def test_geometric_brownian_motion(self):
        system = GeometricBrownianMotion(growth=0.3, volatility=0.4)
        truth = lognorm.logpdf(1.5, 0.4 * np.sqrt(0.5), scale=1.2 * np.exp((0.3 - 0.08) * 0.5))
        assert system.log_prob([1.5], [1.2], 0.5) == pytest.approx(truth, rel=1e-12)
        draws = system.simulate_states(50_000, 0, [0.0, 0.5], np.full((50_000, 1), 1.2))[:, 1, 0]
        assert_within_standard_errors(draws, 1.2 * np.exp(0.15))

    def test_one_asset_is_geometric_brownian_motion(self):
        one = BlackScholes(growth=(0.05,), volatility=(0.2,), correlation=((1.0,),))
        single = GeometricBrownianMotion()
        x, y = [[0.7], [1.3]], [[0.9], [1.2]]
        np.testing.assert_allclose(one.log_prob(y, x, 0.2), single.log_prob(y, x, 0.2), rtol=1e-12)

    def test_black_scholes_as_printed(self):
        system, prices = BlackScholes(), np.array([1.0, 2.0, 0.5])
        volatility = np.array([0.20, 0.15, 0.25])
        correlation = np.array([[1, 0.66, 0.33], [0.66, 1, 0.66], [0.33, 0.66, 1]])
        scaled = volatility * prices
        np.testing.assert_allclose(system.diffusion(prices), correlation * np.outer(scaled, scaled))
        np.testing.assert_allclose(system.drift(prices), [0.05, 0.12, 0.02])
        draws = system.simulate_states(50_000, 0, [0.0, 2.0], np.tile(prices, (50_000, 1)))[:, 1]
        assert_within_standard_errors(draws, prices * np.exp(2 * np.array([0.05, 0.06, 0.04])))

    def test_cox_ingersoll_ross(self):
        system, x, s = CoxIngersollRoss(), 0.5, 0.2
        decay = np.exp(-3 * s)
        c = 2 * 3 / (0.04 * (1 - decay))
        y = np.linspace(0.3, 0.6, 7)
        truth = ncx2.logpdf(y, 4 * 3 * 0.3 / 0.04, 2 * c * x * decay, scale=1 / (2 * c))
        np.testing.assert_allclose(system.log_prob(y[:, None], [x], s), truth, rtol=1e-9, atol=1e-9)
        mean = 0.3 + (x - 0.3) * decay
        variance = 0.04 / 3 * (x * (decay - decay**2) + 0.3 / 2 * (1 - decay) ** 2)
        draws = system.simulate_states(100_000, 0, [0.0, s], np.full((100_000, 1), x))[:, 1, 0]
        assert_within_standard_errors(draws, mean)
        assert_within_standard_errors((draws - mean) ** 2, variance)

    @pytest.mark.parametrize("step", [1e-12, 1e-9, 1e-6])
    def test_cox_ingersoll_ross_over_tiny_steps_is_gaussian(self, step):
        system, x = CoxIngersollRoss(), 0.4
        spread = 0.2 * np.sqrt(x * step)
        for deviation in (-2.0, 0.0, 1.0):
            y = x + step * system.drift([x])[0] + deviation * spread
            gap = system.log_prob([y], [x], step) - norm.logpdf(deviation) + np.log(spread)
            # Skewness of order spread/x; y itself is rounded to 1e-16 of x.
            assert abs(gap) < 5 * spread / x + 1e-15 / spread

    @pytest.mark.parametrize("volatility", [0.2, 2.0])
    def test_cox_ingersoll_ross_far_out_and_at_zero(self, volatility):
        system = CoxIngersollRoss(volatility=volatility)
        y = np.geomspace(1e-200, 50, 100)[:, None]
        assert np.isfinite(system.log_prob(y, [0.4], [0.02])).all()
        c = 2 * 3 / (volatility**2 * (1 - np.exp(-3 * 0.1)))
        near = np.array([1e-3, 0.1, 0.3])
        truth = gamma.logpdf(near, 2 * 3 * 0.3 / volatility**2, scale=1 / c)
        np.testing.assert_allclose(system.log_prob(near[:, None], [0.0], 0.1), truth, rtol=1e-10)

    def test_harmonic_oscillator_covariance(self):
        """Q(s) = ∫ e^{Au} BBᵀ e^{Aᵀu} du, the last steps far beyond the memory of the system."""
        for system in (HarmonicOscillator(), HarmonicOscillator(frequency=2, damping=5, noise=0.7)):
            drift = np.array([[0.0, 1.0], [-(system.frequency**2), -system.damping]])
            kick = np.diag([0.0, system.noise**2])
            for s in (0.01, 0.3, 4.0):
                truth = quad_vec(lambda u, a=drift, b=kick: expm(a * u) @ b @ expm(a * u).T, 0, s)[0]
                flow, covariance = system.transition_matrices(np.asarray(s))
                np.testing.assert_allclose(flow, expm(drift * s), rtol=1e-10, atol=1e-13)
                np.testing.assert_allclose(covariance, truth, rtol=1e-8)
            variance = system.noise**2 / (2 * system.damping)
            stationary = np.diag([variance / system.frequency**2, variance])
            flow, covariance = system.transition_matrices(np.asarray(200.0))
            np.testing.assert_allclose(covariance, stationary, rtol=1e-10, atol=1e-12)

    def test_harmonic_oscillator_over_tiny_steps(self):
        """Integrated Brownian motion: Q = noise² [[s³/3, s²/2], [s²/2, s]]."""
        s = 1e-6
        covariance = HarmonicOscillator(noise=1).transition_matrices(np.asarray(s))[1]
        np.testing.assert_allclose(covariance, [[s**3 / 3, s**2 / 2], [s**2 / 2, s]], rtol=1e-5)

    def test_harmonic_oscillator_semigroup(self):
        system = HarmonicOscillator(damping=0)
        flow, covariance = system.transition_matrices(np.array([0.4, 1.1, 1.5]))
        np.testing.assert_allclose(flow[1] @ flow[0], flow[2], rtol=1e-12)
        np.testing.assert_allclose(flow[1] @ covariance[0] @ flow[1].T + covariance[1], covariance[2])


class TestBessel:
    def test_against_scipy(self):
        z = np.geomspace(1e-3, 150, 50)
        for q in (-0.9, -0.3, 0.0, 0.5, 44.0):
            truth = np.log(ive(q, z)) - q * np.log(z / 2)
            np.testing.assert_allclose(log_bessel_ratio(q, z), truth, rtol=1e-10, atol=1e-12)

    @pytest.mark.parametrize("q", [-0.5, 3.0, 150.0])
    def test_expansion_meets_scipy(self, q):
        z = np.array([150.0, 190.0, 250.0])
        truth = np.log(ive(q, z)) - q * np.log(z / 2)
        np.testing.assert_allclose(_uniform_expansion(q, z, np.hypot(q, z)), truth, rtol=1e-12, atol=2e-11)

    @pytest.mark.parametrize("q", [0.3, 5.0, 100.0, 199.5, 1000.0])
    def test_recurrence_where_values_underflow_or_overflow(self, q):
        """I_{q−1} − I_{q+1} = (2q/z) I_q, all three divided by I_q."""
        z = np.concatenate([[0.0], np.geomspace(1e-100, 1e6, 107)])
        below, here, above = (log_bessel_ratio(q + k, z) for k in (-1, 0, 1))
        left, right = np.exp(below - here), (z / 2) ** 2 * np.exp(above - here)
        np.testing.assert_allclose(left - right, q, atol=1e-9 * np.max(left), rtol=0)
        np.testing.assert_allclose((left - right) / (left + right), q / (left + right), atol=1e-9)


class TestLorenz:
    def test_no_path_is_lost_at_strong_noise(self):
        states = Lorenz(noise=3).simulate_states(5000, 0)
        assert states.shape == (5000, 101, 3)
        assert np.isfinite(states).all()

    def test_second_order_without_noise(self):
        start = np.array([[1.0, 2.0, 20.0], [-5.0, -3.0, 25.0]])
        system = Lorenz(noise=0)
        options = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-12}
        reference = [solve_ivp(lambda _, x: system.drift(x), (0, 0.5), x, **options).y[:, -1] for x in start]
        steps = np.array([4e-3, 2e-3, 1e-3])
        errors = [
            np.abs(Lorenz(noise=0, dt=dt).simulate_states(2, 0, [0.0, 0.5], start)[:, 1] - reference).max()
            for dt in steps
        ]
        orders = np.diff(np.log(errors)) / np.diff(np.log(steps))
        assert (np.abs(orders - 2) < 0.1).all(), orders
        assert errors[-1] < 0.01

    def test_mean_of_x_obeys_its_linear_equation(self):
        """x' = σ(y − x) is linear, so E x(t) = E x(0) + σ∫E(y − x): a check over many noisy steps."""
        times = np.linspace(0, 0.2, 101)
        states = Lorenz(noise=1).simulate_states(4000, 3, times)
        change = 10 * trapezoid(states[..., 1] - states[..., 0], times, axis=1)
        assert_within_standard_errors(states[:, -1, 0] - states[:, 0, 0] - change, 0.0, bias=1e-2)


class TestDoubleWell:
    def test_stationary_law_without_jumps(self):
        """p ∝ exp(−2V/σ²); Euler–Maruyama at dt moves it by less than the sampling error."""
        system = DoubleWell(rate=0, confinement=2, dimension=2, dt=5e-3)
        x = system.simulate_states(4000, 0, [0.0, 15.0])[:, 1]
        axis = np.linspace(-3, 3, 2001)
        density = np.exp(-2 * (axis**2 - 1) ** 2 / 4 / 0.25)
        distribution = cumulative_trapezoid(density, axis, initial=0.0)
        distribution /= distribution[-1]
        assert kstest(x[:, 0], lambda points: np.interp(points, axis, distribution)).pvalue > 1e-3
        assert kstest(x[:, 1], norm(scale=np.sqrt(0.25 / (2 * 2))).cdf).pvalue > 1e-3

    def test_lost_path_is_named(self):
        start = np.array([[0.0, 0, 0], [50.0, 0, 0], [1.0, 0, 0]])
        with pytest.raises(FloatingPointError, match=r"trajectory 1 of DoubleWell.* by time 10.*1 of 3"):
            DoubleWell(rate=0, dt=0.1).simulate_states(3, 0, [0.0, 0.5, 10.0], start)


@pytest.mark.parametrize(
    ("interval", "count"), [(0.02, 20), (0.05, 50), (0.0205, 21), (1e-5, 1), (0.3 - 0.2, 100), (1e-3, 1)]
)
def test_fine_steps(interval, count):
    assert fine_steps(interval, 1e-3) == (count, interval / count)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Lorenz(noise=-1), "noise of Lorenz to be a finite number ≥ 0, but got -1"),
        (lambda: Lorenz(rho=np.nan), "rho of Lorenz to be a finite number, but got nan"),
        (lambda: Lorenz(dt=0), "dt of Lorenz to be a finite number > 0, but got 0"),
        (lambda: DoubleWell(rate=-1), "rate of DoubleWell"),
        (lambda: DoubleWell(jump_scale=0), "jump_scale of DoubleWell"),
        (lambda: DoubleWell(dimension=0), "dimension of DoubleWell to be a whole number ≥ 1, but got 0"),
        (lambda: OrnsteinUhlenbeck(rate=0), "rate of OrnsteinUhlenbeck"),
        (lambda: GeometricBrownianMotion(volatility=0), "volatility of GeometricBrownianMotion"),
        (lambda: CoxIngersollRoss(start=-0.1), "start of CoxIngersollRoss"),
        (lambda: HarmonicOscillator(damping=-0.1), "damping of HarmonicOscillator"),
        (lambda: HarmonicOscillator(noise=0), "noise of HarmonicOscillator"),
        (lambda: BimodalJumps(dt=np.inf), "dt of BimodalJumps"),
        (lambda: BlackScholes(volatility=(0.2, 0.1)), r"volatility of BlackScholes .* shape \(3,\)"),
        (lambda: BlackScholes(volatility=(0.2, 0.1, 0.0)), "every volatility"),
        (lambda: BlackScholes((0, 0), (1, 1), ((1, 0.5), (0.4, 1))), "symmetric correlation"),
        (lambda: BlackScholes((0, 0), (1, 1), ((1, 2), (2, 1))), "positive definite"),
    ],
)
def test_bad_parameters_are_refused(build, message):
    with pytest.raises(ValueError, match=message):
        build()


@pytest.mark.parametrize("wrong", [{"confinement": "1"}, {"noise": [0.5]}, {"dimension": 1.5}], ids=str)
def test_parameters_that_are_not_numbers_are_refused(wrong):
    with pytest.raises((ValueError, TypeError)):
        DoubleWell(**wrong)


def test_price_must_start_positive():
    with pytest.raises(ValueError, match="trajectory 1 starts at"):
        GeometricBrownianMotion().simulate(2, 0, initial=[[1.0], [0.0]])


class TestMaximumLikelihood:
    def test_of_black_scholes_is_at_the_top(self):
        """Irregular steps; any parameter moved either way makes the data less likely."""
        data = BlackScholes().simulate(40, seed=0, times=np.cumsum([0, 0.02, 0.1, 0.05, 0.3, 0.02]))
        best = BlackScholes.maximum_likelihood(data)
        seen = data.transitions()

        def likelihood(system):
            return system.log_prob(seen.y, seen.x, seen.step).sum()

        for i in range(3):
            for name in ("growth", "volatility"):
                for change in (-1e-3, 1e-3):
                    moved = list(getattr(best, name))
                    moved[i] += change
                    parameters = {n: getattr(best, n) for n in ("growth", "volatility", "correlation")} | {name: moved}
                    assert likelihood(BlackScholes(**parameters)) < likelihood(best)

    def test_of_black_scholes_finds_the_truth(self):
        """4 standard errors: σ/√T for the growth (T = 2048 units of time), σ/√(2n) for the volatility."""
        best = BlackScholes.maximum_likelihood(BlackScholes().simulate(1024, seed=1))
        error = np.array(BlackScholes().volatility)
        assert (np.abs(best.growth_rates - BlackScholes().growth_rates) < 4 * error / np.sqrt(2048)).all()
        assert (np.abs(np.array(best.volatility) - error) < 4 * error / np.sqrt(2 * 102_400)).all()
