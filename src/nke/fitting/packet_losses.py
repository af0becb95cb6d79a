"""The paper's three losses on one block of packets, dimensionless.

⟨φ, G̃⟩ is the mean of φ over the members of a packet: the networks are evaluated once per particle
of the block, then averaged over the packets that hold it. What no network of a stage changes is computed
before it, in double precision.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from nke.arrays import log_normal_density, symmetrise
from nke.operators import Advection, Diffusion
from nke.packets import Packets

EVALUATED = 1 << 13  # states at which a network is evaluated at a time: bounds the memory


class Particles(NamedTuple):
    """Transitions in dimensionless coordinates, and the packets that hold them.

    Attributes:
        x: States at the start, as the law sees them.
        y: States at the end, likewise.
        free: The coordinates whose law is learned, at the start.
        displacement: How far these move.
        step: Times between.
        jumped: Whether the increment is a jump.
        particles: Transitions of each block.
        members: Places in the block of the particles of each packet.
    """

    x: Float[Array, "t n"]
    y: Float[Array, "t n"]
    free: Float[Array, "t r"]
    displacement: Float[Array, "t r"]
    step: Float[Array, " t"]
    jumped: Bool[Array, " t"]
    particles: Int[Array, "blocks particles"]
    members: Int[Array, "blocks packets neighbours"]

    def packets(self) -> Iterator[Int[np.ndarray, "packets neighbours"]]:
        """Gives the transitions in each packet, some packets at a time."""
        return Packets(np.asarray(self.particles), np.asarray(self.members)).listed()


def over_the_step(function: Callable, data: Particles, particles: Int[Array, " p"]) -> Float[Array, "p ..."]:
    """Averages a function over both ends of transitions, (φ(x) + φ(y))/2: the trapezoidal rule."""
    start, end = jnp.split(jax.vmap(function)(jnp.concatenate([data.x[particles], data.y[particles]])), 2)
    return (start + end) / 2


class AdvectionLoss(eqx.Module):
    """L_adv = Σ_c ‖μ̃_{n+1} − μ̃_n − s/2 (⟨f, G̃_{n+1}⟩ + ⟨f, G̃_n⟩)‖², in units of the drift's own size."""

    def __call__(self, drift, data: Particles, block: Int[Array, ""]) -> Float[Array, ""]:
        """Computes the loss of one block of packets."""
        p = data.particles[block]
        residual = data.displacement[p] - data.step[p, None] * over_the_step(drift, data, p)
        residual = residual / (drift.scale.value * jnp.mean(data.step))
        return jnp.mean(jnp.sum(jnp.mean(residual[data.members[block]], axis=-2) ** 2, axis=-1))


class ForwardLoss(eqx.Module):
    """L_adv with the drift at the start alone: of first order, but the noise of the residual has no part in it.

    It tells which of two drifts is nearer to the truth, where L_adv prefers the one that is biased towards zero.
    """

    def __call__(self, drift, data: Particles, block: Int[Array, ""]) -> Float[Array, ""]:
        """Computes the loss of one block of packets."""
        p = data.particles[block]
        residual = data.displacement[p] - data.step[p, None] * jax.vmap(drift)(data.x[p])
        residual = residual / (drift.scale.value * jnp.mean(data.step))
        return jnp.mean(jnp.sum(jnp.mean(residual[data.members[block]], axis=-2) ** 2, axis=-1))


def linear_drift(data: Particles) -> tuple[Float[np.ndarray, " r"], Float[np.ndarray, "r n"]]:
    """Finds straight lines f(x) = b + A x, where the drift begins.

    The residual of L_adv is made orthogonal to the packets' means at the start of the step. The minimum of L_adv over
    these lines would be biased towards zero, since the noise of the residual is part of f at the end.

    Args:
        data: Particles and packets.

    Returns:
        The vector b and the matrix A.
    """
    x, y, moved, step = (np.asarray(a, np.float64) for a in (data.x, data.y, data.displacement, data.step))
    one = np.ones(len(x))
    instruments, features = np.column_stack([one, x]), step[:, None] * np.column_stack([one, (x + y) / 2])
    normal, right = 0.0, 0.0
    for packets in data.packets():
        given, mean, motion = (a[packets].mean(axis=1) for a in (instruments, features, moved))
        normal, right = normal + given.T @ mean, right + given.T @ motion
    coefficients = np.linalg.lstsq(normal, right)[0]  # zero for columns that are constant
    return coefficients[0], coefficients[1:].T


class CovarianceGrowth(NamedTuple):
    """What is left for diffusion: Σ̃_{n+1} − Σ̃_n − s/2 (Δ^A Σ̃_n + Δ^A Σ̃_{n+1}) of every packet."""

    data: Particles
    growth: Float[Array, "blocks packets r r"]


