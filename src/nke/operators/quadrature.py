"""Rules for the inner products ⟨φ, G_{μ,Σ}⟩ of the projected generators."""

import abc
from collections.abc import Callable
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from nke.arrays import cholesky
from nke.operators.configuration import Configuration, Registry

QUADRATURES = Registry("quadrature")


class Quadrature(eqx.Module):
    """Nodes ξ and weights w of a rule for the standard normal law in d dimensions.

    Example:
        >>> import jax.numpy as jnp
        >>> rule = nke.operators.Cubature()
        >>> round(float(rule.expectation(lambda x: x[0] ** 2, jnp.array([1.0]), jnp.array([[0.5]]))), 3)
        1.5
    """

    kind: ClassVar[str]

    @abc.abstractmethod
    def nodes(self, d: int) -> tuple[np.ndarray, np.ndarray]:
        """The rule itself.

        Args:
            d: Number of dimensions.

        Returns:
            Points (n, d) and weights (n,).

        Example:
            >>> nodes, weights = nke.operators.Cubature().nodes(1)
            >>> nodes.tolist(), weights.tolist()
            ([[1.0], [-1.0]], [0.5, 0.5])
        """

    def points(self, mean: Float[Array, " d"], covariance: Float[Array, "d d"]) -> Float[Array, "n d"]:
        """The rule's nodes carried to G_{μ,Σ}.

        Args:
            mean: Mean μ.
            covariance: Covariance Σ.

        Returns:
            The points.

        Example:
            >>> import jax.numpy as jnp
            >>> nke.operators.Cubature().points(jnp.array([5.0]), jnp.array([[4.0]])).tolist()  # μ ± σ
            [[7.0], [3.0]]
        """
        xi, _ = self.nodes(mean.shape[-1])
        return mean + jnp.asarray(xi, mean.dtype) @ cholesky(covariance).T

    def weights(self, d: int, dtype) -> Float[Array, " n"]:
        """The weights of the points.

        Args:
            d: Number of dimensions.
            dtype (DTypeLike): Type of the numbers.

        Returns:
            A weight for each point; they sum to one.

        Example:
            >>> nke.operators.Cubature().weights(2, "float32").tolist()
            [0.25, 0.25, 0.25, 0.25]
        """
        return jnp.asarray(self.nodes(d)[1], dtype)

    def expectation(
        self, function: Callable, mean: Float[Array, " d"], covariance: Float[Array, "d d"]
    ) -> PyTree[Array]:
        """The inner product ⟨φ, G_{μ,Σ}⟩.

        Args:
            function: φ of one state; it may give any tree of arrays.
            mean: Mean μ.
            covariance: Covariance Σ.

        Returns:
            The weighted mean of φ over the points.

        Example:
            >>> import jax.numpy as jnp
            >>> rule = nke.operators.Cubature()
            >>> float(rule.expectation(lambda x: x[0] ** 2, jnp.array([1.0]), jnp.array([[4.0]])))  # μ² + σ²
            5.0
        """
        values = jax.vmap(function)(self.points(mean, covariance))
        weights = self.weights(mean.shape[-1], mean.dtype)
        return jax.tree.map(lambda value: jnp.tensordot(weights, value, axes=1), values)

    def configuration(self) -> Configuration:
        """The kind of the rule, as JSON values.

        Example:
            >>> nke.operators.Cubature().configuration()
            {'kind': 'cubature'}
        """
        return {"kind": self.kind}

    @classmethod
    def from_configuration(cls, configuration: Configuration) -> "Quadrature":
        """The rule that a configuration describes.

        Args:
            configuration: What ``configuration()`` gave.

        Returns:
            The rule.

        Example:
            >>> nke.operators.Simplex.from_configuration({"kind": "simplex"}).configuration()
            {'kind': 'simplex'}
        """
        return cls()


@QUADRATURES.register
class Cubature(Quadrature):
    """2d points ±√d e_i of equal weight: exact for polynomials of degree three.

    Example:
        >>> nke.operators.Cubature().nodes(1)[0].tolist()
        [[1.0], [-1.0]]
    """

    kind: ClassVar[str] = "cubature"

    def nodes(self, d: int) -> tuple[np.ndarray, np.ndarray]:
        """The points ±√d e_i.

        Args:
            d: Number of dimensions.

        Returns:
            Points (2d, d) and weights (2d,).
        """
        axes = np.sqrt(d) * np.eye(d)
        return np.concatenate([axes, -axes]), np.full(2 * d, 0.5 / d)


@QUADRATURES.register
class Simplex(Quadrature):
    """d + 1 points of equal weight at the corners of a regular simplex: exact to degree two, the fewest points.

    Example:
        >>> nke.operators.Simplex().nodes(3)[0].shape
        (4, 3)
    """

    kind: ClassVar[str] = "simplex"

    def nodes(self, d: int) -> tuple[np.ndarray, np.ndarray]:
        """The corners of the simplex.

        Args:
            d: Number of dimensions.

        Returns:
            Points (d + 1, d) and weights (d + 1,).
        """
        # An orthonormal basis of the complement of (1, …, 1) gives corners with mean 0 and covariance I.
        corners = np.zeros((d + 1, d))
        for j in range(d):
            corners[: j + 1, j] = 1.0 / np.sqrt((j + 1) * (j + 2))
            corners[j + 1, j] = -(j + 1) / np.sqrt((j + 1) * (j + 2))
        return corners * np.sqrt(d + 1), np.full(d + 1, 1.0 / (d + 1))


@QUADRATURES.register
class GaussHermite(Quadrature):
    """Tensor product of n-point Gauss–Hermite rules: exact to degree 2n − 1 in each coordinate.

    Attributes:
        order: The number n of points along each coordinate.

    Example:
        >>> nke.operators.GaussHermite(order=3).nodes(2)[0].shape
        (9, 2)
    """

    kind: ClassVar[str] = "gauss-hermite"
    order: int = eqx.field(static=True, default=5)

    def nodes(self, d: int) -> tuple[np.ndarray, np.ndarray]:
        """The grid of points.

        Args:
            d: Number of dimensions.

        Returns:
            Points (nᵈ, d) and weights (nᵈ,).
        """
        x, w = np.polynomial.hermite_e.hermegauss(self.order)
        w = w / w.sum()
        grid = np.stack(np.meshgrid(*[x] * d, indexing="ij"), axis=-1).reshape(-1, d)
        weights = np.stack(np.meshgrid(*[w] * d, indexing="ij"), axis=-1).prod(axis=-1).ravel()
        return grid, weights

    def configuration(self) -> Configuration:
        """The kind of the rule and its order, as JSON values.

        Example:
            >>> nke.operators.GaussHermite(order=3).configuration()
            {'kind': 'gauss-hermite', 'order': 3}
        """
        return {"kind": self.kind, "order": self.order}

    @classmethod
    def from_configuration(cls, configuration: Configuration) -> "GaussHermite":
        """The rule that a configuration describes.

        Args:
            configuration: What ``configuration()`` gave.

        Returns:
            The rule.

        Example:
            >>> nke.operators.GaussHermite.from_configuration({"kind": "gauss-hermite", "order": 3}).order
            3
        """
        return cls(configuration["order"])
