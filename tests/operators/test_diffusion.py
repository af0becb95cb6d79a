"""Diffusion: its projected generator, semigroup and particles against quadrature and closed forms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import expm

from nke.mixtures import GaussianMixture
from nke.operators import (
    Cubature,
    Diffusion,
    Noise,
)
from operator_cases import (
    FACTORS,
    PACKET,
    PLANAR_PACKET,
    along,
    assert_moments_agree,
    assert_within_standard_errors,
    image_of,
    line,
    mass_along,
    order_of,
    particles_moved,
    planar_factor,
    plane,
    rate_of,
)

SOURCES = np.array([[[0.5, 0.3], [-0.2, 0.4]], [[-0.1, 0.6], [0.5, 0.2]], [[0.3, -0.4], [0.1, 0.3]]])


@pytest.mark.usefixtures("double_precision")
class TestRate:
    """Π₁ ∘ D ∘ Π₁† on the packet (1, μ, Σ)."""

    @pytest.mark.parametrize("name", FACTORS)
    def test_on_the_line(self, name):
        """The mean rests and dΣ = ⟨a, G⟩: a = g gᵀ, not a/2."""
        g = FACTORS[name]
        x = line(PACKET)
        tensor = along(g, x[:, None])[:, 0, 0] ** 2
        rate = rate_of(Diffusion(g), PACKET)
        assert rate.weight == 0
        np.testing.assert_array_equal(rate.mean, [0.0])
        np.testing.assert_allclose(rate.covariance, [[mass_along(PACKET, x) @ tensor]], atol=1e-6)

    def test_in_the_plane(self):
        grid, mass = plane(PLANAR_PACKET)
        g = along(planar_factor, grid)
        truth = np.einsum("xy,xyik,xyjk->ij", mass, g, g)
        tensor = lambda x: planar_factor(x) @ planar_factor(x).T  # noqa: E731
        for diffusion in (Diffusion(planar_factor), Diffusion.from_tensor(tensor)):
            rate = rate_of(diffusion, PLANAR_PACKET)
            np.testing.assert_array_equal(rate.mean, np.zeros(2))
            np.testing.assert_allclose(rate.covariance, truth, atol=1e-6)


@pytest.mark.usefixtures("double_precision")
class TestSemigroup:
    def test_constant_tensor_is_exact(self):
        tensor = np.array([[0.5, 0.2], [0.2, 0.9]])
        packet = GaussianMixture(jnp.ones(1), jnp.asarray([[1.0, 2.0]]), 0.3 * jnp.eye(2)[None])
        image = image_of(Diffusion.from_tensor(lambda x: jnp.asarray(tensor)), packet, 0.7, Cubature())
        np.testing.assert_array_equal(image.means, packet.means)
        np.testing.assert_allclose(image.covariances[0], 0.3 * np.eye(2) + 0.7 * tensor, rtol=1e-13)

    def test_order_two_for_a_linear_factor(self):
        """a = v²x²: dΣ/dt = v²(μ² + Σ), so Σ(t) = (μ² + Σ₀) e^{v²t} − μ²."""
        volatility, mean, start, time = 0.8, 1.3, 0.2, 1.0
        diffusion = Diffusion(lambda x: volatility * x[:, None])
        truth = (mean**2 + start) * np.exp(volatility**2 * time) - mean**2
        errors = []
        advance = jax.jit(lambda packet, step: diffusion.semigroup(packet, step, Cubature()))
        for steps in (2, 4, 8, 16):
            packet = GaussianMixture(jnp.ones(1), jnp.full((1, 1), mean), jnp.full((1, 1, 1), start))
            for _ in range(steps):
                packet = advance(packet, time / steps)
            errors.append(abs(float(packet.covariances[0, 0, 0]) - truth))
            assert packet.means[0, 0] == mean
        assert 1.8 < order_of(errors) < 2.2, errors

    def test_a_point_spreads(self):
        """δ_x is a packet like any other: after a short time Σ = s·a(x) + O(s²)."""
        x = jnp.asarray([0.5, -0.2])
        image = image_of(Diffusion(planar_factor), GaussianMixture.point(x), 1e-4, Cubature())
        np.testing.assert_allclose(image.covariances[0] / 1e-4, planar_factor(x) @ planar_factor(x).T, atol=1e-4)


@pytest.mark.usefixtures("double_precision")
class TestParticles:
    """Draws from e^{Ds} δ_x: their sample moments are those of the semigroup."""

    def test_constant_noise(self):
        g = planar_factor(jnp.asarray([0.3, 0.8]))
        assert_moments_agree(Diffusion(lambda x: g), jnp.asarray([1.0, 0.5]), 0.3)

    def test_fewer_sources_than_coordinates(self):
        """g of shape (2, 1): particles stay on the line x + R·g."""
        g = jnp.asarray([[1.0], [-2.0]])
        particles, _ = assert_moments_agree(Diffusion(lambda x: g), jnp.asarray([1.0, 0.5]), 0.3)
        np.testing.assert_allclose(particles[:, 1] - 0.5, -2 * (particles[:, 0] - 1.0), atol=1e-12)

    def test_state_dependent_noise_spreads_as_it_goes(self):
        """Covariance s·a + s²/4·(a:∇²)a + O(s³), as d⟨a⟩/ds = ½⟨(a:∇²)a⟩; the rest is 1/20 of a standard error."""
        x, step = jnp.asarray([0.5, -0.2]), 0.1
        tensor = lambda x: planar_factor(x) @ planar_factor(x).T  # noqa: E731
        bend_of = jax.jit(lambda x: jnp.einsum("ijkl,kl->ij", jax.hessian(tensor)(x), tensor(x)))
        a, bend = jax.jit(tensor)(x), bend_of(x)
        centred = particles_moved(Diffusion(planar_factor), x, step) - np.asarray(x)
        products = centred[:, :, None] * centred[:, None, :]
        assert_within_standard_errors(products, np.asarray(step * a + step**2 / 4 * bend))


@pytest.mark.usefixtures("double_precision")
class TestNoiseThatDoesNotCommute:
    """dx = Σ_r B_r x dW_r in the plane, three sources; its moments E x⊗…⊗x solve linear equations."""

    START = np.array([1.0, -0.7])

    def generator_of_moments(self, order):
        """d/dt E x^{⊗k} = Σ_r Σ_{a<b} (B_r on factor a and on factor b) E x^{⊗k}."""

        def on(factors):
            matrix = np.eye(1)
            for place in range(order):
                matrix = np.kron(matrix, factors.get(place, np.eye(2)))
            return matrix

        pairs = [(a, b) for a in range(order) for b in range(a + 1, order)]
        return sum((on({a: B, b: B}) for B in SOURCES for a, b in pairs), np.zeros((2**order, 2**order)))

    def moments(self, order, step):
        """Of one step by Gauss–Hermite nodes and all signs: exact, the scheme being a polynomial in ξ."""
        nodes, weights = np.polynomial.hermite_e.hermegauss(7)
        weights = weights / weights.sum()
        places = np.stack(np.meshgrid(*[np.arange(7)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
        signs = np.stack(np.meshgrid(*[[-1.0, 1.0]] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
        sources = jnp.asarray(SOURCES)
        diffusion = Diffusion(lambda x: jnp.swapaxes(sources @ x, 0, 1))
        move = lambda xi, v: diffusion.move(jnp.asarray(self.START), step, Noise(xi, jnp.zeros(()), xi, v))  # noqa: E731
        ends = jax.jit(jax.vmap(jax.vmap(move, (None, 0)), (0, None)))(jnp.asarray(nodes[places]), jnp.asarray(signs))
        power = np.asarray(ends)
        for _ in range(order - 1):
            power = (power[..., :, None] * np.asarray(ends)[..., None, :]).reshape(*power.shape[:2], -1)
        return weights[places].prod(axis=1) @ power.mean(axis=1)

    @pytest.mark.parametrize("order", [1, 2, 3, 4])
    def test_one_step_is_right_to_the_second_order(self, order):
        """So that its error falls by eight where the step is halved, and the mean stays to rounding."""
        start = self.START
        for _ in range(order - 1):
            start = np.kron(start, self.START)
        steps = (0.04, 0.02, 0.01)
        exact = [expm(step * self.generator_of_moments(order)) @ start for step in steps]
        errors = [np.abs(self.moments(order, step) - truth).max() for step, truth in zip(steps, exact, strict=True)]
        orders = np.log2(np.divide(errors[:-1], errors[1:]))
        assert errors[0] < 1e-12 or (orders > 2.7).all(), (errors, orders)
        assert order > 1 or errors[0] < 1e-12
