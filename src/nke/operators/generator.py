"""The Kolmogorov forward generator L = A + D + J."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from nke.operators.advection import Advection
from nke.operators.diffusion import Diffusion
from nke.operators.jump import Jump
from nke.operators.operator import PacketRate
from nke.operators.quadrature import Quadrature


class Generator(eqx.Module):
    advection: Advection
    diffusion: Diffusion
    jump: Jump | None = None

    def rate(self, mean: Float[Array, " d"], covariance: Float[Array, "d d"], quadrature: Quadrature) -> PacketRate:
        """The projected generator of the whole equation: the sum of its terms."""
        terms = [self.advection, self.diffusion] + ([] if self.jump is None else [self.jump])
        rates = [term.rate(mean, covariance, quadrature) for term in terms]
        return jax.tree.map(lambda *parts: jnp.sum(jnp.stack(parts), axis=0), *rates)
