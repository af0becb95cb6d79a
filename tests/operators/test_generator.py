"""The whole generator: the sum of its terms, the forward equation itself, and moments that close."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from nke.mixtures import GaussianMixture
from nke.operators import (
    Advection,
    Diffusion,
    GaussHermite,
    Generator,
    PoissonJump,
)
from nke.systems import GeometricBrownianMotion, OrnsteinUhlenbeck
from operator_cases import (
    DRIFTS,
    FACTORS,
    LINE_JUMP,
    PACKET,
    PLANAR_DRIFTS,
    PLANAR_PACKET,
    along,
    density,
    jump_law,
    jump_rate,
    line,
    mass_along,
    planar_factor,
    plane,
    rate_of,
)


@pytest.mark.usefixtures("double_precision")
class TestRate:
    """Π₁ ∘ L ∘ Π₁† on the packet (1, μ, Σ)."""

    def test_the_generator_is_the_sum(self):
        """L = A + D + J against one sum over a grid of all three adjoints."""
        f, g = DRIFTS["double well"], FACTORS["bounded"]
        x = line(PACKET)
        mass, offset = mass_along(PACKET, x), x - 0.6
        intensity, mean = along(jump_rate, x[:, None]), along(lambda x: jump_law(x).mean[0], x[:, None])
        variance = along(lambda x: jump_law(x).covariance[0, 0], x[:, None])
        first, second = intensity * mean, intensity * (variance + mean**2)
        drift, tensor = along(f, x[:, None])[:, 0], along(g, x[:, None])[:, 0, 0] ** 2
        parts = [mass @ (drift + first), mass @ (2 * offset * (drift + first) + tensor + second)]
        full = rate_of(Generator(Advection(f), Diffusion(g), LINE_JUMP), PACKET)
        np.testing.assert_allclose([full.mean[0], full.covariance[0, 0]], parts, atol=1e-6)
        still = rate_of(Generator(Advection(f), Diffusion(g)), PACKET)
        parts = [mass @ drift, mass @ (2 * offset * drift + tensor)]
        np.testing.assert_allclose([still.mean[0], still.covariance[0, 0]], parts, atol=1e-6)

    def test_small_jumps_move_mean_and_covariance_as_advection_and_diffusion(self):
        """Equation (small-jump Taylor): for x and (x−μ)² it holds exactly, with γ the raw second moment."""

        def first(x):
            return jump_rate(x) * jump_law(x).mean

        def second(x):
            mean, covariance = jump_law(x).moments()
            return jump_rate(x) * (covariance + mean[:, None] * mean)

        jumps = rate_of(LINE_JUMP, PACKET)
        smooth = rate_of(Generator(Advection(first), Diffusion.from_tensor(second)), PACKET)
        for value, truth in zip(jumps, smooth, strict=True):
            np.testing.assert_allclose(value, truth, atol=1e-12)


@pytest.mark.usefixtures("double_precision")
class TestWeakForm:
    """⟨φ, L G⟩ with the forward operator itself applied to the density: no integration by parts."""

    @staticmethod
    def log_density(packet):
        mixture = GaussianMixture(jnp.ones(1), *(jnp.asarray(part)[None] for part in packet))
        return lambda x: jnp.exp(mixture.log_prob(x))

    def moments_of_change(self, change, grid, packet, cell):
        """∫ x·change and ∫ (x−μ)(x−μ)ᵀ·change; the change itself must integrate to zero."""
        change, grid = change.ravel() * cell, grid.reshape(-1, grid.shape[-1])
        centred = grid - packet[0]
        assert abs(change.sum()) < 1e-9
        return change @ grid, (change * centred.T) @ centred

    @pytest.mark.parametrize("name", DRIFTS)
    def test_advection_and_diffusion_on_the_line(self, name):
        """−(f p)' and ½ (a p)'' by automatic differentiation, tested with x and (x−μ)²."""
        f, g = DRIFTS[name], FACTORS["bounded"]
        p = self.log_density(PACKET)

        def change(x):
            advected = -jax.grad(lambda u: f(u)[0] * p(u))(x)[0]
            return advected + jax.hessian(lambda u: g(u)[0, 0] ** 2 * p(u))(x)[0, 0] / 2

        x = line(PACKET)[:, None]
        mean, covariance = self.moments_of_change(along(change, x), x, PACKET, x[1, 0] - x[0, 0])
        rate = rate_of(Generator(Advection(f), Diffusion(g)), PACKET)
        np.testing.assert_allclose(rate.mean, mean, atol=1e-6)
        np.testing.assert_allclose(rate.covariance, covariance, atol=1e-6)

    @pytest.mark.parametrize("name", ["pendulum", "rotation"])
    def test_advection_and_diffusion_in_the_plane(self, name):
        """−∇·(f p) + ½ ∇²:(a p) with a full, state-dependent tensor."""
        f = PLANAR_DRIFTS[name]
        p = self.log_density(PLANAR_PACKET)

        def change(x):
            advected = -jnp.trace(jax.jacfwd(lambda u: f(u) * p(u))(x))
            spread = jax.hessian(lambda u: planar_factor(u) @ planar_factor(u).T * p(u))(x)
            return advected + jnp.einsum("ijij->", spread) / 2

        grid, mass = plane(PLANAR_PACKET)
        cell = mass.max() / density(PLANAR_PACKET, grid).max()
        mean, covariance = self.moments_of_change(along(change, grid), grid, PLANAR_PACKET, cell)
        rate = rate_of(Generator(Advection(f), Diffusion(planar_factor)), PLANAR_PACKET)
        np.testing.assert_allclose(rate.mean, mean, atol=1e-6)
        np.testing.assert_allclose(rate.covariance, covariance, atol=1e-6)

    def test_jumps_on_the_line(self):
        """Gain ∫ p(x−y) h(x−y, y) dy minus loss λ(x) p(x), as printed, on a grid of end states x."""
        start, end = line(PACKET, 401), np.linspace(-12, 12, 1601)
        law = jax.jit(jax.vmap(jump_law))(jnp.asarray(start[:, None])).numpy()
        intensity = along(jump_rate, start[:, None])
        kernel = np.exp(law.log_prob(end[:, None, None] - start[:, None]))
        gain = kernel @ (mass_along(PACKET, start) * intensity)
        loss = density(PACKET, end[:, None]) * along(jump_rate, end[:, None])
        mean, covariance = self.moments_of_change(gain - loss, end[:, None], PACKET, end[1] - end[0])
        rate = rate_of(LINE_JUMP, PACKET)
        np.testing.assert_allclose(rate.mean, mean, atol=1e-6)
        np.testing.assert_allclose(rate.covariance, covariance, atol=1e-6)


