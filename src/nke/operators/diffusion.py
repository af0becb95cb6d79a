"""Diffusion: D p = ½ ∇²:(a p) with a = g gᵀ spreads mass."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from nke.arrays import cholesky
from nke.mixtures import GaussianMixture
from nke.operators.operator import Noise, Operator, PacketRate, Step
from nke.operators.quadrature import Quadrature


class Diffusion(Operator):
    """Given by a factor g, so that the tensor a = g gᵀ is positive semi-definite by construction."""

    factor: Callable[[Float[Array, " d"]], Float[Array, "d n"]]

    @classmethod
    def from_tensor(cls, tensor: Callable[[Float[Array, " d"]], Float[Array, "d d"]]) -> "Diffusion":
        return cls(lambda x: cholesky(tensor(x)))

    def tensor(self, x: Float[Array, " d"]) -> Float[Array, "d d"]:
        g = self.factor(x)
        return g @ g.T

    def rate(self, mean: Float[Array, " d"], covariance: Float[Array, "d d"], quadrature: Quadrature) -> PacketRate:
        """D̂(π, μ, Σ) = (0, 0, ⟨a, G⟩)."""
        spread = quadrature.expectation(self.tensor, mean, covariance)
        return PacketRate(jnp.zeros_like(mean[0]), jnp.zeros_like(mean), spread)

    def semigroup(self, mixture: GaussianMixture, step: Step, quadrature: Quadrature) -> GaussianMixture:
        """Heun's rule on dΣ/dt = ⟨a, G_{μ,Σ}⟩."""

        def spread(mean, covariance):
            start = quadrature.expectation(self.tensor, mean, covariance)
            end = quadrature.expectation(self.tensor, mean, covariance + step * start)
            return covariance + step / 2 * (start + end)

        covariances = jax.vmap(spread)(mixture.means, mixture.covariances)
        return GaussianMixture(mixture.weights, mixture.means, covariances)

    def move(self, x: Float[Array, " d"], step: Step, noise: Noise) -> Float[Array, " d"]:
        """x + √s g(x) ξ: exact for constant g, first order in s otherwise."""
        g = self.factor(x)
        return x + jnp.sqrt(step) * (g @ noise.diffusion[: g.shape[-1]])
