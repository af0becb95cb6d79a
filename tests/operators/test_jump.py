"""Jumps: projected generator, semigroup and particles against grids, Fourier inversion and Poisson masses."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad, trapezoid
from scipy.stats import poisson

from nke.mixtures import GaussianMixture
from nke.operators import (
    Cubature,
    FiniteTimeJump,
    PoissonJump,
)
from nke.systems import BimodalJumps
from operator_cases import (
    LINE_JUMP,
    PACKET,
    PLANAR_PACKET,
    along,
    assert_moments_agree,
    assert_within_standard_errors,
    image_of,
    jump_law,
    jump_rate,
    line,
    mass_along,
    mixture_density_network,
    particles_moved,
    plane,
    rate_of,
    to_jax,
)

CONSTANT_LAW = (np.array([0.3, 0.7]), np.array([[2.0], [-1.0]]), np.array([[[0.2]], [[0.05]]]))


def constant_jump(rate, order=2):
    law = GaussianMixture(*map(jnp.asarray, CONSTANT_LAW))
    return PoissonJump.from_functions(lambda x: jnp.asarray(rate, x.dtype), lambda x: law, order=order)


@partial(jax.jit, static_argnames="order")
def displacement_of(rate, law, order):
    """H¹ of a constant jump; compiled once per order."""
    jump = PoissonJump.from_functions(lambda x: rate, lambda x: law, order=order)
    return jump.displacement(jnp.zeros_like(law.mean), 1.0)


def constant_displacement(rate, order):
    return displacement_of(jnp.asarray(rate), GaussianMixture(*map(jnp.asarray, CONSTANT_LAW)), order)


def counts(weights, order):
    """Mass of 0, 1, …, order and more jumps: i jumps of a two-component law have 2ⁱ components."""
    starts = np.cumsum([0, *(2**i for i in range(order + 1))])
    return np.add.reduceat(np.asarray(weights, np.float64), starts)


@pytest.mark.usefixtures("double_precision")
class TestRate:
    """Π₁ ∘ J ∘ Π₁† on the packet (1, μ, Σ)."""

    def test_on_the_line(self):
        """⟨J*φ, G⟩ = ∫∫ [φ(x+y) − φ(x)] λ(x) h_x(y) dy G(x) dx for φ = x and (x−μ)², on a double grid."""
        x, y = line(PACKET, 401), np.linspace(-7, 8, 1501)
        mass, intensity = mass_along(PACKET, x), along(jump_rate, x[:, None])
        law = jax.jit(jax.vmap(jump_law))(jnp.asarray(x[:, None])).numpy()
        kernel = np.exp(law.log_prob(y[:, None, None])).T * (y[1] - y[0])
        flux = (mass * intensity)[:, None] * kernel
        mean = np.sum(flux * y)
        covariance = np.sum(flux * ((x[:, None] + y - 0.6) ** 2 - (x[:, None] - 0.6) ** 2))
        rate = rate_of(LINE_JUMP, PACKET)
        assert rate.weight == 0
        np.testing.assert_allclose(rate.mean, [mean], atol=1e-6)
        np.testing.assert_allclose(rate.covariance, [[covariance]], atol=1e-6)

    def test_in_the_plane(self):
        """State-dependent rate and law of ``BimodalJumps``, whose jump moments are known in closed form."""
        system = BimodalJumps()
        grid, mass = plane(PLANAR_PACKET)
        sigmoid = 1 / (1 + np.exp(-grid))
        intensity = 0.5 + 1.5 / (1 + np.exp(-2 * grid[..., 0]))
        first = np.stack([1.5 * (2 * sigmoid[..., 1] - 1), np.zeros_like(intensity)], axis=-1)
        second = 0.04 * np.eye(2) + np.diag([2.25, 0.0])
        flux = mass * intensity
        mixed = np.einsum("xy,xyi,xyj->ij", flux, grid - PLANAR_PACKET[0], first)
        rate = rate_of(PoissonJump.from_functions(system.jump_rate, system.jump_law), PLANAR_PACKET)
        np.testing.assert_allclose(rate.mean, np.einsum("xy,xyi->i", flux, first), atol=1e-6)
        np.testing.assert_allclose(rate.covariance, flux.sum() * second + mixed + mixed.T, atol=1e-6)


@pytest.mark.usefixtures("double_precision")
class TestSemigroup:
    def test_equals_a_numerical_convolution(self):
        """e^{Js} p = H^s * p: δ₀ leaves p as it is, the rest of H^s is convolved on a grid."""
        packet = GaussianMixture(jnp.asarray([0.4, 0.6]), jnp.asarray([[0.0], [1.0]]), jnp.asarray([[[0.3]], [[0.1]]]))
        jump, step = constant_jump(1.5), 0.4
        image = image_of(jump, packet, step, Cubature()).numpy()
        displacement = jax.jit(lambda: jump.displacement(jnp.zeros(1), step))().numpy()
        stay = displacement.weights[0]
        moved = GaussianMixture(
            displacement.weights[1:] / (1 - stay), displacement.means[1:], displacement.covariances[1:]
        )
        grid = np.linspace(-15, 15, 4001)
        p, h = (np.exp(mixture.log_prob(grid[:, None])) for mixture in (packet.numpy(), moved))
        truth = stay * p + (1 - stay) * np.convolve(p, h, mode="same") * (grid[1] - grid[0])
        np.testing.assert_allclose(np.exp(image.log_prob(grid[:, None])), truth, atol=1e-6)

    @pytest.mark.parametrize("order", [2, 3, 4])
    def test_equals_the_poisson_series(self, order):
        """Against Fourier inversion of exp(λs(ĥ − 1))·Ĝ; in L1 the mass beyond the order is all that differs."""
        rate, step, variance = 1.5, 0.3, 0.2
        packet = GaussianMixture(jnp.ones(1), jnp.zeros((1, 1)), jnp.full((1, 1, 1), variance))
        image = image_of(constant_jump(rate, order), packet, step, Cubature()).numpy()
        x, k = np.linspace(-12, 14, 1301), np.linspace(-25, 25, 2001)
        weights, means, covariances = CONSTANT_LAW
        law = sum(
            w * np.exp(1j * k * m[0] - c[0, 0] * k**2 / 2) for w, m, c in zip(weights, means, covariances, strict=True)
        )
        transform = np.exp(rate * step * (law - 1) - variance * k**2 / 2)
        truth = (np.exp(-1j * np.outer(x, k)) @ transform).real * (k[1] - k[0]) / (2 * np.pi)
        distance = trapezoid(np.abs(np.exp(image.log_prob(x[:, None])) - truth), x)
        beyond = poisson(rate * step).sf(order)
        assert distance <= 2 * beyond + 1e-9
        # The Gaussian that stands for the rest has its mean and variance, not its shape.
        assert distance > 0.05 * beyond

    def test_each_component_is_split_at_its_own_mean(self):
        """State-dependent jumps: frozen at the mean of the component, as in the paper's equation."""
        means = np.array([[0.0], [2.0]])
        packet = to_jax(GaussianMixture([0.4, 0.6], means, [[[0.3]], [[0.1]]]))
        image = image_of(LINE_JUMP, packet, 0.4, Cubature())
        displacement = jax.jit(lambda x: LINE_JUMP.displacement(x, 0.4))
        parts = [jax.tree.map(np.asarray, displacement(mean)) for mean in means]
        truth = [
            np.concatenate([0.4 * parts[0].weights, 0.6 * parts[1].weights]),
            np.concatenate([parts[0].means, 2 + parts[1].means]),
            np.concatenate([0.3 + parts[0].covariances, 0.1 + parts[1].covariances]),
        ]
        for value, part in zip(jax.tree.leaves(image), truth, strict=True):
            np.testing.assert_allclose(value, part, rtol=1e-13)


