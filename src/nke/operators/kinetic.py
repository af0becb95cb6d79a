"""What is known of an equation before it is learned: positions that follow their velocities, space that is uniform.

The learned networks see the whole state and give the other coordinates alone; here they are put in their places. The
positions have no noise and no jumps of their own, so that the diffusion tensor is singular by construction.
"""

from collections.abc import Callable

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from nke.arrays import Array as AnyArray
from nke.mixtures import GaussianMixture
from nke.operators.networks import Fixed, JumpNetwork
from nke.operators.operator import Step


class KinematicConstraint(eqx.Module):
    """Which coordinates are positions of which velocities; dx_p/dt = slope·x_v + offset in scaled coordinates.

    The law does not depend on those that are ``invariant``.
    """

    positions: tuple[int, ...] = eqx.field(static=True)
    velocities: tuple[int, ...] = eqx.field(static=True)
    invariant: tuple[int, ...] = eqx.field(static=True)
    dimension: int = eqx.field(static=True)
    slope: Fixed
    offset: Fixed

    @property
    def free(self) -> tuple[int, ...]:
        """The coordinates that are not positions."""
        return tuple(i for i in range(self.dimension) if i not in self.positions)

    def seen(self, x: Float[AnyArray, "*batch d"]) -> Float[AnyArray, "*batch d"]:
        """The state as the networks see it."""
        return x * np.array([i not in self.invariant for i in range(self.dimension)], x.dtype)

    def velocity(self, x: Float[Array, " d"]) -> Float[Array, " p"]:
        """Of the positions."""
        return self.slope.value * x[np.array(self.velocities, int)] + self.offset.value

    def embed(self, positions: Float[Array, "p ..."], free: Float[Array, "r ..."]) -> Float[Array, "d ..."]:
        """Rows of the whole state from those of its two parts."""
        return jnp.concatenate([positions, free])[np.argsort(self.positions + self.free)]

    def carry(self, law: GaussianMixture, x: Float[Array, " d"], step: Step) -> GaussianMixture:
        """The displacement of the whole state from that of the free coordinates: Δp = s·(v + Δv/2)."""
        free, still = jnp.eye(len(self.free), dtype=x.dtype), jnp.zeros((len(self.positions), len(self.free)), x.dtype)
        faster = self.embed(still, free)[np.array(self.velocities, int)]
        spread = self.embed(step / 2 * self.slope.value[:, None] * faster, free)
        flown = self.embed(step * self.velocity(x), jnp.zeros(len(self.free), x.dtype))
        return GaussianMixture(law.weights, flown + law.means @ spread.T, spread @ law.covariances @ spread.T)


class KineticDrift(eqx.Module):
    free: Callable[[Float[Array, " d"]], Float[Array, " r"]]
    constraint: KinematicConstraint

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, " d"]:
        return self.constraint.embed(self.constraint.velocity(x), self.free(self.constraint.seen(x)))


class KineticFactor(eqx.Module):
    free: Callable[[Float[Array, " d"]], Float[Array, "r r"]]
    constraint: KinematicConstraint

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, "d r"]:
        g = self.free(self.constraint.seen(x))
        return self.constraint.embed(jnp.zeros((len(self.constraint.positions), g.shape[1]), g.dtype), g)


class KineticJump(eqx.Module):
    """A jump measure: rate and law, the positions staying where they are."""

    free: JumpNetwork
    constraint: KinematicConstraint

    def __call__(self, x: Float[Array, " d"]) -> tuple[Float[Array, ""], GaussianMixture]:
        rate, law = self.free(self.constraint.seen(x))
        embed = jnp.eye(self.constraint.dimension, dtype=x.dtype)[:, np.array(self.constraint.free)]
        return rate, GaussianMixture(law.weights, law.means @ embed.T, embed @ law.covariances @ embed.T)
