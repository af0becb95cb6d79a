"""The projected Kolmogorov operators against quadrature, closed forms and sampling error.

Integrals are trapezoid sums over grids that are wider than ten standard deviations and finer than a tenth of
one: for analytic integrands that decay like a Gaussian they are right to rounding. Gauss–Hermite rules of
order 40 are right to 1e-9 for the functions below, whose nearest complex singularity is 1.5 away. Tolerances
of sampled quantities are four standard errors; seeds are fixed.
"""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp, trapezoid
from scipy.linalg import expm
from scipy.stats import poisson

from nke.mixtures import GaussianMixture
from nke.operators import (
    Advection,
    ConstantFactor,
    Cubature,
    DiagonalFactor,
    Diffusion,
    DriftNetwork,
    FiniteTimeJump,
    FullFactor,
    GaussHermite,
    Generator,
    JumpNetwork,
    MixtureDensityNetwork,
    Noise,
    PoissonJump,
    Simplex,
    trainable,
)
from nke.operators.networks import FLOOR, Fixed
from nke.systems import BimodalJumps, DoubleWell, GeometricBrownianMotion, OrnsteinUhlenbeck

FINE = GaussHermite(40)
DRIFTS = {
    "double well": lambda x: x - x**3,
    "sine": lambda x: jnp.sin(2 * x) + 0.5,
    "sigmoid": lambda x: jnp.tanh(x) - 0.3 * x**2,
}
FACTORS = {
    "bounded": lambda x: jnp.diag(0.5 + 0.3 * jnp.sin(x)),
    "linear": lambda x: jnp.diag(0.4 * x),
    "constant": lambda x: 0.7 * jnp.eye(len(x)),
}
PLANAR_DRIFTS = {
    "pendulum": lambda x: jnp.stack([x[1], -jnp.sin(x[0]) - 0.4 * x[1]]),
    "double well": DoubleWell(rate=0, dimension=2).drift,
    "rotation": lambda x: jnp.stack([x[1] * jnp.cos(x[0]), jnp.exp(-(x[0] ** 2) / 4) - x[1]]),
}


def planar_factor(x):
    """A full, state-dependent g in two dimensions."""
    return jnp.stack(
        [jnp.stack([1 + 0.5 * jnp.sin(x[1]), jnp.zeros(())]), jnp.stack([0.3 * x[0], 0.5 + 0.1 * x[0] ** 2])]
    )


def jump_rate(x):
    return 0.5 + 1.5 * jax.nn.sigmoid(x[0])


def jump_law(x):
    """Two ways to jump whose weights, lengths and widths all change along the line."""
    share = jax.nn.sigmoid(1 - x[0])
    return GaussianMixture(
        jnp.stack([share, 1 - share]),
        jnp.stack([1 + 0.2 * jnp.sin(x), -0.5 * jnp.cos(x)]),
        jnp.stack([jnp.diag(0.1 + 0.05 * jnp.sin(x) ** 2), 0.3 * jnp.eye(1)]),
    )


LINE_JUMP = PoissonJump.from_functions(jump_rate, jump_law, order=2)
PACKET = (np.array([0.6]), np.array([[0.35]]))
PLANAR_PACKET = (np.array([0.4, -0.7]), np.array([[0.5, 0.2], [0.2, 0.3]]))


def to_jax(mixture):
    return jax.tree.map(jnp.asarray, mixture)


def jax_packet(packet):
    return tuple(map(jnp.asarray, packet))


def rate_of(operator, packet, quadrature=FINE):
    return jax.jit(lambda mean, covariance: operator.rate(mean, covariance, quadrature))(*jax_packet(packet))


def image_of(operator, mixture, step, quadrature):
    """``operator.semigroup``, compiled: thousands of small steps one by one are slow."""
    return jax.jit(lambda mixture: operator.semigroup(mixture, step, quadrature))(mixture)


