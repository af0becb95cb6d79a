"""Advection: its projected generator, its flow and its semigroup against quadrature and matrix exponentials."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm

from nke.mixtures import GaussianMixture
from nke.operators import (
    Advection,
    Cubature,
)
from operator_cases import (
    DRIFTS,
    FINE,
    PACKET,
    PLANAR_DRIFTS,
    PLANAR_PACKET,
    along,
    image_of,
    jax_packet,
    line,
    mass_along,
    order_of,
    particles_moved,
    plane,
    rate_of,
)

LINEAR = np.array([[-0.5, 2.0], [-2.0, -1.0]])


@pytest.mark.usefixtures("double_precision")
class TestRate:
    """Section "Lagrangian Galerkin Projection": Π₁ ∘ A ∘ Π₁† on the packet (1, μ, Σ)."""

    @pytest.mark.parametrize("name", DRIFTS)
    def test_on_the_line(self, name):
        """dμ = ⟨f, G⟩ and dΣ = 2⟨(x−μ) f, G⟩."""
        f = DRIFTS[name]
        x = line(PACKET)
        mass, values = mass_along(PACKET, x), along(f, x[:, None])[:, 0]
        rate = rate_of(Advection(f), PACKET)
        assert rate.weight == 0
        np.testing.assert_allclose(rate.mean, [mass @ values], atol=1e-6)
        np.testing.assert_allclose(rate.covariance, [[2 * mass @ ((x - 0.6) * values)]], atol=1e-6)

    @pytest.mark.parametrize("name", PLANAR_DRIFTS)
    def test_in_the_plane(self, name):
        f = PLANAR_DRIFTS[name]
        grid, mass = plane(PLANAR_PACKET)
        values = along(f, grid)
        mixed = np.einsum("xy,xyi,xyj->ij", mass, grid - PLANAR_PACKET[0], values)
        rate = rate_of(Advection(f), PLANAR_PACKET)
        np.testing.assert_allclose(rate.mean, np.einsum("xy,xyi->i", mass, values), atol=1e-6)
        np.testing.assert_allclose(rate.covariance, mixed + mixed.T, atol=1e-6)


@pytest.mark.usefixtures("double_precision")
class TestSemigroup:
    def packet(self):
        return GaussianMixture(
            jnp.asarray([0.4, 0.6]),
            jnp.asarray([[1.0, 0.5], [-1.0, 2.0]]),
            jnp.asarray([[[0.5, 0.2], [0.2, 0.3]], [[0.1, 0.0], [0.0, 0.4]]]),
        )

    def linear(self, flow_steps):
        matrix = jnp.asarray(LINEAR)
        return Advection(lambda x: matrix @ x, flow_steps=flow_steps)

    def test_linear_drift_is_the_matrix_exponential(self):
        """μ → e^{As}μ, Σ → e^{As} Σ e^{Asᵀ}; the Runge–Kutta error of 64 steps is (2.5·s/64)⁵·64/120 < 1e-8."""
        step = 0.8
        image = image_of(self.linear(64), self.packet(), step, Cubature())
        flow = expm(step * LINEAR)
        packet = self.packet()
        np.testing.assert_array_equal(image.weights, packet.weights)
        np.testing.assert_allclose(image.means, packet.means @ flow.T, atol=1e-7)
        np.testing.assert_allclose(image.covariances, flow @ packet.covariances @ flow.T, atol=1e-7)

    def test_the_flow_has_order_four(self):
        flow = expm(LINEAR)
        errors = []
        for flow_steps in (4, 8, 16):
            image = image_of(self.linear(flow_steps), self.packet(), 1.0, Cubature())
            truth = flow @ np.asarray(self.packet().covariances) @ flow.T
            errors.append(np.abs(np.asarray(image.covariances) - truth).max())
        assert 3.8 < order_of(errors) < 4.2, errors
        assert (np.diff(np.log(errors)) < 0).all()

    def test_forward_then_backward_returns_the_mixture(self):
        there = image_of(self.linear(64), self.packet(), 0.8, Cubature())
        back = image_of(self.linear(64), there, -0.8, Cubature())
        np.testing.assert_allclose(back.means, self.packet().means, atol=1e-7)
        np.testing.assert_allclose(back.covariances, self.packet().covariances, atol=1e-7)

    @pytest.mark.parametrize("name", PLANAR_DRIFTS)
    def test_the_flow_solves_the_equation_and_can_be_undone(self, name):
        """Against SciPy's DOP853; forward and backward errors are of the order (s/64)⁴ ≈ 1e-7."""
        f = jax.jit(PLANAR_DRIFTS[name])
        x = np.array([0.7, -0.4])
        truth = solve_ivp(lambda _, x: np.asarray(f(jnp.asarray(x))), (0, 1.2), x, "DOP853", rtol=1e-11, atol=1e-12)
        advection = Advection(PLANAR_DRIFTS[name], flow_steps=64)
        there = advection.flow(jnp.asarray(x), 1.2)
        np.testing.assert_allclose(there, truth.y[:, -1], atol=1e-7)
        np.testing.assert_allclose(advection.flow(there, -1.2), x, atol=1e-7)

    def test_the_packet_follows_the_generator(self):
        """(e^{Âs} − 1)/s tends to Â on a non-linear drift: the difference is O(s)."""
        advection = Advection(PLANAR_DRIFTS["pendulum"])
        mean, covariance = jax_packet(PLANAR_PACKET)
        rate = rate_of(advection, PLANAR_PACKET)
        packet = GaussianMixture(jnp.ones(1), mean[None], covariance[None])
        advance = jax.jit(lambda step: advection.semigroup(packet, step, FINE))
        errors = []
        for step in (0.02, 0.01, 0.005):
            image = advance(step)
            errors.append(
                np.abs((image.means[0] - mean) / step - rate.mean).max()
                + np.abs((image.covariances[0] - covariance) / step - rate.covariance).max()
            )
        assert 0.9 < order_of(errors) < 1.1, errors


@pytest.mark.usefixtures("double_precision")
def test_particles_need_no_noise():
    operator, x = Advection(PLANAR_DRIFTS["pendulum"], flow_steps=4), jnp.asarray([1.0, 0.5])
    image = image_of(operator, GaussianMixture.point(x), 0.3, Cubature())
    particles = particles_moved(operator, x, 0.3)[:3]
    np.testing.assert_allclose(particles, np.tile(image.means[0], (3, 1)), rtol=1e-13)
    np.testing.assert_allclose(image.covariances[0], np.zeros((2, 2)), atol=1e-15)