@pytest.mark.usefixtures("double_precision")
class TestMomentEvolution:
    """dμ/dt and dΣ/dt integrated to time t: the moment equations of linear systems close."""

    def evolve(self, generator, mean, covariance, time):
        d = len(mean)
        rate = jax.jit(lambda m, c: generator.rate(m, c, GaussHermite(5)))

        def change(_, packet):
            result = rate(jnp.asarray(packet[:d]), jnp.asarray(packet[d:].reshape(d, d)))
            return np.concatenate([result.mean, np.ravel(result.covariance)])

        start = np.concatenate([mean, np.ravel(covariance)])
        end = solve_ivp(change, (0, time), start, rtol=1e-9, atol=1e-10).y[:, -1]
        return end[:d], end[d:].reshape(d, d)

    def test_ornstein_uhlenbeck(self):
        """μ e^{−θt} around the resting point; Σ e^{−2θt} + σ²(1 − e^{−2θt})/(2θ)."""
        system = OrnsteinUhlenbeck(rate=1.5, mean=0.5, noise=0.8, dimension=2)
        generator = Generator(Advection(system.drift), Diffusion(system.noise_matrix))
        mean, covariance = np.array([2.0, -1.0]), np.array([[0.3, 0.1], [0.1, 0.2]])
        value = self.evolve(generator, mean, covariance, 0.7)
        decay = np.exp(-1.5 * 0.7)
        np.testing.assert_allclose(value[0], 0.5 + decay * (mean - 0.5), atol=1e-6)
        spread = 0.64 * (1 - decay**2) / 3 * np.eye(2)
        np.testing.assert_allclose(value[1], decay**2 * covariance + spread, atol=1e-6)

    def test_geometric_brownian_motion(self):
        """E S = μ e^{gt}, E S² = (μ² + Σ) e^{(2g + v²)t}."""
        system = GeometricBrownianMotion(growth=0.3, volatility=0.5)
        generator = Generator(Advection(system.drift), Diffusion(system.noise_matrix))
        mean, covariance = self.evolve(generator, np.array([1.2]), np.array([[0.1]]), 0.8)
        truth = 1.2 * np.exp(0.3 * 0.8)
        np.testing.assert_allclose(mean, [truth], atol=1e-6)
        second = (1.2**2 + 0.1) * np.exp((2 * 0.3 + 0.5**2) * 0.8)
        np.testing.assert_allclose(covariance, [[second - truth**2]], atol=1e-6)

    def test_compound_poisson(self):
        """Constant rate and law: mean and covariance grow by λt times the raw moments of a jump."""
        law = GaussianMixture(jnp.asarray([0.3, 0.7]), jnp.asarray([[2.0], [-1.0]]), 0.2 * jnp.ones((2, 1, 1)))
        generator = Generator(
            Advection(jnp.zeros_like),
            Diffusion(lambda x: jnp.zeros((1, 1))),
            PoissonJump.from_functions(lambda x: 3.0 + 0 * x[0], lambda x: law),
        )
        mean, covariance = self.evolve(generator, np.array([0.5]), np.array([[0.1]]), 0.8)
        np.testing.assert_allclose(mean, [0.5 + 2.4 * (0.6 - 0.7)], atol=1e-6)
        np.testing.assert_allclose(covariance, [[0.1 + 2.4 * (0.2 + 0.3 * 4 + 0.7)]], atol=1e-6)