class TestPoissonDisplacement:
    @pytest.mark.parametrize("order", [1, 2, 3, 4])
    @pytest.mark.parametrize("expected", [0.05, 0.5, 2.0, 10.0])
    def test_masses_and_moments(self, order, expected, double_precision):
        """Poisson masses, e^{−λs} of them at δ₀; mean λs·m₁ and covariance λs·m₂ (raw) whatever the order."""
        law = jax.tree.map(np.asarray, constant_displacement(expected, order))
        # The tail is a truncated series: it must be right to the single precision of training.
        chance = poisson(expected).pmf(np.arange(order + 1))
        np.testing.assert_allclose(counts(law.weights, order), [*chance, poisson(expected).sf(order)], atol=1e-7)
        assert law.weights.sum() == pytest.approx(1, abs=1e-7)
        assert law.means[0, 0] == 0
        assert law.covariances[0, 0, 0] == 0
        assert law.mean[0] == pytest.approx(expected * (0.3 * 2 - 0.7), abs=1e-6)
        second = 0.3 * (0.2 + 4) + 0.7 * (0.05 + 1)
        assert law.covariance[0, 0] == pytest.approx(expected * second, abs=1e-5)

    @pytest.mark.parametrize("expected", [0.05, 0.5])
    def test_truncation_falls_with_the_order(self, expected, double_precision):
        """The third cumulant of a compound Poisson law is λs·m₃: each order gains about a factor of λs."""
        weights, means, covariances = (part.reshape(2) for part in CONSTANT_LAW)
        truth = expected * weights @ (means**3 + 3 * means * covariances)
        errors = []
        for order in (2, 3, 4):
            law = constant_displacement(expected, order).numpy()
            centred = law.means[:, 0] - law.mean[0]
            errors.append(abs(law.weights @ (centred**3 + 3 * centred * law.covariances[:, 0, 0]) - truth))
        ratios = np.divide(errors[1:], errors[:-1])
        assert (ratios < expected).all(), (errors, ratios)

    @pytest.mark.parametrize("expected", [1e-9, 1e-8, 1e-6, 1e-4, 1e-2, 1.0])
    @pytest.mark.parametrize("order", [1, 2, 3])
    def test_rare_jumps_in_single_precision(self, expected, order):
        """Small masses keep their relative accuracy and no rounding makes one negative."""
        law = constant_displacement(expected, order)
        assert law.weights.dtype == jnp.float32
        assert (np.asarray(law.weights) >= 0).all(), law.weights
        # Some twenty roundings of 6e-8 each.
        truth = [*poisson(expected).pmf(np.arange(order + 1)), poisson(expected).sf(order)]
        np.testing.assert_allclose(counts(law.weights, order), truth, rtol=2e-6, atol=1e-37)
        assert np.isfinite(law.numpy().covariance).all()

    def test_no_jumps_at_rate_zero(self):
        law = constant_displacement(0.0, 2)
        np.testing.assert_array_equal(law.weights, np.eye(len(law.weights))[0])
        assert np.isfinite(law.numpy().means).all()


