"""Rules for the inner products ⟨φ, G_{μ,Σ}⟩ of the projected generators."""

import abc
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from nke.arrays import cholesky


class Quadrature(eqx.Module):
    """Nodes ξ and weights w of a rule for the standard normal law in d dimensions."""

    @abc.abstractmethod
    def nodes(self, d: int) -> tuple[np.ndarray, np.ndarray]:
        """Points (n, d) and weights (n,)."""

    def points(self, mean: Float[Array, " d"], covariance: Float[Array, "d d"]) -> Float[Array, "n d"]:
        """The rule's nodes carried to G_{μ,Σ}."""
        xi, _ = self.nodes(mean.shape[-1])
        return mean + jnp.asarray(xi, mean.dtype) @ cholesky(covariance).T

    def weights(self, d: int, dtype) -> Float[Array, " n"]:
        return jnp.asarray(self.nodes(d)[1], dtype)

    def expectation(
        self, function: Callable, mean: Float[Array, " d"], covariance: Float[Array, "d d"]
    ) -> PyTree[Array]:
        """⟨φ, G_{μ,Σ}⟩ for φ of one state."""
        values = jax.vmap(function)(self.points(mean, covariance))
        weights = self.weights(mean.shape[-1], mean.dtype)
        return jax.tree.map(lambda value: jnp.tensordot(weights, value, axes=1), values)


class Cubature(Quadrature):
    """2d points ±√d e_i of equal weight: exact for polynomials of degree three."""

    def nodes(self, d: int) -> tuple[np.ndarray, np.ndarray]:
        axes = np.sqrt(d) * np.eye(d)
        return np.concatenate([axes, -axes]), np.full(2 * d, 0.5 / d)


class Simplex(Quadrature):
    """d + 1 points of equal weight at the corners of a regular simplex: exact to degree two, the fewest points."""

    def nodes(self, d: int) -> tuple[np.ndarray, np.ndarray]:
        # An orthonormal basis of the complement of (1, …, 1) gives corners with mean 0 and covariance I.
        corners = np.zeros((d + 1, d))
        for j in range(d):
            corners[: j + 1, j] = 1.0 / np.sqrt((j + 1) * (j + 2))
            corners[j + 1, j] = -(j + 1) / np.sqrt((j + 1) * (j + 2))
        return corners * np.sqrt(d + 1), np.full(d + 1, 1.0 / (d + 1))


class GaussHermite(Quadrature):
    """Tensor product of n-point Gauss–Hermite rules: exact to degree 2n − 1 in each coordinate."""

    order: int = eqx.field(static=True, default=5)

    def nodes(self, d: int) -> tuple[np.ndarray, np.ndarray]:
        x, w = np.polynomial.hermite_e.hermegauss(self.order)
        w = w / w.sum()
        grid = np.stack(np.meshgrid(*[x] * d, indexing="ij"), axis=-1).reshape(-1, d)
        weights = np.stack(np.meshgrid(*[w] * d, indexing="ij"), axis=-1).prod(axis=-1).ravel()
        return grid, weights
