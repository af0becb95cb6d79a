"""Lie–Trotter and Strang splitting: measured weak orders, exact laws where they are known, and unit mass.

Weak orders are measured without sampling error. On the circle the backward transfer

    u_n(x) = Σ_q w_q u_{n+1}(move(x, s, ξ_q)),   u_N = φ,

takes Gauss–Hermite nodes ξ_q for the noise and trigonometric interpolation for u, and the truth
e^{TL*}φ comes from the exponential of the Fourier differentiation matrix: both are right to about 1e-10, and
what remains is the error of the splitting. Errors are maxima over all start states x, so that no test function
or state can hide the leading term by symmetry.
"""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import expm

from nke.mixtures import GaussianMixture
from nke.operators import (
    Advection,
    Cubature,
    Diffusion,
    GaussHermite,
    Generator,
    LieTrotter,
    Noise,
    PoissonJump,
    Strang,
)
from nke.systems import BimodalJumps, DoubleWell, OrnsteinUhlenbeck

SPLITTINGS = [LieTrotter(), Strang()]
every_splitting = pytest.mark.parametrize("splitting", SPLITTINGS, ids=lambda s: type(s).__name__)

STATES = 64  # on the circle: Fourier modes up to 32 resolve the functions below to 1e-13
CIRCLE = 2 * np.pi * np.arange(STATES) / STATES
MODES = np.fft.fftfreq(STATES, 1 / STATES)
HORIZON = 1.0
STEPS = (4, 8, 16, 32)
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(12)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


def drift(x):
    return jnp.sin(x) + 0.5 * jnp.cos(2 * x)


def additive(x):
    return 0.6 * jnp.eye(1)


def multiplicative(x):
    return jnp.diag(0.6 + 0.3 * jnp.sin(x + 0.5))


def observable(x):
    """Neither even nor odd, with no symmetry in common with the drift."""
    return np.cos(x) + 0.5 * np.sin(2 * x + 0.3)


def fourier_operator(multiplier):
    """The matrix on the circle's states that multiplies mode k by ``multiplier(k)``."""
    transform = np.fft.fft(np.eye(STATES), axis=0)
    return np.fft.ifft(multiplier(MODES)[:, None] * transform, axis=0).real


def at_states(function):
    return np.asarray(jax.jit(jax.vmap(function))(jnp.asarray(CIRCLE[:, None])))


def exact(generator, rate=0.0, mean=0.0, variance=0.0, time=HORIZON):
    """e^{tL*}φ for f, a of the generator and jumps of constant rate and Gaussian law."""
    # The derivative of the highest mode is not defined on the grid; it carries nothing here.
    first = fourier_operator(lambda k: 1j * k * (np.abs(k) < STATES / 2))
    second = fourier_operator(lambda k: -(k**2))
    f = at_states(generator.advection.drift)[:, 0]
    a = at_states(generator.diffusion.tensor)[:, 0, 0]
    backward = f[:, None] * first + a[:, None] / 2 * second
    backward += rate * fourier_operator(lambda k: np.exp(1j * k * mean - variance * k**2 / 2) - 1)
    return expm(time * backward) @ observable(CIRCLE)


def interpolation(points):
    """Matrix (n, STATES) that evaluates a trigonometric polynomial at any points."""
    modes = np.exp(1j * points[:, None] * MODES)
    return (modes @ np.fft.fft(np.eye(STATES), axis=0)).real / STATES


@eqx.filter_jit
def ends_from_the_circle(splitting, generator, step, diffusion, choice, jump):
    """Where one step leads from every state with every node of the noise; compiled once for all steps."""

    def end(x, diffusion, choice, jump):
        return splitting.move(generator, x, step, Noise(diffusion[None], choice, jump[None], jnp.zeros(0)))[0]

    return jax.vmap(jax.vmap(end, (None, 0, 0, 0)), (0, None, None, None))(
        jnp.asarray(CIRCLE[:, None]), diffusion, choice, jump
    )


def weak_error(splitting, generator, steps, truth, choices=((0.0, 1.0),)):
    """Largest error of E φ(X_T) over all starts; ``choices`` are quantiles and masses of the jump counts."""
    jumps = (NODES, WEIGHTS) if len(choices) > 1 else (np.zeros(1), np.ones(1))
    quantiles, chances = (np.array(column) for column in zip(*choices, strict=True))
    grid = np.stack(np.meshgrid(NODES, quantiles, jumps[0], indexing="ij")).reshape(3, -1)
    masses = np.einsum("i,j,k->ijk", WEIGHTS, chances, jumps[1]).ravel()
    ends = ends_from_the_circle(splitting, generator, jnp.asarray(HORIZON / steps), *map(jnp.asarray, grid))
    transfer = masses @ interpolation(np.asarray(ends).ravel()).reshape(STATES, len(masses), STATES)
    return np.abs(np.linalg.matrix_power(transfer, steps) @ observable(CIRCLE) - truth).max()


