"""The propositions of the paper's appendix "Lifted Dynamics", measured on this package's operators.

(a) Packets stay Gaussian for short times; (b) small jumps act as advection and diffusion; (c) jump laws may be
frozen at a packet's centre. Everything is quadrature: no particles, no sampling error.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.linalg import expm
from scipy.signal import fftconvolve

from nke.mixtures import GaussianMixture
from nke.operators import (
    Advection,
    Cubature,
    Diffusion,
    FiniteTimeJump,
    GaussHermite,
    Generator,
    MixtureDensityNetwork,
    Noise,
    PoissonJump,
    Strang,
)
from nke.systems import BimodalJumps

pytestmark = pytest.mark.usefixtures("double_precision")

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(32)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


def slope_of(sizes, errors):
    """Exponents between successive points of a log–log plot."""
    return np.diff(np.log(errors)) / np.diff(np.log(sizes))


class TestShortTimeGaussianity:
    """Lemma "Growth of higher cumulants", for bounded f ∈ C³ and a ∈ C²."""

    MEAN, VARIANCE = 0.4, 0.3
    STEPS = 2.0 ** -np.arange(4, 12)

    @staticmethod
    def drift(x):
        return jnp.sin(2 * x) + 0.5 * jnp.cos(x)

    @staticmethod
    def factor(x):
        return jnp.diag(0.6 + 0.3 * jnp.sin(x))

    def cumulants(self, constant_noise):
        """κ₃ and κ₄ of the image of G_{μ,Σ} under one Strang step, by quadrature in x and ξ."""
        g = (lambda x: 0.6 * jnp.eye(1)) if constant_noise else self.factor
        generator = Generator(Advection(self.drift), Diffusion(g))
        start = self.MEAN + np.sqrt(self.VARIANCE) * NODES

        def move(x, noise, step):
            return Strang().move(
                generator, x[None], step, Noise(noise[None], jnp.zeros(()), jnp.zeros(1), jnp.zeros(0))
            )[0]

        ends = jax.jit(jax.vmap(jax.vmap(jax.vmap(move, (None, 0, None)), (0, None, None)), (None, None, 0)))(
            jnp.asarray(start), jnp.asarray(NODES), jnp.asarray(self.STEPS)
        )
        mass = np.outer(WEIGHTS, WEIGHTS)
        ends = np.asarray(ends) - np.einsum("xq,sxq->s", mass, ends)[:, None, None]
        second, third, fourth = (np.einsum("xq,sxq->s", mass, ends**n) for n in (2, 3, 4))
        return third, fourth - 3 * second**2

    def rates(self, constant_noise):
        """dκ₃/dt and dκ₄/dt at t = 0 from ⟨L*φ, G⟩ on a grid, in closed form for a Gaussian start."""
        x = np.linspace(-6, 7, 2601)
        mass = (
            np.exp(-((x - self.MEAN) ** 2) / (2 * self.VARIANCE)) / np.sqrt(2 * np.pi * self.VARIANCE) * (x[1] - x[0])
        )
        y = x - self.MEAN
        f = np.sin(2 * x) + 0.5 * np.cos(x)
        a = np.full_like(x, 0.36) if constant_noise else (0.6 + 0.3 * np.sin(x)) ** 2
        second = mass @ (2 * y * f + a)
        third = mass @ (3 * y**2 * f + 3 * y * a) - 3 * self.VARIANCE * (mass @ f)
        fourth = mass @ (4 * y**3 * f + 6 * y**2 * a) - 6 * self.VARIANCE * second
        return third, fourth

    @pytest.mark.parametrize("constant_noise", [True, False], ids=["additive", "state-dependent"])
    def test_higher_cumulants_grow_linearly(self, constant_noise):
        """κ(s) = O(s): slope one, and κ(s)/s bounded by, indeed tending to, the rate of the generator."""
        for cumulant, rate in zip(self.cumulants(constant_noise), self.rates(constant_noise), strict=True):
            slopes = slope_of(self.STEPS, np.abs(cumulant))
            assert np.abs(slopes[-3:] - 1).max() < 0.03, slopes
            # Second order terms of relative size 6s at s = 1/16.
            assert np.abs(cumulant / self.STEPS).max() < 1.5 * abs(rate)
            assert cumulant[-1] / self.STEPS[-1] == pytest.approx(rate, rel=0.01)

    def test_a_linear_drift_makes_no_cumulants(self):
        """Control: the same measurement on f = −x with additive noise finds nothing."""
        linear = type("Linear", (type(self),), {"drift": staticmethod(lambda x: -x)})()
        third, fourth = linear.cumulants(constant_noise=True)
        assert np.abs(third).max() < 1e-12
        assert np.abs(fourth).max() < 1e-12

    def test_relative_entropy_is_second_order(self):
        """ "Second-order error in relative entropy": KL(p_s ‖ q_s) = O(s²), q_s moved by ``Generator.rate``."""
        generator = Generator(Advection(self.drift), Diffusion(self.factor))
        mean, variance = jnp.asarray([self.MEAN]), jnp.asarray([[self.VARIANCE]])
        rate = jax.jit(lambda: generator.rate(mean, variance, GaussHermite(40)))()
        # The forward operator by Fourier differentiation on an interval 15 standard deviations wide.
        count, length = 256, 16.0
        x = self.MEAN - length / 2 + length * np.arange(count) / count
        modes = 2 * np.pi * np.fft.fftfreq(count, length / count)
        modes[count // 2] = 0
        transform = np.fft.fft(np.eye(count), axis=0)
        first = np.fft.ifft(1j * modes[:, None] * transform, axis=0).real
        f, a = np.sin(2 * x) + 0.5 * np.cos(x), (0.6 + 0.3 * np.sin(x)) ** 2
        forward = -first * f + first @ first * a / 2
        start = np.exp(-((x - self.MEAN) ** 2) / (2 * self.VARIANCE)) / np.sqrt(2 * np.pi * self.VARIANCE)
        steps, entropies = 2.0 ** -np.arange(5, 10), []
        for step in steps:
            p = expm(step * forward) @ start
            moved, spread = self.MEAN + step * rate.mean[0], self.VARIANCE + step * rate.covariance[0, 0]
            log_q = -((x - moved) ** 2) / (2 * spread) - np.log(2 * np.pi * spread) / 2
            seen = p > 1e-13  # below lies only rounding
            entropies.append(np.sum(p[seen] * (np.log(p[seen]) - np.asarray(log_q)[seen])) * length / count)
        slopes = slope_of(steps, entropies)
        assert np.abs(slopes[-2:] - 2).max() < 0.1, (entropies, slopes)


def random_kernel(seed, d=2, components=3):
    """Numbers behind a state-dependent jump measure: rate, shares, lengths and widths."""
    rng = np.random.default_rng(seed)
    means, roots = rng.normal(size=(components, d)), rng.normal(size=(components, d, d)) / 2
    return rng.uniform(0.5, 3), rng.normal(size=(components, d)), means, roots @ np.swapaxes(roots, -1, -2)


def kernel_jump(kernel, size):
    """The measure with every jump ``size`` times as long."""
    rate, pull, means, covariances = kernel

    def law(x):
        return GaussianMixture(jax.nn.softmax(pull @ x), size * means, size**2 * covariances)

    return PoissonJump.from_functions(lambda x: rate * (1 + jax.nn.sigmoid(x[0])), law)


@jax.jit
def _measure(kernel, size, x):
    jump = kernel_jump(kernel, size)
    frozen = PoissonJump.from_functions(lambda _: jump.intensity(x), lambda _: jump.law(x))
    change = frozen.rate(x, jnp.zeros((len(x), len(x))), Cubature())
    return jump.intensity(x), jump.law(x), change.mean, change.covariance


def measure(kernel, size, x):
    """λ(x), law at x, and β, γ as the generator has them: its action on a packet of no width."""
    rate, law, beta, gamma = _measure(jax.tree.map(jnp.asarray, kernel), size, jnp.asarray(x))
    return float(rate), law.numpy(), np.asarray(beta), np.asarray(gamma)


class TestSmallJumps:
    """Proposition "Small-jump diffusion approximation" with C = 1/6, on waves φ(x) = sin(k·x + c).

    For a wave ‖∇³φ‖∞ = |k|³, and J*φ follows from the characteristic function of the law.
    """

    def remainder(self, kernel, size, x, k, phase):
        """J*φ − β·∇φ − ½γ:∇²φ at x, and the bound |k|³/6·∫|y|³ h(x, dy)."""
        rate, law, beta, gamma = measure(kernel, size, x)
        wave = np.exp(1j * (k @ x + phase))
        transform = sum(
            w * np.exp(1j * k @ m - k @ c @ k / 2)
            for w, m, c in zip(law.weights, law.means, law.covariances, strict=True)
        )
        jumped = (rate * wave * (transform - 1)).imag
        smooth = beta @ k * wave.real - k @ gamma @ k * wave.imag / 2
        nodes = np.stack(np.meshgrid(NODES, NODES, indexing="ij"), axis=-1).reshape(-1, 2)
        masses = np.outer(WEIGHTS, WEIGHTS).ravel()
        third = sum(
            w * masses @ np.linalg.norm(m + nodes @ np.linalg.cholesky(c).T, axis=-1) ** 3
            for w, m, c in zip(law.weights, law.means, law.covariances, strict=True)
        )
        return abs(jumped - smooth), np.linalg.norm(k) ** 3 / 6 * rate * third

    def test_the_remainder_is_bounded(self):
        """On random kernels, states, waves and sizes, never above the bound and now and then near it."""
        rng, ratios = np.random.default_rng(0), []
        for seed in range(5):
            kernel = random_kernel(seed)
            for size in (0.01, 0.1, 0.5, 1.0):
                x, k = rng.normal(size=2), 2 * rng.normal(size=2)
                remainder, bound = self.remainder(kernel, size, x, k, rng.uniform(0, 2 * np.pi))
                assert remainder <= bound + 1e-13
                ratios.append(remainder / bound)
        assert max(ratios) > 0.05  # the bound is of the right size, not merely huge

    def test_the_remainder_falls_with_the_cube_of_the_jumps(self):
        sizes = 2.0 ** -np.arange(3, 9)
        x, k = np.array([0.3, -0.6]), np.array([1.2, 0.8])
        for seed in range(3):
            remainders = [self.remainder(random_kernel(seed), size, x, k, 0.4)[0] for size in sizes]
            slopes = slope_of(sizes, remainders)
            assert np.abs(slopes[-2:] - 3).max() < 0.1, slopes

    def test_a_covariance_in_place_of_the_raw_moment_is_only_second_order(self):
        """γ is the raw second moment of h: with the centred one, the misfit is ½(k·β)²/λ, of order ε²."""
        kernel, k = random_kernel(0), np.array([1.2, 0.8])
        sizes, misfits = 2.0 ** -np.arange(3, 9), []
        for size in sizes:
            rate, law, beta, gamma = measure(kernel, size, np.array([0.3, -0.6]))
            misfits.append(k @ (gamma - rate * law.covariance) @ k)
            assert misfits[-1] == pytest.approx((k @ beta) ** 2 / rate, rel=1e-9)
        assert np.abs(slope_of(sizes, misfits) - 2).max() < 1e-6

    def test_truncated_kernels(self):
        """Jumps below a random ε only, as the proposition is stated, by polar quadrature of ``law.log_prob``."""
        rng = np.random.default_rng(1)
        radii, radial = np.polynomial.legendre.leggauss(40)
        angles = 2 * np.pi * np.arange(64) / 64
        unit = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
        for seed in range(4):
            epsilon, k, phase = rng.uniform(0.05, 2), 2 * rng.normal(size=2), rng.uniform(0, 2 * np.pi)
            x = rng.normal(size=2)
            law = measure(random_kernel(seed), 1.0, x)[1]
            r = epsilon * (radii + 1) / 2
            y = (r[:, None, None] * unit).reshape(-1, 2)
            h = np.exp(law.log_prob(y)) * np.repeat(radial * epsilon / 2 * r, 64) * 2 * np.pi / 64
            wave = np.exp(1j * (k @ x + phase))
            jumped = h @ (wave * (np.exp(1j * y @ k) - 1)).imag
            smooth = h @ (y @ k) * wave.real - h @ (y @ k) ** 2 / 2 * wave.imag
            bound = np.linalg.norm(k) ** 3 / 6 * h @ np.linalg.norm(y, axis=-1) ** 3
            assert abs(jumped - smooth) <= bound
            assert 0 < h.sum() < 1


class TestJumpFreezing:
    """Proposition "Freezing the finite-time jump operator": ‖H_s G − H_s(μ) * G‖₁ ≤ L_s √tr Σ."""

    STEP = 0.5
    WIDTHS = (0.8, 0.4, 0.2, 0.1, 0.05)
    LINE = np.linspace(-20, 20, 4001)

    def poisson(self):
        def law(x):
            share = jax.nn.sigmoid(2 * x[0])
            return GaussianMixture(
                jnp.stack([share, 1 - share]),
                jnp.stack([1 + 0.5 * jnp.tanh(x), -1.5 * jnp.ones(1)]),
                jnp.stack([jnp.diag(0.2 + 0.1 * jnp.tanh(x)), 0.3 * jnp.eye(1)]),
            )

        return PoissonJump.from_functions(lambda x: 0.5 + 1.5 * jax.nn.sigmoid(2 * x[0]), law)

    def finite_time(self):
        """A mixture density network with random heads."""
        network = MixtureDensityNetwork(jnp.ones(1), 0.4, 2, 8, 1, key=jax.random.key(0))
        shape = network.mlp.layers[-1].weight.shape
        heads = jnp.asarray(0.4 * np.random.default_rng(0).normal(size=shape))
        return FiniteTimeJump(eqx.tree_at(lambda n: n.mlp.layers[-1].weight, network, heads), self.STEP)

    def compiled(self, jump):
        """H_s at many states, and the frozen image of a packet."""
        displacement = jax.jit(jax.vmap(lambda x: jump.displacement(x, self.STEP)))
        semigroup = jax.jit(lambda packet: jump.semigroup(packet, self.STEP, Cubature()))
        return (
            lambda x: displacement(jnp.asarray(x[:, None])).numpy(),
            lambda packet: semigroup(jax.tree.map(jnp.asarray, packet)).numpy(),
        )

    def lipschitz(self, displacement):
        """L_s: the steepest change of H_s(x, ·) in L1, atom included, between neighbouring states."""
        x, y = np.linspace(-5, 5, 201), np.linspace(-20, 20, 1601)
        law = displacement(x)
        stay = law.weights[:, 0]
        moved = GaussianMixture(law.weights[:, 1:] / (1 - stay[:, None]), law.means[:, 1:], law.covariances[:, 1:])
        rest = (1 - stay) * np.exp(moved.log_prob(y[:, None, None]))
        change = np.abs(np.diff(stay)) + trapezoid(np.abs(np.diff(rest, axis=1)), y, axis=0)
        return change.max() / (x[1] - x[0])

    def distance(self, displacement, semigroup, mean, width):
        """L1 distance between the exact image ∫ H_s(x, z−x) G(x) dx and the frozen one."""
        x, z = mean + width * np.linspace(-8, 8, 201), self.LINE
        law = displacement(x)
        mass = np.exp(-((x - mean) ** 2) / (2 * width**2)) / np.sqrt(2 * np.pi) * (x[1] - x[0]) / width
        # Jumped mass from every x of the grid; what did not jump stays a density in z.
        weights, means = mass[:, None] * law.weights[:, 1:], x[:, None] + law.means[:, 1:, 0]
        spread = np.sqrt(law.covariances[:, 1:, 0, 0])
        exact = sum(
            w / (np.sqrt(2 * np.pi) * s) * np.exp(-(((z - m) / s) ** 2) / 2)
            for w, m, s in zip(weights.ravel(), means.ravel(), spread.ravel(), strict=True)
        )
        packet = np.exp(-(((z - mean) / width) ** 2) / 2) / (np.sqrt(2 * np.pi) * width)
        exact += displacement(z).weights[:, 0] * packet
        assert trapezoid(exact, z) == pytest.approx(1, abs=1e-6)  # the grid resolves and holds it
        frozen = semigroup(GaussianMixture([1.0], [[mean]], [[[width**2]]]))
        return trapezoid(np.abs(exact - np.exp(frozen.log_prob(z[:, None]))), z)

    @pytest.mark.parametrize("kind", ["poisson", "finite_time"])
    def test_on_the_line(self, kind):
        """Under the bound for every packet, and falling to zero at least in proportion to its width.

        What jumped is smoothed by the law and errs by O(tr Σ); the mass (α₀(z) − α₀(μ)) G(z) that stays errs
        by |α₀'(μ)|·√(2/π)·width, the leading term.
        """
        jump = getattr(self, kind)()
        displacement, semigroup = self.compiled(jump)
        bound = self.lipschitz(displacement)
        widths = np.array(self.WIDTHS)
        for mean in (-1.0, 0.2):
            errors = np.array([self.distance(displacement, semigroup, mean, width) for width in widths])
            assert (errors < bound * widths).all(), (errors, bound)
            assert (slope_of(widths, errors)[-2:] > 0.95).all(), slope_of(widths, errors)
            stay = displacement(mean + np.linspace(-1e-4, 1e-4, 201)).weights[:, 0]
            leading = np.abs(stay[-1] - stay[0]) / 2e-4 * np.sqrt(2 / np.pi) * widths
            # The rest is of second order: once packets are narrow it falls by four with every halving.
            rest = np.abs(errors - leading)
            assert (rest[-2:] < 0.4 * rest[-3:-1]).all(), (errors, leading)

    def test_in_the_plane(self):
        """``BimodalJumps``: rate along x₁, shares along x₂; packets of unequal axes with √tr Σ = width."""
        system = BimodalJumps()
        jump = PoissonJump.from_functions(system.jump_rate, system.jump_law)
        displacement = jax.jit(jax.vmap(lambda x: jump.displacement(x, self.STEP)))
        semigroup = jax.jit(lambda packet: jump.semigroup(packet, self.STEP, Cubature()))
        axis = np.linspace(-5, 5, 201)
        grid, cell = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1), 0.05**2
        # No jump and one jump: there the weights alone depend on x, so that the exact image is a convolution.
        masses = np.asarray(displacement(jnp.asarray(grid.reshape(-1, 2))).weights)[:, :3].reshape(201, 201, 3)
        steepness = np.stack(np.gradient(masses, 0.05, axis=(0, 1)), axis=-1)
        turn = np.linspace(0, np.pi, 19)
        bound = np.abs(steepness @ np.stack([np.cos(turn), np.sin(turn)])).sum(axis=2).max()
        mean = np.array([0.3, -0.2])
        law = system.jump_law(mean)
        kernels = [
            np.exp(GaussianMixture([1.0], law.means[k : k + 1], law.covariances[k : k + 1]).log_prob(grid))
            for k in range(2)
        ]
        errors, widths = [], np.array([0.8, 0.4, 0.2])
        for width in widths:
            covariance = width**2 * np.array([[0.7, 0.3], [0.3, 0.3]])
            packet = GaussianMixture([1.0], mean[None], covariance[None])
            density = np.exp(packet.log_prob(grid))
            exact = masses[..., 0] * density
            for k, kernel in enumerate(kernels):
                exact += fftconvolve(masses[..., k + 1] * density, kernel, mode="same") * cell
            image = jax.tree.map(np.asarray, semigroup(jax.tree.map(jnp.asarray, packet)))
            kept = image.weights[:3]
            frozen = GaussianMixture(kept / kept.sum(), image.means[:3], image.covariances[:3])
            errors.append(np.abs(exact - kept.sum() * np.exp(frozen.log_prob(grid))).sum() * cell)
        assert (errors < bound * widths).all(), (errors, bound)
        assert slope_of(widths, errors)[-1] > 0.95, errors
        assert errors[0] > 0.1 * bound * widths[0]  # the bound is of the right size