class TestFiniteTimeJump:
    STEP = 0.05
    STATES = np.array([[0.0, 0.0], [1.5, -0.7], [-2.0, 0.3]])

    @staticmethod
    @eqx.filter_jit
    def everything(network, states, step):
        jump = FiniteTimeJump(network, TestFiniteTimeJump.STEP)
        parts = (jump.network, jump.intensity, jump.law, lambda x: jump.displacement(x, step))
        return jax.vmap(lambda x: tuple(part(x) for part in parts))(states)

    def evaluate(self, step, seed=0):
        """Network, rate, law and displacement at every state."""
        values = self.everything(mixture_density_network(seed), jnp.asarray(self.STATES), jnp.asarray(step))
        return jax.tree.map(np.asarray, values)

    @pytest.mark.parametrize("seed", [0, 1])
    def test_its_own_step_gives_the_network_back(self, seed):
        """H^s as learned; λ = −log α₀/s; the law of one jump is H^s without its δ₀."""
        head, intensity, law, displacement = self.evaluate(self.STEP, seed)
        stay = displacement.weights[:, :1]
        np.testing.assert_allclose(stay[:, 0], np.exp(head.log_no_jump), rtol=1e-6)
        # α₀ carries a rounding of 6e-8, which its logarithm divides by λs > 0.01.
        np.testing.assert_allclose(intensity, -np.log(stay[:, 0]) / self.STEP, rtol=1e-5)
        np.testing.assert_allclose(law.weights.sum(axis=-1), 1, atol=1e-6)
        np.testing.assert_allclose(law.weights, head.shares, rtol=1e-6)
        np.testing.assert_allclose(displacement.weights[:, 1:], (1 - stay) * head.shares, rtol=1e-5)
        np.testing.assert_array_equal(displacement.means[:, 0], np.zeros((3, 2)))
        np.testing.assert_array_equal(displacement.covariances[:, 0], np.zeros((3, 2, 2)))
        for jumped in (law.means, displacement.means[:, 1:]):
            np.testing.assert_allclose(jumped, head.means, rtol=1e-6)
        for jumped in (law.covariances, displacement.covariances[:, 1:]):
            np.testing.assert_allclose(jumped, head.covariances, rtol=1e-6)

    @pytest.mark.parametrize("share", [0.1, 0.5, 7.0])
    def test_other_steps_keep_the_rate(self, share):
        """e^{−λs} at δ₀ for every s, the rest shared as in the law: at most one jump per step."""
        _, intensity, law, displacement = self.evaluate(share * self.STEP)
        np.testing.assert_allclose(displacement.weights.sum(axis=-1), 1, atol=1e-6)
        stay = np.exp(-intensity * share * self.STEP)
        np.testing.assert_allclose(displacement.weights[:, 0], stay, rtol=1e-5)
        np.testing.assert_allclose(displacement.weights[:, 1:], (1 - stay)[:, None] * law.weights, rtol=1e-4)
        np.testing.assert_allclose(displacement.means[:, 1:], law.means, rtol=1e-6)
        np.testing.assert_allclose(displacement.covariances[:, 1:], law.covariances, rtol=1e-6)


