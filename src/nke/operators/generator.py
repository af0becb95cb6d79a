"""The Kolmogorov forward generator L = A + D + J."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from nke.operators.advection import Advection
from nke.operators.diffusion import Diffusion
from nke.operators.jump import Jump, PoissonJump
from nke.operators.kinetic import KinematicConstraint, KineticDrift, KineticFactor
from nke.operators.operator import PacketRate
from nke.operators.quadrature import Quadrature


class Generator(eqx.Module):
    """``constraint``: some coordinates are positions of others, and nothing but their velocities moves them."""

    advection: Advection
    diffusion: Diffusion
    jump: Jump | None = None
    constraint: KinematicConstraint | None = None

    def without_positions(self, positions: Float[Array, " p"]) -> "Generator":
        """The equation of the other coordinates, the positions held where they are."""
        drift, factor, jump, constraint = self.advection.drift, self.diffusion.factor, self.jump, self.constraint
        assert isinstance(drift, KineticDrift)
        assert isinstance(factor, KineticFactor)
        assert constraint is not None

        def at(network: Callable) -> Callable:
            return lambda q: network(constraint.seen(constraint.embed(positions, q)))

        if jump is not None:
            assert isinstance(jump, PoissonJump)
            jump = PoissonJump(at(jump.network), jump.order)
        return Generator(Advection(at(drift.free)), Diffusion(at(factor.free)), jump)

    def rate(self, mean: Float[Array, " d"], covariance: Float[Array, "d d"], quadrature: Quadrature) -> PacketRate:
        """The projected generator of the whole equation: the sum of its terms."""
        terms = [self.advection, self.diffusion] + ([] if self.jump is None else [self.jump])
        rates = [term.rate(mean, covariance, quadrature) for term in terms]
        return jax.tree.map(lambda *parts: jnp.sum(jnp.stack(parts), axis=0), *rates)