def plane(packet, points=161, width=9):
    """A grid of states (n, n, 2) around a packet and the packet's mass at each of them."""
    mean, covariance = packet
    spread = np.sqrt(np.diag(covariance))
    axes = [np.linspace(m - width * s, m + width * s, points) for m, s in zip(mean, spread, strict=True)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    cell = np.prod([axis[1] - axis[0] for axis in axes])
    return grid, density(packet, grid) * cell


def line(packet, points=801, width=10):
    mean, spread = packet[0][0], np.sqrt(packet[1][0, 0])
    return np.linspace(mean - width * spread, mean + width * spread, points)


def density(packet, x):
    """G_{μ,Σ}, written out."""
    centred = x - packet[0]
    form = np.einsum("...i,ij,...j->...", centred, np.linalg.inv(packet[1]), centred)
    return np.exp(-form / 2) / np.sqrt(np.linalg.det(2 * np.pi * packet[1]))


def mass_along(packet, x):
    return density(packet, x[:, None]) * (x[1] - x[0])


def along(function, states):
    """``function`` of one state at every state of a grid, as float64 NumPy."""
    flat = jax.jit(jax.vmap(function))(jnp.asarray(states.reshape(-1, states.shape[-1])))
    return np.asarray(flat).reshape(*states.shape[:-1], *flat.shape[1:])


def order_of(errors, refinement=2):
    """Observed order between the last two of a sequence of refinements."""
    return np.log(errors[-2] / errors[-1]) / np.log(refinement)


def assert_within_standard_errors(samples, truth):
    error = np.abs(samples.mean(axis=0) - truth)
    tolerance = 4 * samples.std(axis=0) / np.sqrt(len(samples)) + 1e-12
    assert (error <= tolerance).all(), (error, tolerance)


def random_network(network, seed, scale=1.0):
    """The same network with every trainable array drawn at random, the zero heads included."""
    free, rest = eqx.partition(network, trainable(network))
    rng = np.random.default_rng(seed)

    def draw(leaf):
        return jnp.asarray(scale * rng.normal(size=leaf.shape) / np.sqrt(leaf.shape[-1]), leaf.dtype)

    return eqx.combine(jax.tree.map(draw, free), rest)


def draw_noise(count, d, seed):
    rng = np.random.default_rng(seed)
    return Noise(
        jnp.asarray(rng.standard_normal((count, d))),
        jnp.asarray(rng.random(count)),
        jnp.asarray(rng.standard_normal((count, d))),
        jnp.asarray(rng.choice([-1.0, 1.0], (count, d * (d - 1) // 2))),
    )


@pytest.mark.usefixtures("double_precision")
class TestProjectedGenerators:
    """Section "Lagrangian Galerkin Projection": Π₁ ∘ L ∘ Π₁† on the packet (1, μ, Σ)."""

    @pytest.mark.parametrize("name", DRIFTS)
    def test_advection_on_the_line(self, name):
        """dμ = ⟨f, G⟩ and dΣ = 2⟨(x−μ) f, G⟩."""
        f = DRIFTS[name]
        x = line(PACKET)
        mass, values = mass_along(PACKET, x), along(f, x[:, None])[:, 0]
        rate = rate_of(Advection(f), PACKET)
        assert rate.weight == 0
        np.testing.assert_allclose(rate.mean, [mass @ values], atol=1e-6)
        np.testing.assert_allclose(rate.covariance, [[2 * mass @ ((x - 0.6) * values)]], atol=1e-6)

    @pytest.mark.parametrize("name", PLANAR_DRIFTS)
    def test_advection_in_the_plane(self, name):
        f = PLANAR_DRIFTS[name]
        grid, mass = plane(PLANAR_PACKET)
        values = along(f, grid)
        mixed = np.einsum("xy,xyi,xyj->ij", mass, grid - PLANAR_PACKET[0], values)
        rate = rate_of(Advection(f), PLANAR_PACKET)
        np.testing.assert_allclose(rate.mean, np.einsum("xy,xyi->i", mass, values), atol=1e-6)
        np.testing.assert_allclose(rate.covariance, mixed + mixed.T, atol=1e-6)

    @pytest.mark.parametrize("name", FACTORS)
    def test_diffusion_on_the_line(self, name):
        """The mean rests and dΣ = ⟨a, G⟩: a = g gᵀ, not a/2."""
        g = FACTORS[name]
        x = line(PACKET)
        tensor = along(g, x[:, None])[:, 0, 0] ** 2
        rate = rate_of(Diffusion(g), PACKET)
        assert rate.weight == 0
        np.testing.assert_array_equal(rate.mean, [0.0])
        np.testing.assert_allclose(rate.covariance, [[mass_along(PACKET, x) @ tensor]], atol=1e-6)

    def test_diffusion_in_the_plane(self):
        grid, mass = plane(PLANAR_PACKET)
        g = along(planar_factor, grid)
        truth = np.einsum("xy,xyik,xyjk->ij", mass, g, g)
        tensor = lambda x: planar_factor(x) @ planar_factor(x).T  # noqa: E731
        for diffusion in (Diffusion(planar_factor), Diffusion.from_tensor(tensor)):
            rate = rate_of(diffusion, PLANAR_PACKET)
            np.testing.assert_array_equal(rate.mean, np.zeros(2))
            np.testing.assert_allclose(rate.covariance, truth, atol=1e-6)

    def test_jumps_on_the_line(self):
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

    def test_jumps_in_the_plane(self):
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

    @pytest.mark.parametrize("name", ["double well", "sine"])
    def test_cubature_is_exact_to_third_degree(self, name):
        """⟨x − x³⟩ = μ − μ³ − 3μΣ; ⟨sin⟩ it only approximates: to Σ³/6·|f⁗…|, not to rounding."""
        rate = rate_of(Advection(DRIFTS[name]), PACKET, Cubature())
        truth = rate_of(Advection(DRIFTS[name]), PACKET)
        error = abs(rate.mean[0] - truth.mean[0])
        if name == "double well":
            assert error < 1e-12
            np.testing.assert_allclose(rate.mean[0], 0.6 - 0.6**3 - 3 * 0.6 * 0.35, rtol=1e-12)
        else:
            # E ξ⁴ = 3 against the rule's 1: the leading error is |f⁗(μ)| Σ²·(3 − 1)/24.
            assert error == pytest.approx(16 * np.sin(1.2) * 0.35**2 / 12, rel=0.5)

    @pytest.mark.parametrize(
        "quadrature", [Simplex(), Cubature(), GaussHermite(3)], ids=lambda rule: type(rule).__name__
    )
    @pytest.mark.parametrize("d", [1, 2, 3, 5])
    def test_rules_have_the_moments_of_a_gaussian(self, quadrature, d):
        """Central moments 1, 0, Σ and 0 of degrees 0 to 3, in any dimension."""
        rng = np.random.default_rng(d)
        root = rng.normal(size=(d, d))
        mean, covariance = rng.normal(size=d), root @ root.T
        points = np.asarray(jax.jit(quadrature.points)(jnp.asarray(mean), jnp.asarray(covariance)))
        weights = np.asarray(quadrature.weights(d, jnp.float64))
        centred = points - mean
        assert weights.sum() == pytest.approx(1, abs=1e-14)
        np.testing.assert_allclose(weights @ centred, 0, atol=1e-12)
        np.testing.assert_allclose(np.einsum("n,ni,nj->ij", weights, centred, centred), covariance, atol=1e-12)
        if not isinstance(quadrature, Simplex):  # d + 1 points reach the second degree only
            third = np.einsum("n,ni,nj,nk->ijk", weights, centred, centred, centred)
            np.testing.assert_allclose(third, 0, atol=1e-11)


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


LINEAR = np.array([[-0.5, 2.0], [-2.0, -1.0]])


@pytest.mark.usefixtures("double_precision")
class TestAdvectionSemigroup:
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
class TestDiffusionSemigroup:
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
class TestJumpSemigroup:
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


def mixture_density_network(seed=0, d=2, components=3):
    """Random parameters, in the precision of the moment."""
    network = MixtureDensityNetwork(
        jnp.arange(1.0, d + 1), probability=0.1, components=components, width=8, depth=1, key=jax.random.key(seed)
    )
    return random_network(network, seed, scale=0.7)


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
class TestMove:
    """Particles are draws from e^{Ls} δ_x: their sample moments are those of the semigroup."""

    COUNT = 40_000

    def moved(self, operator, x, step, seed=0):
        noise = draw_noise(self.COUNT, len(x), seed)
        return np.asarray(jax.jit(jax.vmap(lambda n: operator.move(x, step, n)))(noise))

    def assert_moments_agree(self, operator, x, step):
        image = image_of(operator, GaussianMixture.point(x), step, FINE).numpy()
        particles = self.moved(operator, x, step)
        assert_within_standard_errors(particles, image.mean)
        centred = particles - image.mean
        assert_within_standard_errors(centred[:, :, None] * centred[:, None, :], image.covariance)
        return particles, image

    def test_advection_needs_no_noise(self):
        operator, x = Advection(PLANAR_DRIFTS["pendulum"], flow_steps=4), jnp.asarray([1.0, 0.5])
        image = image_of(operator, GaussianMixture.point(x), 0.3, Cubature())
        particles = self.moved(operator, x, 0.3)[:3]
        np.testing.assert_allclose(particles, np.tile(image.means[0], (3, 1)), rtol=1e-13)
        np.testing.assert_allclose(image.covariances[0], np.zeros((2, 2)), atol=1e-15)

    def test_diffusion(self):
        g = planar_factor(jnp.asarray([0.3, 0.8]))
        self.assert_moments_agree(Diffusion(lambda x: g), jnp.asarray([1.0, 0.5]), 0.3)

    def test_diffusion_with_fewer_sources_than_coordinates(self):
        """g of shape (2, 1): particles stay on the line x + R·g."""
        g = jnp.asarray([[1.0], [-2.0]])
        particles, _ = self.assert_moments_agree(Diffusion(lambda x: g), jnp.asarray([1.0, 0.5]), 0.3)
        np.testing.assert_allclose(particles[:, 1] - 0.5, -2 * (particles[:, 0] - 1.0), atol=1e-12)

    def test_state_dependent_diffusion_spreads_as_it_goes(self):
        """Covariance s·a + s²/4·(a:∇²)a + O(s³), as d⟨a⟩/ds = ½⟨(a:∇²)a⟩; the rest is 1/20 of a standard error."""
        x, step = jnp.asarray([0.5, -0.2]), 0.1
        tensor = lambda x: planar_factor(x) @ planar_factor(x).T  # noqa: E731
        a, bend = tensor(x), jnp.einsum("ijkl,kl->ij", jax.hessian(tensor)(x), tensor(x))
        centred = self.moved(Diffusion(planar_factor), x, step) - np.asarray(x)
        products = centred[:, :, None] * centred[:, None, :]
        assert_within_standard_errors(products, np.asarray(step * a + step**2 / 4 * bend))

    @pytest.mark.parametrize("order", [1, 3])
    def test_poisson_jumps(self, order):
        jump = PoissonJump.from_functions(jump_rate, jump_law, order=order)
        particles, image = self.assert_moments_agree(jump, jnp.asarray([0.4]), 0.6)
        assert_within_standard_errors((particles == 0.4).astype(float)[:, 0], image.weights[0])
        wave = np.exp(1j * particles[:, 0])
        truth = sum(
            w * np.exp(1j * m[0] - c[0, 0] / 2)
            for w, m, c in zip(image.weights, image.means, image.covariances, strict=True)
        )
        assert_within_standard_errors(wave.real, truth.real)
        assert_within_standard_errors(wave.imag, truth.imag)

    def test_finite_time_jumps(self):
        network = mixture_density_network()
        self.assert_moments_agree(FiniteTimeJump(network, 0.05), jnp.asarray([0.4, -0.2]), 0.05)


FACTOR_CLASSES = [FullFactor, DiagonalFactor, ConstantFactor]
START = np.array([[0.5, 0.0, 0.0], [0.2, 1.5, 0.0], [-0.3, 0.4, 2.0]])


class TestNetworks:
    def states(self, count=16, d=3):
        return jnp.asarray(3 * np.random.default_rng(0).normal(size=(count, d)))

    def factor(self, kind, seed=0):
        return kind(jnp.asarray(START), 8, 1, key=jax.random.key(seed))

    @staticmethod
    @eqx.filter_jit
    def evaluate(function, states):
        return jax.vmap(function)(states)

    def tensors(self, network):
        return np.asarray(self.evaluate(Diffusion(network).tensor, self.states()))

    @pytest.mark.parametrize("kind", FACTOR_CLASSES)
    @pytest.mark.parametrize("seed", [0, 1, 2])
    def test_tensors_are_symmetric_positive_definite(self, kind, seed, double_precision):
        tensor = self.tensors(random_network(self.factor(kind), seed))
        np.testing.assert_allclose(tensor, np.swapaxes(tensor, -1, -2), rtol=1e-12)
        assert (np.linalg.eigvalsh(tensor) > 0).all()
        # Each diagonal entry of the factor is at least FLOOR times that of the start.
        assert (np.linalg.det(tensor) > (FLOOR**3 * np.diag(START).prod()) ** 2).all()

    @pytest.mark.parametrize("kind", FACTOR_CLASSES)
    def test_state_dependence_and_shape(self, kind):
        tensor = self.tensors(random_network(self.factor(kind), 0))
        spread = np.ptp(tensor, axis=0)
        off_diagonal = ~np.eye(3, dtype=bool)
        if kind is ConstantFactor:
            np.testing.assert_array_equal(spread, np.zeros((3, 3)))
        else:
            assert (np.diagonal(spread) > 1e-3).all()
        if kind is DiagonalFactor:
            np.testing.assert_array_equal(tensor[:, off_diagonal], 0)
        else:
            assert (np.abs(tensor[:, off_diagonal]) > 0).all()

    @pytest.mark.parametrize("kind", FACTOR_CLASSES)
    def test_training_begins_at_the_given_tensor(self, kind):
        """Heads at zero: a = (1 + FLOOR)² start startᵀ everywhere, its diagonal for diagonal noise."""
        truth = START @ START.T * (1 + FLOOR) ** 2
        if kind is DiagonalFactor:
            truth = np.diag(np.diag(truth))
        tensor = self.tensors(self.factor(kind))
        np.testing.assert_allclose(tensor, np.broadcast_to(truth, tensor.shape), rtol=1e-5, atol=1e-6)

    def test_drift_begins_at_zero_and_carries_its_scale(self):
        scale = np.array([1.0, 10.0, 0.1])
        network = DriftNetwork(jnp.asarray(scale), 8, 1, key=jax.random.key(0))
        np.testing.assert_array_equal(self.evaluate(network, self.states()), np.zeros((16, 3)))
        drawn = random_network(network, 0)
        unit = eqx.tree_at(lambda n: n.scale.value, drawn, jnp.ones(3))
        values = [np.asarray(self.evaluate(n, self.states())) for n in (drawn, unit)]
        np.testing.assert_allclose(values[0], scale * values[1], rtol=1e-5)
        assert np.ptp(values[1], axis=0).min() > 0.1

    def test_mixture_density_network_begins_at_the_given_probability(self):
        network = MixtureDensityNetwork(jnp.asarray([1.0, 2.0]), 0.2, 3, 8, 1, key=jax.random.key(0))
        head = jax.tree.map(np.asarray, self.evaluate(network, self.states(d=2)))
        np.testing.assert_allclose(np.exp(head.log_no_jump), 0.8, rtol=1e-5)
        np.testing.assert_allclose(head.shares, 1 / 3, rtol=1e-6)
        truth = (1 + FLOOR) ** 2 * np.diag([1.0, 4.0])
        np.testing.assert_allclose(head.covariances, np.broadcast_to(truth, (16, 3, 2, 2)), rtol=1e-5)
        assert len(np.unique(head.means[0, :, 0])) == 3

    def test_mixture_density_network_is_a_mixture_for_any_parameters(self):
        head = jax.tree.map(np.asarray, self.evaluate(mixture_density_network(seed=3), self.states(d=2)))
        assert (head.log_no_jump < 0).all()
        np.testing.assert_allclose(head.shares.sum(axis=-1), 1, atol=1e-6)
        # det γ is the squared product of the factor's diagonal, each at least FLOOR·scale.
        assert (np.linalg.det(head.covariances.astype(np.float64)) > (FLOOR**2 * 2) ** 2).all()

    @pytest.mark.parametrize("keep", [[0, 2], [1], [2, 0]])
    def test_pruning_keeps_the_kept(self, keep):
        """Same no-jump weight, means and covariances; shares divided by what is left."""
        network = mixture_density_network(seed=1)
        smaller = network.prune(keep)
        assert smaller.components == len(keep)
        before, after = (jax.tree.map(np.asarray, self.evaluate(n, self.states(d=2))) for n in (network, smaller))
        shares = before.shares[:, keep]
        np.testing.assert_allclose(after.log_no_jump, before.log_no_jump, rtol=1e-5)
        np.testing.assert_allclose(after.shares, shares / shares.sum(axis=-1, keepdims=True), rtol=1e-5)
        np.testing.assert_allclose(after.means, before.means[:, keep], rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(after.covariances, before.covariances[:, keep], rtol=1e-4, atol=1e-4)

    @pytest.mark.parametrize(
        ("build", "fixed"),
        [
            (lambda key: DriftNetwork(jnp.ones(3), 8, 1, key=key), 1),
            *((lambda key, kind=kind: kind(jnp.asarray(START), 8, 1, key=key), 1) for kind in FACTOR_CLASSES),
            (lambda key: MixtureDensityNetwork(jnp.ones(3), 0.1, 2, 8, 1, key=key), 1),
            (lambda key: JumpNetwork(jnp.ones(3), 0.1 * jnp.eye(3), 1.0, 2, 8, 1, key=key), 3),
        ],
        ids=["drift", "full", "diagonal", "constant", "mixture density", "jump"],
    )
    def test_fixed_arrays_are_not_trained(self, build, fixed):
        """The gradient reaches every free array and no ``Fixed`` one."""
        network = build(jax.random.key(0))
        free, rest = eqx.partition(network, trainable(network))
        arrays = jax.tree.leaves(eqx.filter(network, eqx.is_inexact_array))
        held = [
            leaf.value
            for leaf in jax.tree.leaves(network, is_leaf=lambda leaf: isinstance(leaf, Fixed))
            if isinstance(leaf, Fixed)
        ]
        assert len(held) == fixed
        kept_back = jax.tree.leaves(eqx.filter(rest, eqx.is_inexact_array))
        for array, other in zip(held, kept_back, strict=True):
            np.testing.assert_array_equal(array, other)
        assert len(jax.tree.leaves(free)) == len(arrays) - fixed
        drawn = eqx.partition(random_network(network, 5), trainable(network))[0]

        def loss(free):
            return sum(jnp.sum(jnp.sin(leaf)) for leaf in jax.tree.leaves(eqx.combine(free, rest)(jnp.ones(3))))

        gradients = jax.tree.leaves(jax.jit(jax.grad(loss))(drawn))
        assert len(gradients) == len(arrays) - fixed
        assert all(np.abs(gradient).max() > 0 for gradient in gradients)
