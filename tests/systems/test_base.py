"""Every system against its own truth: closed forms, quadrature and sampling error.

Tolerances of sampled quantities are four standard errors. Kolmogorov–Smirnov tests refuse one correct system in a
thousand. Seeds are fixed.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import cumulative_trapezoid, trapezoid
from scipy.stats import kstest

from known_systems import EXACT, FINE_STEPPED, JUMPING, ONE_DIMENSIONAL, SYSTEMS, TWO_ASSETS, every, states_of
from nke.data import Trajectories
from nke.systems import (
    BlackScholes,
    CoxIngersollRoss,
    DoubleWell,
    GeometricBrownianMotion,
    HarmonicOscillator,
    OrnsteinUhlenbeck,
)
from standard_errors import assert_within_standard_errors

TIMES = np.linspace(0.0, 0.02, 3)


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
        h, count = 1e-3, min(200_000, 600_000 // system.dimension)
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
        assert_within_standard_errors(products, a, bias=bias)


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

    @every([system for system in SYSTEMS if not system.has_jumps])
    def test_no_law_without_jumps(self, system):
        assert (system.jump_rate(states_of(system)) == 0).all()
        with pytest.raises(ValueError, match="has no jumps"):
            system.jump_law(states_of(system))


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
            density = np.exp(system.log_prob(y[:, None], given=[x], step=step))
            assert trapezoid(density, y) == pytest.approx(1.0, abs=1e-6)

    @pytest.mark.parametrize(("system", "x"), [(HarmonicOscillator(), [1.0, -0.5]), (TWO_ASSETS, [1.2, 0.9])], ids=str)
    def test_integrates_to_one_in_the_plane(self, system, x):
        cloud = system.simulate_states(2000, 0, [0.0, 0.5], np.tile(x, (2000, 1)))[:, 1]
        reach = 10 * cloud.std(axis=0)
        low = cloud.mean(axis=0) - reach
        low = np.maximum(low, 1e-6) if system is TWO_ASSETS else low
        axes = [np.linspace(a, b, 401) for a, b in zip(low, cloud.mean(axis=0) + reach, strict=True)]
        density = np.exp(system.log_prob(np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1), given=x, step=0.5))
        assert trapezoid(trapezoid(density, axes[1]), axes[0]) == pytest.approx(1.0, abs=1e-6)

    @every(ONE_DIMENSIONAL)
    def test_chapman_kolmogorov(self, system):
        """p_{s+t}(y|x) = ∫ p_t(y|z) p_s(z|x) dz."""
        x, s, t = 0.5, 0.1, 0.15
        z = self.grid(system, x, s)[:, None]
        for y in (0.35, 0.5, 0.6):
            inner = np.exp(system.log_prob([y], given=z, step=t) + system.log_prob(z, given=[x], step=s))
            whole = np.exp(system.log_prob([y], given=[x], step=s + t))
            assert trapezoid(inner, z[:, 0]) == pytest.approx(whole, rel=1e-6)

    @every(ONE_DIMENSIONAL)
    def test_draws_follow_the_density(self, system):
        x, step, count = 0.5, 0.3, 20_000
        draws = system.simulate_states(count, 1, [0.0, step], np.full((count, 1), x))[:, 1, 0]
        y = self.grid(system, x, step)
        distribution = cumulative_trapezoid(np.exp(system.log_prob(y[:, None], given=[x], step=step)), y, initial=0.0)
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
        assert_within_standard_errors(system.log_prob(draws, given=x, step=step) + log_jacobian, truth)

    @every(EXACT)
    def test_broadcasts_over_states_and_steps(self, system):
        x, x_next = states_of(system, 3), states_of(system, 8)[-4:]
        steps = np.array([0.1, 0.2, 0.1])
        together = system.log_prob(x_next[:, None], given=x, step=steps)
        assert together.shape == (4, 3)
        for i in range(4):
            for j in range(3):
                assert system.log_prob(x_next[i], given=x[j], step=steps[j]) == pytest.approx(together[i, j], rel=1e-9)

    @every(EXACT)
    def test_step_must_be_positive(self, system):
        x = states_of(system)
        with pytest.raises(ValueError, match="step to be finite and > 0"):
            system.log_prob(x, given=x, step=[0.1] * 5 + [0.0])

    @every([system for system in FINE_STEPPED if not isinstance(system, DoubleWell)])
    def test_absent_where_there_is_no_closed_form(self, system):
        x = states_of(system)
        with pytest.raises(NotImplementedError, match="no closed form"):
            system.log_prob(x, given=x, step=0.1)

    @every([GeometricBrownianMotion(), BlackScholes(), CoxIngersollRoss()])
    def test_domain(self, system):
        inside, outside = np.ones(system.dimension), -np.ones(system.dimension)
        assert system.log_prob(outside, given=inside, step=0.1) == -np.inf
        with pytest.raises(ValueError, match="in the domain"):
            system.log_prob(inside, given=outside, step=0.1)