@pytest.mark.usefixtures("double_precision")
class TestParticles:
    """Draws from e^{Js} δ_x."""

    @pytest.mark.parametrize("order", [1, 3])
    def test_poisson_jumps(self, order):
        """Their characteristic function is that of the law from which they are drawn."""
        jump, x = PoissonJump.from_functions(jump_rate, jump_law, order=order), jnp.asarray([0.4])
        particles = particles_moved(jump, x, 0.6)
        law = jump.landing_terms(x, 0.6).joined(x)
        assert_within_standard_errors((particles == 0.4).astype(float)[:, 0], law.weights[0])
        wave = np.exp(1j * (particles[:, 0] - 0.4))
        truth = sum(
            w * np.exp(1j * m[0] - c[0, 0] / 2) for w, m, c in zip(law.weights, law.means, law.covariances, strict=True)
        )
        assert_within_standard_errors(wave.real, truth.real)
        assert_within_standard_errors(wave.imag, truth.imag)

    def test_finite_time_jumps(self):
        network = mixture_density_network()
        assert_moments_agree(FiniteTimeJump(network, 0.05), jnp.asarray([0.4, -0.2]), 0.05)


class TestRateAfterAJump:
    """Jumps by one from 0, where the rate is 2, to 1, where it is another: a Markov chain of two rates."""

    @pytest.mark.parametrize("after", [0.0, 0.7, 1.999, 5.0])
    def test_probabilities_are_those_of_the_chain(self, after, double_precision):
        """P(no jump) = e^{−2s}; P(just one) = ∫₀ˢ 2e^{−2u} e^{−after (s − u)} du, by quadrature."""
        step = 0.4
        one = GaussianMixture.point(jnp.ones(1))
        jump = PoissonJump.from_functions(lambda x: jnp.where(x[0] < 0.5, 2.0, after), lambda x: one)
        terms = jump.landing_terms(jnp.zeros(1), step)
        just_one = quad(lambda u: 2 * np.exp(-2 * u - after * (step - u)), 0, step)[0]
        np.testing.assert_allclose(terms.stay, np.exp(-2 * step), rtol=1e-12)
        np.testing.assert_allclose(terms.first.weights[0], just_one, rtol=1e-6)
        assert float(terms.joined(jnp.zeros(1)).weights.sum()) == pytest.approx(1.0, abs=1e-12)

    def test_a_rate_that_stays_changes_nothing(self):
        jump = PoissonJump.from_functions(lambda x: jnp.asarray(3.0), jump_law, order=2)
        same, landed = jump.terms(jnp.zeros(1), 0.3), jump.landing_terms(jnp.zeros(1), 0.3)
        for a, b in zip(jax.tree.leaves(same), jax.tree.leaves(landed), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7)

    def test_one_step_of_a_simulation_is_as_good_as_many(self):
        """From 0 by one to where it never jumps again: the share that jumped is 1 − e^{−λs}, whatever the sub-steps."""
        one = GaussianMixture.point(jnp.ones(1))
        jump = PoissonJump.from_functions(lambda x: jnp.where(x[0] < 0.5, 2.0, 0.0), lambda x: one)
        particles = particles_moved(jump, jnp.zeros(1), 0.4)
        assert_within_standard_errors(particles[:, 0], 1 - np.exp(-0.8))
