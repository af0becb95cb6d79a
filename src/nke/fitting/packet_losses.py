"""The paper's three losses on one block of packets, dimensionless.

⟨φ, G̃⟩ is the mean of φ over the members of a packet: the networks are evaluated once per particle
of the block, then averaged over the packets that hold it.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from nke.arrays import log_normal_density, symmetrise
from nke.operators import Advection, Diffusion, MixtureDensityNetwork


class Particles(NamedTuple):
    """Transitions in dimensionless coordinates, and the packets that hold them."""

    x: Float[Array, "t d"]
    y: Float[Array, "t d"]
    displacement: Float[Array, "t d"]
    step: Float[Array, " t"]
    jumped: Bool[Array, " t"]
    particles: Int[Array, "blocks particles"]
    members: Int[Array, "blocks packets neighbours"]


class AdvectionLoss(eqx.Module):
    """L_adv = Σ_c ‖μ̃_{n+1} − μ̃_n − s/2 (⟨f, G̃_{n+1}⟩ + ⟨f, G̃_n⟩)‖², in units of the drift's own size."""

    def __call__(self, drift, data: Particles, block: Int[Array, ""]) -> Float[Array, ""]:
        """Computes the loss of one block of packets."""
        p = data.particles[block]
        f = jax.vmap(drift)
        trapezoid = data.step[p, None] / 2 * (f(data.x[p]) + f(data.y[p]))
        residual = (data.displacement[p] - trapezoid) / (drift.scale.value * jnp.mean(data.step))
        return jnp.mean(jnp.sum(jnp.mean(residual[data.members[block]], axis=-2) ** 2, axis=-1))


class CovarianceGrowth(NamedTuple):
    """What is left for diffusion: Σ̃_{n+1} − Σ̃_n − s/2 (Δ^A Σ̃_n + Δ^A Σ̃_{n+1}) of every packet."""

    data: Particles
    growth: Float[Array, "blocks packets d d"]


def covariance_growth(advection: Advection, data: Particles) -> CovarianceGrowth:
    """Computes the growth once, since the drift is already learned; covariances with κ − 1, so that a is unbiased."""

    def block_growth(block):
        p, members = data.particles[block], data.members[block]
        f = jax.vmap(advection.drift)
        forward = data.step[p, None] * f(data.x[p])
        backward = data.step[p, None] * f(data.y[p])
        x, y, moved = data.x[p][members], data.y[p][members], data.displacement[p][members]
        # Cov(y) − Cov(x) by way of the displacement, which keeps the digits when it is small.
        change = _covariance(moved, moved) + 2 * symmetrise(_covariance(x, moved))
        stretch = symmetrise(_covariance(x, forward[members]) + _covariance(y, backward[members]))
        return change - stretch

    blocks = jnp.arange(len(data.particles))
    return CovarianceGrowth(data, jax.lax.map(block_growth, blocks))


def _covariance(a: Float[Array, "*c k d"], b: Float[Array, "*c k d"]) -> Float[Array, "*c d d"]:
    a, b = (v - jnp.mean(v, axis=-2, keepdims=True) for v in (a, b))
    return jnp.einsum("...ki,...kj->...ij", a, b) / (a.shape[-2] - 1)


class DiffusionLoss(eqx.Module):
    """L_diff = Σ_c ‖growth − s/2 (⟨a, G̃_n⟩ + ⟨a, G̃_{n+1}⟩)‖²_F, in units of the mean growth."""

    unit: Float[Array, "d d"]

    def __call__(self, factor, data: CovarianceGrowth, block: Int[Array, ""]) -> Float[Array, ""]:
        """Computes the loss of one block of packets."""
        p, members = data.data.particles[block], data.data.members[block]
        a = jax.vmap(Diffusion(factor).tensor)
        spread = data.data.step[p, None, None] / 2 * (a(data.data.x[p]) + a(data.data.y[p]))
        residual = (data.growth[block] - jnp.mean(spread[members], axis=-3)) / self.unit
        return jnp.mean(jnp.sum(residual**2, axis=(-2, -1)))


class JumpClouds(NamedTuple):
    """Packets (μ̃, Σ̃), the flow and spread over a step at their centres, and their target clouds."""

    centre: Float[Array, "blocks packets d"]
    covariance: Float[Array, "blocks packets d d"]
    drifted: Float[Array, "blocks packets d"]
    spread: Float[Array, "blocks packets d d"]
    target: Float[Array, "blocks packets neighbours d"]


def jump_clouds(advection: Advection, diffusion: Diffusion, data: Particles) -> JumpClouds:
    """Computes packets and their targets x + χ (x' − x), relative to the packet's centre."""

    def block_clouds(block):
        p, members = data.particles[block], data.members[block]
        x = data.x[p][members]
        centre = jnp.mean(x, axis=-2)
        step = jnp.mean(data.step)
        landing = x - centre[:, None] + jnp.where(data.jumped[p, None], data.displacement[p], 0.0)[members]
        drifted = step * jax.vmap(advection.drift)(centre)
        spread = step * jax.vmap(diffusion.tensor)(centre)
        # A packet may have no width at all (all particles released from one state): a trace of noise gives it one.
        return JumpClouds(centre, _covariance(x, x) + 1e-6 * spread, drifted, spread, landing)

    return jax.lax.map(block_clouds, jnp.arange(len(data.particles)))


class JumpLoss(eqx.Module):
    """L_jump = −Σ_c Σ_y log [H^s(·|μ̃_c) * G_{μ̃_c,Σ̃_c}](y), plus the smoothness of H^s over the state.

    A flagged increment carries drift and diffusion too; they are added to the jumped components here
    instead of being learned into β and γ.
    """

    smoothness: float = eqx.field(static=True)

    def __call__(self, network: MixtureDensityNetwork, data: JumpClouds, block: Int[Array, ""]) -> Array:
        """Computes the loss of one block of packets."""
        centre, width = data.centre[block], data.covariance[block]
        h = jax.vmap(network)(centre)
        target = data.target[block][:, :, None, :]
        stay = log_normal_density(target[:, :, 0], width[:, None])
        means = (h.means + data.drifted[block][:, None])[:, None]
        covariances = (h.covariances + (width + data.spread[block])[:, None])[:, None]
        leave = log_normal_density(target - means, covariances) + jnp.log(h.shares)[:, None]
        log_jump = jnp.log(-jnp.expm1(h.log_no_jump))
        log_prob = jnp.logaddexp(h.log_no_jump[:, None] + stay, log_jump[:, None] + jax.nn.logsumexp(leave, axis=-1))
        return -jnp.mean(log_prob) + self.smoothness * jnp.mean(jax.vmap(self._roughness(network))(centre))

    def _roughness(self, network: MixtureDensityNetwork):
        return lambda x: jnp.sum(jax.jacfwd(network.mlp)(x) ** 2)


def mean_square_velocity(data: Particles) -> Float[Array, " d"]:
    """Computes the mean square, over all packets, of the packet's mean velocity."""

    def block_mean(block):
        p = data.particles[block]
        velocity = (data.displacement[p] / data.step[p, None])[data.members[block]]
        return jnp.mean(jnp.mean(velocity, axis=-2) ** 2, axis=0)

    return jnp.mean(jax.lax.map(block_mean, jnp.arange(len(data.particles))), axis=0)


def mean_growth(growth: CovarianceGrowth) -> Float[Array, "d d"]:
    """Computes the mean of a over all packets: covariance growth per unit time."""
    return symmetrise(jnp.mean(growth.growth, axis=(0, 1))) / jnp.mean(growth.data.step)