def orders_of(errors):
    return np.log2(np.divide(errors[:-1], errors[1:]))


@pytest.mark.usefixtures("double_precision")
class TestWeakOrder:
    def errors(self, splitting, generator):
        truth = exact(generator)
        return [weak_error(splitting, generator, steps, truth) for steps in STEPS]

    def test_the_reference_solves_the_backward_equation(self):
        """d/dt e^{tL*}φ at 0 is f φ' + ½ a φ'', written out; central differences over ±1e-3 see it to 1e-4."""
        generator = Generator(Advection(drift), Diffusion(multiplicative))
        slope = -np.sin(CIRCLE) + np.cos(2 * CIRCLE + 0.3)
        bend = -np.cos(CIRCLE) - 2 * np.sin(2 * CIRCLE + 0.3)
        f, g = np.sin(CIRCLE) + 0.5 * np.cos(2 * CIRCLE), 0.6 + 0.3 * np.sin(CIRCLE + 0.5)
        difference = (exact(generator, time=1e-3) - exact(generator, time=-1e-3)) / 2e-3
        np.testing.assert_allclose(difference, f * slope + g**2 / 2 * bend, atol=1e-4)

    def test_strang_is_second_order_for_additive_noise(self):
        """The paper's claim: e^{As/2} e^{Ds} e^{As/2} is second order in the absence of jumps."""
        errors = self.errors(Strang(), Generator(Advection(drift), Diffusion(additive)))
        assert (orders_of(errors) > 1.8).all(), (errors, orders_of(errors))
        assert orders_of(errors)[-1] < 2.3

    def test_lie_trotter_is_first_order_for_additive_noise(self):
        errors = self.errors(LieTrotter(), Generator(Advection(drift), Diffusion(additive)))
        orders = orders_of(errors)
        assert ((orders > 0.8) & (orders < 1.3)).all(), (errors, orders)

    def test_strang_is_second_order_for_state_dependent_noise(self):
        """Since the diffusion sub-step is; on the circle, with a drift and noise of one source."""
        errors = self.errors(Strang(), Generator(Advection(drift), Diffusion(multiplicative)))
        assert (orders_of(errors) > 1.8).all(), (errors, orders_of(errors))

    def test_lie_trotter_is_first_order_for_state_dependent_noise(self):
        errors = self.errors(LieTrotter(), Generator(Advection(drift), Diffusion(multiplicative)))
        orders = orders_of(errors)
        assert ((orders > 0.7) & (orders < 1.4)).all(), (errors, orders)

    def test_strang_is_second_order_with_jumps_that_are_the_same_everywhere(self):
        """Then J and D commute and only A is split; the Poisson series is cut after s² per step."""
        rate, mean, variance = 0.8, 0.7, 0.2
        law = GaussianMixture(jnp.ones(1), jnp.full((1, 1), mean), jnp.full((1, 1, 1), variance))
        jump = PoissonJump.from_functions(lambda x: jnp.asarray(rate), lambda x: law, order=2)
        generator = Generator(Advection(drift), Diffusion(additive), jump)
        truth = exact(generator, rate, mean, variance)
        weights_of = jax.jit(lambda step: jump.displacement(jnp.zeros(1), step).weights)
        errors = []
        for steps in STEPS:
            weights = np.asarray(weights_of(HORIZON / steps))
            quantiles = np.cumsum(weights) - weights / 2  # one inside each component
            errors.append(weak_error(Strang(), generator, steps, truth, list(zip(quantiles, weights, strict=True))))
        assert (orders_of(errors) > 1.8).all(), (errors, orders_of(errors))

    def test_the_flow_needs_only_to_be_accurate(self):
        """With more Runge–Kutta steps per half step the errors stay: they are those of the splitting."""
        generators = [Generator(Advection(drift, flow_steps=n), Diffusion(additive)) for n in (1, 4)]
        truth = exact(generators[0])
        coarse, fine = (weak_error(Strang(), generator, 8, truth) for generator in generators)
        assert coarse == pytest.approx(fine, rel=0.02)


MATRIX = np.array([[-0.5, 2.0], [-1.0, -1.5]])
TENSOR = np.array([[0.5, 0.2], [0.2, 0.3]])


