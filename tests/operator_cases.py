"""Drifts, noise factors, jumps and packets of known truth, and quadrature on grids to hold the operators against.

Integrals are trapezoid sums over grids that are wider than ten standard deviations and finer than a tenth of
one: for analytic integrands that decay like a Gaussian they are right to rounding. Gauss–Hermite rules of
order 40 are right to 1e-9 for the functions below, whose nearest complex singularity is 1.5 away. Tolerances
of sampled quantities are four standard errors; seeds are fixed.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from nke.mixtures import GaussianMixture
from nke.operators import (
    GaussHermite,
    MixtureDensityNetwork,
    Noise,
    PoissonJump,
    trainable,
)
from nke.systems import DoubleWell

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


def mixture_density_network(seed=0, d=2, components=3):
    """Random parameters, in the precision of the moment."""
    network = MixtureDensityNetwork(
        jnp.arange(1.0, d + 1), probability=0.1, components=components, width=8, depth=1, key=jax.random.key(seed)
    )
    return random_network(network, seed, scale=0.7)


def draw_noise(count, d, seed):
    rng = np.random.default_rng(seed)
    return Noise(
        jnp.asarray(rng.standard_normal((count, d))),
        jnp.asarray(rng.random(count)),
        jnp.asarray(rng.standard_normal((count, d))),
        jnp.asarray(rng.choice([-1.0, 1.0], (count, d * (d - 1) // 2))),
    )


PARTICLES = 40_000


def particles_moved(operator, x, step, seed=0):
    """Many draws from e^{Ls} δ_x."""
    noise = draw_noise(PARTICLES, len(x), seed)
    return np.asarray(jax.jit(jax.vmap(lambda n: operator.move(x, step, n)))(noise))


def assert_moments_agree(operator, x, step):
    """The sample moments of moved particles are those of the semigroup."""
    image = image_of(operator, GaussianMixture.point(x), step, FINE).numpy()
    particles = particles_moved(operator, x, step)
    assert_within_standard_errors(particles, image.mean)
    centred = particles - image.mean
    assert_within_standard_errors(centred[:, :, None] * centred[:, None, :], image.covariance)
    return particles, image


@eqx.filter_jit
def at_each(function, states):
    """A network at every state, compiled."""
    return jax.vmap(function)(states)


def random_states(count=16, d=3):
    return jnp.asarray(3 * np.random.default_rng(0).normal(size=(count, d)))