def covariance_growth(advection: Advection, data: Particles) -> CovarianceGrowth:
    """Computes the growth once, since the drift is already learned; covariances with κ − 1, so that a is unbiased."""
    start, moved, step = (np.asarray(a, np.float64) for a in (data.free, data.displacement, data.step))
    forward, backward = (step[:, None] * evaluate(advection.drift, ends) for ends in (data.x, data.y))

    def of_packets(packets):
        x, change = start[packets], moved[packets]
        y = x + change
        # Cov(y) − Cov(x) by way of the displacement, which keeps the digits when it is small.
        growth = _covariance(change, change) + 2 * symmetrise(_covariance(x, change))
        return growth - symmetrise(_covariance(x, forward[packets]) + _covariance(y, backward[packets]))

    growth = np.concatenate([of_packets(packets) for packets in data.packets()])
    return CovarianceGrowth(data, jnp.asarray(growth.reshape(*data.members.shape[:2], *growth.shape[1:]), data.x.dtype))


def _covariance(a: Float[np.ndarray, "*c k r"], b: Float[np.ndarray, "*c k r"]) -> Float[np.ndarray, "*c r r"]:
    a, b = (v - np.mean(v, axis=-2, keepdims=True) for v in (a, b))
    return np.swapaxes(a, -1, -2) @ b / (a.shape[-2] - 1)


class DiffusionLoss(eqx.Module):
    """L_diff = Σ_c ‖growth − s/2 (⟨a, G̃_n⟩ + ⟨a, G̃_{n+1}⟩)‖²_F, in units of the mean growth."""

    unit: Float[Array, "r r"]

    def __call__(self, factor, data: CovarianceGrowth, block: Int[Array, ""]) -> Float[Array, ""]:
        """Computes the loss of one block of packets."""
        p, members = data.data.particles[block], data.data.members[block]
        spread = data.data.step[p, None, None] * over_the_step(Diffusion(factor).tensor, data.data, p)
        residual = (data.growth[block] - jnp.mean(spread[members], axis=-3)) / self.unit
        return jnp.mean(jnp.sum(residual**2, axis=(-2, -1)))


class JumpClouds(NamedTuple):
    """Packets and their target clouds, each in units of the packet's own width, W Σ̃ Wᵀ = 1.

    Attributes:
        centre: μ̃ as the law sees it.
        unit: The matrix W.
        log_unit: log |det W|, which a density gains by it.
        drifted: Flow over a step from the centre.
        spread: Covariance of the noise of a step there.
        target: W (x' − μ̃) of the members that jumped, as many as there are in any packet.
        weight: Of each of these, 0 where there are fewer.
        stay: Weight of the members that did not jump; all weights of a packet sum to 1 in the mean.
    """

    centre: Float[Array, "blocks packets n"]
    unit: Float[Array, "blocks packets r r"]
    log_unit: Float[Array, "blocks packets"]
    drifted: Float[Array, "blocks packets r"]
    spread: Float[Array, "blocks packets r r"]
    target: Float[Array, "blocks packets most r"]
    weight: Float[Array, "blocks packets most"]
    stay: Float[Array, "blocks packets"]


def jump_clouds(
    advection: Advection, diffusion: Diffusion, data: Particles, resolution: Float[np.ndarray, " r"]
) -> JumpClouds:
    """Computes packets and where those of their members land that jumped.

    A packet may be flat: particles released from one place, or a velocity that is recorded several times between two
    collisions. Its width is taken along its principal axes, nowhere less than the resolution; in these units Σ̃ + γ is
    1 plus a positive semi-definite matrix, and its Cholesky factor exists whatever γ is.

    Each transition counts once in all, by a weight of one over the number of packets that hold it. In the pooled cloud
    a particle that rests is its own neighbour, step after step, so that packets hold more of those that do not jump
    (rarefied gas: 14.6 % jumps in packets, 15.9 % in the data).

    Args:
        advection: The learned drift.
        diffusion: The learned diffusion.
        data: Particles and packets.
        resolution: Least width of a packet in each coordinate.

    Returns:
        The clouds.
    """
    seen, start, moved = (np.asarray(a, np.float64) for a in (data.x, data.free, data.displacement))
    step, jumped = float(np.mean(np.asarray(data.step, np.float64))), np.asarray(data.jumped)
    every = list(data.packets())
    most = max(1, *(int(jumped[packets].sum(axis=1).max()) for packets in every))
    held = np.bincount(np.concatenate([packets.ravel() for packets in every]), minlength=len(start))
    once = held.sum() / np.sum(held > 0) / np.maximum(held, 1)
    parts = []
    for packets in every:
        x = start[packets]
        # Those that jumped come first.
        first = np.take_along_axis(packets, np.argsort(~jumped[packets], axis=1, kind="stable")[:, :most], axis=1)
        landing = start[first] + moved[first] - x.mean(axis=1, keepdims=True)
        # With 1/κ, as printed: what the members, seen from their own mean, add to their jumps.
        width = _covariance(x, x) * (1 - 1 / packets.shape[1])
        variance, axes = np.linalg.eigh(width + np.diag(resolution**2))
        unit = np.swapaxes(axes, -1, -2) / np.sqrt(variance)[..., None]
        target = landing @ np.swapaxes(unit, -1, -2)
        log_unit = -np.log(variance).sum(axis=-1) / 2
        stay = np.mean(once[packets] * ~jumped[packets], axis=1)
        weight = once[first] * jumped[first] / packets.shape[1]
        parts.append((seen[packets].mean(axis=1), unit, log_unit, target, weight, stay))
    centre, unit, log_unit, target, weight, stay = map(np.concatenate, zip(*parts, strict=True))
    at = jnp.asarray(centre, data.x.dtype)
    drifted, spread = (step * evaluate(of, at) for of in (advection.drift, diffusion.tensor))
    arrays = (centre, unit, log_unit, drifted, spread, target, weight, stay)
    blocks = data.members.shape[:2]
    return JumpClouds(*(jnp.asarray(a.reshape(*blocks, *a.shape[1:]), data.x.dtype) for a in arrays))