def linear_generator(jump=None, flow_steps=8):
    matrix, factor = jnp.asarray(MATRIX), jnp.asarray(np.linalg.cholesky(TENSOR))
    return Generator(Advection(lambda x: matrix @ x, flow_steps), Diffusion(lambda x: factor), jump)


def linear_law(mean, covariance, time):
    """e^{At}μ and e^{At}Σe^{Atᵀ} + ∫ e^{Au} a e^{Auᵀ} du, by Van Loan's block exponential."""
    d = len(MATRIX)
    block = np.block([[-MATRIX, TENSOR], [np.zeros((d, d)), MATRIX.T]])
    exponential = expm(time * block)
    flow = exponential[d:, d:].T
    return flow @ mean, flow @ covariance @ flow.T + flow @ exponential[:d, d:]


@pytest.mark.usefixtures("double_precision")
class TestSemigroup:
    MEAN, COVARIANCE = np.array([1.0, -0.5]), np.array([[0.2, 0.05], [0.05, 0.1]])

    def covariance_errors(self, splitting):
        start = GaussianMixture(jnp.ones(1), jnp.asarray(self.MEAN)[None], jnp.asarray(self.COVARIANCE)[None])
        generator = linear_generator()
        advance = jax.jit(lambda mixture, step: splitting.semigroup(generator, mixture, step))
        truth = linear_law(self.MEAN, self.COVARIANCE, HORIZON)
        errors = []
        for steps in STEPS:
            mixture = start
            for _ in range(steps):
                mixture = advance(mixture, HORIZON / steps)
            # Means ride the flow alone: eight Runge–Kutta steps of s/8 leave (2s/8)⁴/120 < 1e-6.
            np.testing.assert_allclose(mixture.means[0], truth[0], atol=1e-6)
            errors.append(np.abs(np.asarray(mixture.covariances[0]) - truth[1]).max())
        return errors

    def test_strang_reaches_the_linear_law_at_second_order(self):
        orders = orders_of(self.covariance_errors(Strang()))
        assert ((orders > 1.8) & (orders < 2.2)).all(), orders

    def test_lie_trotter_reaches_the_linear_law_at_first_order(self):
        orders = orders_of(self.covariance_errors(LieTrotter()))
        assert ((orders > 0.8) & (orders < 1.3)).all(), orders

    def test_one_strang_step_of_ornstein_uhlenbeck(self):
        """In closed form: mean e^{−θs}x, variance σ² s e^{−θs}; the truth is σ²(1 − e^{−2θs})/(2θ)."""
        system = OrnsteinUhlenbeck(rate=1.5, noise=0.8)
        generator = Generator(Advection(system.drift, flow_steps=32), Diffusion(system.noise_matrix))
        law = jax.jit(lambda x: Strang().transition(generator, x, 0.1))(jnp.asarray([2.0]))
        np.testing.assert_allclose(law.means, [[2 * np.exp(-0.15)]], rtol=1e-9)
        np.testing.assert_allclose(law.covariances, [[[0.64 * 0.1 * np.exp(-0.15)]]], rtol=1e-9)
        exact_variance = 0.64 * (1 - np.exp(-0.3)) / 3
        # sinh(θs)/(θs) = 1 + (θs)²/6 + …
        assert law.covariances[0, 0, 0] / exact_variance - 1 == pytest.approx(-(0.15**2) / 6, rel=0.01)

    @every_splitting
    def test_operators_that_commute_need_no_splitting(self, splitting):
        """Constant drift, noise and jumps: one step of any length is the exact law, up to two jumps."""
        law = GaussianMixture(jnp.asarray([0.4, 0.6]), jnp.asarray([[1.0], [-2.0]]), 0.1 * jnp.ones((2, 1, 1)))
        jump = PoissonJump.from_functions(lambda x: jnp.asarray(0.02), lambda x: law, order=2)
        generator = Generator(Advection(lambda x: jnp.full(1, 0.7)), Diffusion(lambda x: 0.5 * jnp.eye(1)), jump)
        image = jax.jit(lambda x: splitting.transition(generator, x, 1.5))(jnp.asarray([0.3])).numpy()
        x, k = np.linspace(-6, 6, 121), np.linspace(-15, 15, 1501)
        jumps = 0.4 * np.exp(1j * k - 0.05 * k**2) + 0.6 * np.exp(-2j * k - 0.05 * k**2)
        transform = np.exp(1j * k * (0.3 + 0.7 * 1.5) - 0.25 * 1.5 * k**2 / 2 + 0.03 * (jumps - 1))
        truth = (np.exp(-1j * np.outer(x, k)) @ transform).real * (k[1] - k[0]) / (2 * np.pi)
        # Three and more jumps have the mass 0.03³/6 = 4.5e-6.
        np.testing.assert_allclose(np.exp(image.log_prob(x[:, None])), truth, atol=1e-5)

    def test_weights_follow_every_component(self):
        """A mixture goes through as its components do one by one."""
        generator = linear_generator()
        means, covariances = np.array([[1.0, 0.0], [-1.0, 0.5]]), np.stack([0.1 * np.eye(2), 0.3 * np.eye(2)])
        both = GaussianMixture(*map(jnp.asarray, (np.array([0.3, 0.7]), means, covariances)))
        advance = jax.jit(lambda mixture: Strang().semigroup(generator, mixture, 0.1))
        image = advance(both)
        np.testing.assert_allclose(image.weights, [0.3, 0.7], rtol=1e-14)
        for k in range(2):
            one = GaussianMixture(jnp.ones(1), jnp.asarray(means[k : k + 1]), jnp.asarray(covariances[k : k + 1]))
            np.testing.assert_allclose(image.means[k], advance(one).means[0], rtol=1e-12)
            np.testing.assert_allclose(image.covariances[k], advance(one).covariances[0], rtol=1e-12)


