"""Diffusion: D p = ½ ∇²:(a p) with a = g gᵀ spreads mass."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from nke.arrays import cholesky, outer
from nke.mixtures import GaussianMixture
from nke.operators.operator import Noise, Operator, PacketRate, Step
from nke.operators.quadrature import Quadrature


class Diffusion(Operator):
    """The noise term, given by a factor g, so that a = g gᵀ is positive semi-definite by construction.

    Attributes:
        factor: From a state to g(x), with a column for each noise source.

    Example:
        >>> import jax.numpy as jnp
        >>> nke.operators.Diffusion(lambda x: 0.5 * jnp.eye(1)).tensor(jnp.zeros(1)).tolist()
        [[0.25]]
    """

    factor: Callable[[Float[Array, " d"]], Float[Array, "d n"]]

    @classmethod
    def from_tensor(cls, tensor: Callable[[Float[Array, " d"]], Float[Array, "d d"]]) -> "Diffusion":
        """A noise term of known diffusion tensor.

        Args:
            tensor: From a state to a(x).

        Returns:
            The noise term, with the Cholesky factor of a(x) for g(x).

        Example:
            >>> import jax.numpy as jnp
            >>> nke.operators.Diffusion.from_tensor(lambda x: 4 * jnp.eye(1)).factor(jnp.zeros(1)).tolist()
            [[2.0]]
        """
        return cls(lambda x: cholesky(tensor(x)))

    def tensor(self, x: Float[Array, " d"]) -> Float[Array, "r r"]:
        """The diffusion tensor a(x) = g(x) g(x)ᵀ.

        Args:
            x: One state.

        Returns:
            The tensor.

        Example:
            >>> import jax.numpy as jnp
            >>> diffusion = nke.operators.Diffusion(lambda x: jnp.array([[1.0, 0.0], [1.0, 2.0]]))
            >>> diffusion.tensor(jnp.zeros(2)).tolist()
            [[1.0, 1.0], [1.0, 5.0]]
        """
        g = self.factor(x)
        return g @ g.T

    def rate(self, mean: Float[Array, " d"], covariance: Float[Array, "d d"], quadrature: Quadrature) -> PacketRate:
        """D̂(π, μ, Σ) = (0, 0, ⟨a, G⟩).

        Args:
            mean: Mean μ of the packet.
            covariance: Covariance Σ of the packet.
            quadrature: Rule for inner products with the packet.

        Returns:
            Time derivatives of weight, mean and covariance.
        """
        spread = quadrature.expectation(self.tensor, mean, covariance)
        return PacketRate(jnp.zeros_like(mean[0]), jnp.zeros_like(mean), spread)

    def semigroup(self, mixture: GaussianMixture, step: Step, quadrature: Quadrature) -> GaussianMixture:
        """Heun's rule on dΣ/dt = ⟨a, G_{μ,Σ}⟩.

        Args:
            mixture: Law at the start.
            step: The time s.
            quadrature: Rule for inner products with its components.

        Returns:
            Law at the end.
        """

        def spread(mean, covariance):
            start = quadrature.expectation(self.tensor, mean, covariance)
            end = quadrature.expectation(self.tensor, mean, covariance + step * start)
            return covariance + step / 2 * (start + end)

        covariances = jax.vmap(spread)(mixture.means, mixture.covariances)
        return GaussianMixture(mixture.weights, mixture.means, covariances)

    def move(self, x: Float[Array, " d"], step: Step, noise: Noise) -> Float[Array, " d"]:
        """Platen's scheme of weak order two, exact for constant g (Kloeden & Platen 1992, section 15.1).

        With g at x ± √s g_r for every noise source r,

            x + √s [g + ¼ Σ_r (g⁺_r + g⁻_r − 2g)] ξ + √s/4 Σ_{rj} (g⁺_r − g⁻_r)_j (ξ_r ξ_j + v_rj),

        v antisymmetric of random signs (which of two sources acts first) but for −1 on its diagonal.

        Args:
            x: State of the particle.
            step: The time s.
            noise: Its random numbers.

        Returns:
            Its new state.
        """
        g, root = self.factor(x), jnp.sqrt(step)
        ahead, behind = (jax.vmap(self.factor)(x + side * root * g.T) for side in (1, -1))
        xi = noise.diffusion[: g.shape[-1]]
        mean = g + jnp.sum(ahead + behind - 2 * g, axis=0) / 4
        return x + root * (
            mean @ xi + jnp.einsum("rij,rj->i", ahead - behind, outer(xi, xi) + _order(noise.signs, len(xi))) / 4
        )


def _order(signs: Float[Array, " pairs"], sources: int) -> Float[Array, "n n"]:
    """The matrix v: antisymmetric of the signs, but for −1 on the diagonal."""
    i, j = np.tril_indices(sources, -1)
    return (-jnp.eye(sources, dtype=signs.dtype)).at[i, j].set(signs[: len(i)]).at[j, i].set(-signs[: len(i)])