class JumpLoss(eqx.Module):
    """L_jump = −Σ_c Σ_y log [H^s(·|μ̃_c) * G̃_c](y), plus the smoothness of H^s over the state.

    With H^s = α₀ δ₀ + Σ_k α_k G_{β_k, γ_k} the convolution has two parts. δ₀ leaves each particle where it is, so that
    a target that did not jump has the weight α₀. Only what jumped is spread over the packet's Gaussian,
    Σ_k α_k G_{μ̃ + β_k, Σ̃ + γ_k}. With δ₀ * G_{μ̃,Σ̃} in the place of the cloud, jumps that are smaller than the
    packet would pass for none, and a flat packet would have no density.

    A flagged increment carries drift and diffusion too; they are added to the jumped components here
    instead of being learned into β and γ.
    """

    smoothness: float = eqx.field(static=True)

    def __call__(self, network, data: JumpClouds, block: Int[Array, ""]) -> Array:
        """Computes the loss of one block of packets."""
        centre, unit, target = data.centre[block], data.unit[block][:, None], data.target[block][:, :, None, :]
        h = jax.vmap(network)(centre)
        means = (unit @ (h.means + data.drifted[block][:, None])[..., None])[..., 0]
        wide = unit @ (h.covariances + data.spread[block][:, None]) @ jnp.swapaxes(unit, -1, -2)
        covariances = jnp.eye(means.shape[-1], dtype=wide.dtype) + wide
        landing = log_normal_density(target - means[:, None], covariances[:, None]) + jnp.log(h.shares)[:, None]
        leave = jnp.log(-jnp.expm1(h.log_no_jump)) + data.log_unit[block]
        log_jump = leave[:, None] + jax.nn.logsumexp(landing, axis=-1)
        log_prob = data.stay[block] * h.log_no_jump + jnp.sum(data.weight[block] * log_jump, axis=-1)
        return -jnp.mean(log_prob) + self.smoothness * jnp.mean(jax.vmap(self._roughness(network))(centre))

    def _roughness(self, network):
        return lambda x: jnp.sum(jax.jacfwd(network.mlp)(x) ** 2)


def mean_square_velocity(data: Particles) -> Float[np.ndarray, " r"]:
    """Computes the mean square, over all packets, of the packet's mean velocity."""
    velocity = np.asarray(data.displacement, np.float64) / np.asarray(data.step, np.float64)[:, None]
    means = np.concatenate([velocity[packets].mean(axis=1) for packets in data.packets()])
    return np.mean(means**2, axis=0)


def mean_growth(growth: CovarianceGrowth) -> Float[np.ndarray, "r r"]:
    """Computes the mean of a over all packets: covariance growth per unit time."""
    mean = np.mean(np.asarray(growth.growth, np.float64), axis=(0, 1))
    return symmetrise(mean) / float(np.mean(np.asarray(growth.data.step, np.float64)))


def evaluate(function: Callable, states: Float[Array, "t n"]) -> Float[np.ndarray, "t ..."]:
    """Evaluates a function of one state at many, in batches of bounded memory.

    Args:
        function: Of one state.
        states: The states.

    Returns:
        Its values, in double precision.
    """
    values = []
    for first in range(0, len(states), EVALUATED):
        some = np.asarray(states)[first : first + EVALUATED]
        # Filled up: a remainder would be compiled a second time.
        filled = np.pad(some, ((0, EVALUATED - len(some)), (0, 0)))
        values.append(np.asarray(_evaluate(function, jnp.asarray(filled)), np.float64)[: len(some)])
    return np.concatenate(values)


@eqx.filter_jit
def _evaluate(function: Any, states: Float[Array, "t n"]) -> Float[Array, "t ..."]:
    return jax.vmap(function)(states)