def line_generator(jumps):
    """A double well on the line with state-dependent noise and, on demand, state-dependent jumps."""
    rate = lambda x: 0.5 + jax.nn.sigmoid(x[0])  # noqa: E731

    def law(x):
        share = jax.nn.sigmoid(x[0])
        return GaussianMixture(
            jnp.stack([share, 1 - share]), jnp.asarray([[-1.0], [1.5]]), jnp.asarray([[[0.1]], [[0.3]]])
        )

    jump = PoissonJump.from_functions(rate, law, order=2) if jumps else None
    return Generator(Advection(DoubleWell(dimension=1).drift), Diffusion(lambda x: jnp.diag(0.5 + 0.1 * x**2)), jump)


def planar_generator(jumps):
    system = BimodalJumps()
    jump = PoissonJump.from_functions(system.jump_rate, system.jump_law, order=2) if jumps else None
    return Generator(Advection(system.drift), Diffusion(system.noise_matrix), jump)


@pytest.mark.usefixtures("double_precision")
class TestTransition:
    @pytest.mark.parametrize("jumps", [False, True], ids=["smooth", "jumps"])
    @pytest.mark.parametrize(
        ("splitting", "quadrature"),
        [(LieTrotter(), Cubature()), (Strang(), Cubature()), (Strang(), GaussHermite(5))],
        ids=["Lie–Trotter", "Strang", "Strang, Gauss–Hermite"],
    )
    def test_density_on_the_line_integrates_to_one(self, splitting, jumps, quadrature):
        """Trapezoid sums over 0.005-spaced points; the narrowest component is 0.1 wide."""
        x = jnp.asarray([0.8])
        generator = line_generator(jumps)
        law = jax.jit(lambda x: splitting.transition(generator, x, 0.1, quadrature))(x)
        assert np.asarray(law.weights).sum() == pytest.approx(1, abs=1e-9)
        grid = np.linspace(-9, 11, 4001)
        assert np.exp(law.numpy().log_prob(grid[:, None])).sum() * 0.005 == pytest.approx(1, abs=1e-8)

    @every_splitting
    @pytest.mark.parametrize("jumps", [False, True], ids=["smooth", "jumps"])
    def test_density_in_the_plane_integrates_to_one(self, splitting, jumps):
        """Spacing 0.05, narrowest component √(0.1·0.25) = 0.16 wide; the Gaussian of many jumps is 3 wide."""
        generator = planar_generator(jumps)
        law = jax.jit(lambda x: splitting.transition(generator, x, 0.1))(jnp.asarray([0.5, -0.3]))
        assert np.asarray(law.weights).sum() == pytest.approx(1, abs=1e-9)
        axis = np.arange(-14, 14, 0.05)
        grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1)
        assert np.exp(law.numpy().log_prob(grid)).sum() * 0.05**2 == pytest.approx(1, abs=1e-8)

    @every_splitting
    def test_particles_are_draws_from_the_transition(self, splitting):
        """Linear drift, constant noise, constant jumps: mean and covariance agree to four standard errors."""
        law = GaussianMixture(
            jnp.asarray([0.4, 0.6]),
            jnp.asarray([[1.0, 0.5], [-2.0, 0.0]]),
            jnp.asarray([0.1 * np.eye(2), [[0.2, 0.1], [0.1, 0.2]]]),
        )
        jump = PoissonJump.from_functions(lambda x: jnp.asarray(1.5), lambda x: law, order=2)
        generator, x, count = linear_generator(jump), jnp.asarray([1.0, -0.5]), 40_000
        image = jax.jit(lambda x: splitting.transition(generator, x, 0.3))(x).numpy()
        rng = np.random.default_rng(0)
        normal = rng.standard_normal((2, count, 2))
        noise = Noise(*map(jnp.asarray, (normal[0], rng.random(count), normal[1], rng.choice([-1.0, 1.0], (count, 1)))))
        ends = np.asarray(jax.jit(jax.vmap(lambda n: splitting.move(generator, x, 0.3, n)))(noise))
        centred = ends - image.mean
        squares = centred[:, :, None] * centred[:, None, :]
        for samples, truth in ((ends, image.mean), (squares, image.covariance)):
            error = np.abs(samples.mean(axis=0) - truth)
            assert (error < 4 * samples.std(axis=0) / np.sqrt(count)).all()

    @every_splitting
    def test_ten_dimensions(self, splitting):
        """A point pushed through f = −x and g = I, beyond the sizes whose factorisation is unrolled."""
        x = np.linspace(-1, 1, 10)
        generator = Generator(Advection(lambda x: -x, flow_steps=8), Diffusion(lambda x: jnp.eye(10)))
        law = jax.jit(lambda x: splitting.transition(generator, x, 0.1))(jnp.asarray(x))
        np.testing.assert_allclose(law.means[0], np.exp(-0.1) * x, atol=1e-8)
        # Noise after the flow is 0.1·I; what rides the last half of it shrinks by e^{−0.1}.
        spread = 0.1 if isinstance(splitting, LieTrotter) else 0.1 * np.exp(-0.1)
        np.testing.assert_allclose(law.covariances[0], spread * np.eye(10), atol=1e-8)

    @every_splitting
    def test_noise_on_half_of_ten_coordinates(self, splitting):
        """Five positions that follow five noisy velocities: the covariance is singular, the law is known."""
        flow = np.eye(10) + 0.05 * np.eye(10, k=5)
        generator = Generator(
            Advection(lambda x: jnp.concatenate([x[5:], jnp.zeros(5)])), Diffusion(lambda x: jnp.eye(10)[:, 5:])
        )
        x = np.linspace(-1, 1, 10)
        law = jax.jit(lambda x: splitting.transition(generator, x, 0.1))(jnp.asarray(x))
        np.testing.assert_allclose(law.means[0], flow @ flow @ x, atol=1e-12)
        noise = 0.1 * np.diag(np.repeat([0.0, 1.0], 5))
        truth = noise if isinstance(splitting, LieTrotter) else flow @ noise @ flow.T
        np.testing.assert_allclose(law.covariances[0], truth, atol=1e-12)

    def test_splittings_are_interchangeable(self):
        """Same calls, same number of components, and laws that approach each other at first order."""
        generator = planar_generator(jumps=True)
        x = jnp.asarray([0.5, -0.3])
        differences = []
        transitions = [jax.jit(partial(splitting.transition, generator)) for splitting in SPLITTINGS]
        for step in (0.04, 0.02, 0.01):
            lie, strang = (transition(x, step).numpy() for transition in transitions)
            assert lie.components == strang.components
            differences.append(np.abs(lie.covariance - strang.covariance).max() / step)
        orders = orders_of(differences)
        assert ((orders > 0.8) & (orders < 1.3)).all(), differences

    def test_stages_share_the_step(self):
        """Every operator acts for the whole step in total, in the paper's order; no jump, no jump stage."""
        with_jumps, without = planar_generator(jumps=True), planar_generator(jumps=False)
        for splitting in SPLITTINGS:
            for generator in (with_jumps, without):
                shares: dict = {}
                for operator, share in splitting.stages(generator):
                    shares[id(operator)] = shares.get(id(operator), 0) + share
                parts = [generator.advection, generator.diffusion, generator.jump]
                assert shares == {id(part): 1.0 for part in parts if part is not None}
        names = [type(operator).__name__ for operator, _ in Strang().stages(with_jumps)]
        assert names == ["Advection", "Diffusion", "PoissonJump", "Advection"]
        names = [type(operator).__name__ for operator, _ in LieTrotter().stages(with_jumps)]
        assert names == ["Advection", "Diffusion", "PoissonJump"]
