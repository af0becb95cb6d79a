"""Smooth functions of the state: a polynomial plus kernels around fixed centres, linear in what is learned."""

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from nke.arrays import Array as AnyArray
from nke.arrays import compiled, namespace, tril_matrix
from nke.operators.configuration import Configuration
from nke.operators.networks.diffusion_factors import FACTORS
from nke.operators.networks.drift import DRIFTS
from nke.operators.networks.limits import Limits, limited, limits_of, restored_limits, stored_limits
from nke.operators.networks.parameters import Fixed
from nke.operators.networks.polynomial import Pairs, monomial_degrees, monomials
from nke.operators.networks.seen_states import SeenStates

MOST_LOG = 10.0  # largest |log| of a noise or a rate over its start, so that no state makes them overflow


def bounded_exponential(logarithm: Array) -> Array:
    """The exponential, of no more than ``MOST_LOG``."""
    return jnp.exp(jnp.clip(logarithm, -MOST_LOG, MOST_LOG))


class Curve(NamedTuple):
    """The feature log max(v, limit), or exp v with |v| ≤ limit, of one column, v = (x_j − zero)/size.

    Logarithms of a positive column, in which noise in proportion to a power of it is a straight line; exponentials of a
    column that is a logarithm, in which growth rates by powers of the column itself are.

    Attributes:
        column: The column j.
        exponential: Whether it is exp v; otherwise log v.
        zero: What counts as zero.
        size: What counts as one; negative for the exponential of −x, and for the logarithm of what lacks to a bound.
        limit: Least v of a logarithm, and largest |v| of an exponential.
    """

    column: int
    exponential: bool
    zero: float
    size: float
    limit: float

    def __call__(self, x: Float[AnyArray, "*batch d"]) -> Float[AnyArray, "*batch"]:
        """The feature of states, NumPy or JAX."""
        xp = namespace(x)
        v = (x[..., self.column] - self.zero) / self.size
        return xp.exp(xp.clip(v, -self.limit, self.limit)) if self.exponential else xp.log(xp.maximum(v, self.limit))


class SmoothBasis(eqx.Module):
    """The features 1, monomials(x), R·exp(−½ Σ_j p_mj (x_j − c_mj)²), and curves of single columns.

    The kernels may look at few coordinates each: where p_mj = 0, x_j does not matter to them. Beyond the data they
    vanish, and the polynomial is what remains.

    Args:
        degree: Of the polynomial.
        centres: Centre c of every kernel.
        precisions: One over the squared length scales p of every kernel.
        projections: The matrices R that combine kernels to features, one after the other: each has the kernels that
            follow those of the one before, and a column for each feature.
        pairs: Columns that are cosine and sine of one angle.
        curves: Logarithms of positive columns, of which a sum is the logarithm of a product of powers; exponentials of
            columns that are logarithms.

    Attributes:
        centres: As above, not trained.
        precisions: As above, not trained.
        projections: As above, not trained.
        degree: As above.
        pairs: As above.
        curves: As above.

    Example:
        >>> import jax.numpy as jnp
        >>> one = jnp.ones((1, 1))
        >>> basis = nke.operators.SmoothBasis(1, centres=2 * one, precisions=one, projections=[one])
        >>> basis(jnp.array([2.0])).tolist()  # 1, x and the kernel at its centre
        [1.0, 2.0, 1.0]
    """

    centres: Fixed
    precisions: Fixed
    projections: list[Fixed]
    degree: int = eqx.field(static=True)
    pairs: Pairs = eqx.field(static=True)
    curves: tuple[Curve, ...] = eqx.field(static=True)

    def __init__(
        self,
        degree: int,
        centres: Float[AnyArray, "c d"],
        precisions: Float[AnyArray, "c d"],
        projections: Sequence[Float[AnyArray, "_ _"]],
        pairs: Pairs = (),
        curves: Sequence[Curve] = (),
    ):
        self.centres, self.precisions = (Fixed(jnp.asarray(a, jnp.float32)) for a in (centres, precisions))
        self.projections = [Fixed(jnp.asarray(a, jnp.float32)) for a in projections]
        self.degree, self.pairs, self.curves = degree, pairs, tuple(curves)

    @property
    def size(self) -> int:
        """Number of features.

        Example:
            >>> import jax.numpy as jnp
            >>> one = jnp.ones((1, 1))
            >>> nke.operators.SmoothBasis(3, one, one, [one]).size
            5
        """
        inputs, kernels = self.centres.value.shape[1], sum(part.value.shape[1] for part in self.projections)
        return 1 + len(monomial_degrees(inputs, self.degree, self.pairs)) + kernels + len(self.curves)

    @property
    def powers(self) -> int:
        """Number of features that are powers; they come first.

        Example:
            >>> import jax.numpy as jnp
            >>> one = jnp.ones((1, 1))
            >>> nke.operators.SmoothBasis(3, one, one, [one]).powers  # 1, x, x² and x³
            4
        """
        return self.size - sum(part.value.shape[1] for part in self.projections) - len(self.curves)

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, " f"]:
        """The features of one state."""
        gap = x - self.centres.value
        kernels = jnp.exp(-jnp.sum(self.precisions.value * gap * gap, axis=-1) / 2)
        parts = jnp.split(kernels, np.cumsum([len(part.value) for part in self.projections[:-1]]))
        features = [k @ part.value for k, part in zip(parts, self.projections, strict=True)] if self.projections else []
        curves = [curve(x)[None] for curve in self.curves]
        return jnp.concatenate([jnp.ones_like(x[:1]), monomials(x, self.degree, self.pairs), *features, *curves])

    def configuration(self) -> Configuration:
        """Degree and sizes, as JSON values.

        Example:
            >>> import jax.numpy as jnp
            >>> one = jnp.ones((1, 1))
            >>> nke.operators.SmoothBasis(1, one, one, [one]).configuration()
            {'degree': 1, 'kernels': [[1, 1]]}
        """
        kernels = [list(part.value.shape) for part in self.projections]
        pairs = {"pairs": [list(pair) for pair in self.pairs]} if self.pairs else {}
        curves = {"curves": [list(curve) for curve in self.curves]} if self.curves else {}
        return {"degree": self.degree, "kernels": kernels, **pairs, **curves}

    @classmethod
    def from_configuration(cls, configuration: Configuration, inputs: int) -> "SmoothBasis":
        """A basis of the described structure, its arrays still to be filled.

        Args:
            configuration: What ``configuration()`` gave.
            inputs: Number of coordinates of the state.

        Returns:
            The basis.

        Example:
            >>> stored = {"degree": 2, "kernels": [[4, 3]]}
            >>> nke.operators.SmoothBasis.from_configuration(stored, inputs=2).configuration() == stored
            True
        """
        projections = [jnp.zeros(shape) for shape in configuration["kernels"]]
        at = jnp.zeros((sum(len(part) for part in projections), inputs))
        pairs = tuple((int(i), int(j)) for i, j in configuration.get("pairs", ()))
        curves = [Curve(int(c[0]), bool(c[1]), *map(float, c[2:])) for c in configuration.get("curves", ())]
        return cls(configuration["degree"], at, at, projections, pairs, curves)


class SmoothFunction(eqx.Module):
    """Several functions of the state, each a weighted sum of some of the features.

    Args:
        basis: The features.
        weights: A row for each function, a column for each feature.
        used: Which of the weights are learned; the others are zero. All by default.
        limits: Lowest and highest value of each function, which it keeps where it would leave them; None: it has none.

    Attributes:
        basis: As above.
        limits: As above.
        weights: Those that are learned, one after the other; they are what is learned.
        columns: The feature of each of them.
        rows: Matrix that adds them up: a row for each function, with ones for its weights. Not trained.

    Example:
        >>> import jax.numpy as jnp
        >>> one = jnp.ones((1, 1))
        >>> basis = nke.operators.SmoothBasis(1, centres=2 * one, precisions=one, projections=[one])
        >>> nke.operators.SmoothFunction(basis, jnp.array([[0.5, 0.0, 3.0]]))(jnp.array([2.0])).tolist()
        [3.5]
    """

    basis: SmoothBasis
    weights: Float[Array, " p"]
    columns: Int[Array, " p"]
    rows: Fixed
    limits: Limits | None = eqx.field(static=True)

    def __init__(
        self,
        basis: SmoothBasis,
        weights: Float[AnyArray, "o f"],
        used: Bool[np.ndarray, "o f"] | None = None,
        limits: Limits | None = None,
    ):
        used = np.ones(weights.shape, bool) if used is None else used
        rows, columns = np.nonzero(used)
        self.basis, self.limits = basis, limits
        self.weights = jnp.asarray(np.asarray(weights, np.float32)[rows, columns])
        self.columns = jnp.asarray(columns.astype(np.int32))
        self.rows = Fixed(jnp.asarray((rows == np.arange(len(weights))[:, None]).astype(np.float32)))

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, " o"]:
        """The values at one state."""
        return limited(self.rows.value @ (self.weights * self.basis(x)[self.columns]), self.limits)

    def within(self, x: Float[AnyArray, "n d"]) -> "SmoothFunction":
        """The function that has no values beyond those at some states.

        Kernels that cancel each other within the data need not do so beyond it, and an exponential makes much of that.

        Args:
            x: The states.

        Returns:
            The limited function.

        Example:
            >>> import jax.numpy as jnp
            >>> one = jnp.ones((1, 1))
            >>> line = nke.operators.SmoothFunction(nke.operators.SmoothBasis(1, one, one, []), jnp.array([[0, 2.0]]))
            >>> line.within(np.array([[0.0], [1.0]]))(jnp.array([5.0])).tolist()
            [2.0]
        """
        values = np.asarray(_values(self, jnp.asarray(np.asarray(x, np.float32))), np.float64)
        return SmoothFunction(self.basis, self.table, self.used, limits_of(values))

    def unlimited(self) -> "SmoothFunction":
        """The function without limits: at them its derivatives are zero, which says nothing about its errors.

        Returns:
            A function of the same weights.

        Example:
            >>> import jax.numpy as jnp
            >>> one = jnp.ones((1, 1))
            >>> line = nke.operators.SmoothFunction(nke.operators.SmoothBasis(1, one, one, []), jnp.array([[0, 2.0]]))
            >>> line.within(np.array([[0.0], [1.0]])).unlimited()(jnp.array([5.0])).tolist()
            [10.0]
        """
        same = object.__new__(SmoothFunction)  # also of traced weights, which cannot be read
        for name in ("basis", "weights", "columns", "rows"):
            object.__setattr__(same, name, getattr(self, name))
        object.__setattr__(same, "limits", None)
        return same

    @property
    def table(self) -> Float[np.ndarray, "o f"]:
        """All weights, zero where none is learned.

        Example:
            >>> import jax.numpy as jnp
            >>> one = jnp.ones((1, 1))
            >>> basis, used = nke.operators.SmoothBasis(1, one, one, [one]), np.array([[True, False, True]])
            >>> nke.operators.SmoothFunction(basis, jnp.ones((1, 3)), used).table.tolist()
            [[1.0, 0.0, 1.0]]
        """
        table = np.zeros((len(self.rows.value), self.basis.size))
        table[self._places] = self.weights
        return table

    @property
    def used(self) -> Bool[np.ndarray, "o f"]:
        """Which weights are learned.

        Example:
            >>> import jax.numpy as jnp
            >>> one = jnp.ones((1, 1))
            >>> nke.operators.SmoothFunction(nke.operators.SmoothBasis(1, one, one, [one]), jnp.ones((1, 3))).used.sum()
            np.int64(3)
        """
        used = np.zeros((len(self.rows.value), self.basis.size), bool)
        used[self._places] = True
        return used

    @property
    def _places(self) -> tuple[Int[np.ndarray, " w"], Int[np.ndarray, " w"]]:
        """Output and feature of each weight."""
        return np.argmax(np.asarray(self.rows.value), axis=0), np.asarray(self.columns)

    def with_outputs(self, rows: Int[np.ndarray, " n"]) -> "SmoothFunction":
        """The function with some of its outputs.

        Args:
            rows: Which, in their new order.

        Returns:
            The smaller function.

        Example:
            >>> import jax.numpy as jnp
            >>> one = jnp.ones((1, 1))
            >>> both = nke.operators.SmoothFunction(nke.operators.SmoothBasis(1, one, one, [one]), jnp.eye(2, 3))
            >>> both.with_outputs(np.array([1])).table.tolist()
            [[0.0, 1.0, 0.0]]
        """
        limits = None if self.limits is None else tuple(self.limits[i] for i in rows)
        return SmoothFunction(self.basis, self.table[rows], self.used[rows], limits)

    def configuration(self) -> Configuration:
        """Degree and sizes, as JSON values.

        Example:
            >>> import jax.numpy as jnp
            >>> one = jnp.ones((1, 1))
            >>> basis = nke.operators.SmoothBasis(1, one, one, [one])
            >>> nke.operators.SmoothFunction(basis, jnp.eye(2, 3)).configuration()
            {'degree': 1, 'kernels': [[1, 1]], 'weights': 6}
        """
        return {**self.basis.configuration(), "weights": len(self.weights), **stored_limits(self.limits)}

    @classmethod
    def from_configuration(cls, configuration: Configuration, inputs: int, outputs: int) -> "SmoothFunction":
        """A function of the described structure, its arrays still to be filled.

        Args:
            configuration: What ``configuration()`` gave.
            inputs: Number of coordinates of the state.
            outputs: Number of functions.

        Returns:
            The function.

        Example:
            >>> stored = {"degree": 1, "kernels": [[4, 3]], "weights": 7}
            >>> nke.operators.SmoothFunction.from_configuration(stored, 2, 2).configuration() == stored
            True
        """
        basis = SmoothBasis.from_configuration(configuration, inputs)
        used = np.arange(outputs * basis.size).reshape(outputs, basis.size) < configuration["weights"]
        return cls(basis, jnp.zeros(used.shape), used, restored_limits(configuration.get("limits")))


@compiled
def _values(function: SmoothFunction, x: Float[Array, "n d"]) -> Float[Array, "n o"]:
    return jax.vmap(function)(x)


@DRIFTS.register
class SmoothDrift(eqx.Module):
    """f(x) = scale · W·basis(x).

    Args:
        body: The functions.
        scale: Size of the drift of each coordinate that it gives.
        seen: States of the data, if the drift is to be that at the nearest of them where there are none.

    Attributes:
        body: As above.
        scale: As above, not trained.
        seen: As above.

    Example:
        >>> import jax.numpy as jnp
        >>> one = jnp.ones((1, 1))
        >>> body = nke.operators.SmoothFunction(nke.operators.SmoothBasis(1, one, one, [one]), jnp.array([[1.0, 0, 0]]))
        >>> nke.operators.SmoothDrift(body, jnp.array([2.0]))(jnp.array([5.0])).tolist()
        [2.0]
    """

    kind: ClassVar[str] = "smooth"
    body: SmoothFunction
    scale: Fixed
    seen: SeenStates | None

    def __init__(self, body: SmoothFunction, scale: Float[AnyArray, " r"], seen: SeenStates | None = None):
        self.body, self.scale, self.seen = body, Fixed(jnp.asarray(scale, jnp.float32)), seen

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, " r"]:
        """The drift at one state."""
        return self.scale.value * self.body(x if self.seen is None else self.seen.nearest(x))

    def within(self, x: Float[np.ndarray, "n d"]) -> "SmoothDrift":
        """The drift that is, beyond some states, as at the nearest of them: powers and kernels say nothing there.

        Args:
            x: The states.

        Returns:
            A drift that is the same at these states.

        Example:
            >>> import jax.numpy as jnp
            >>> one = jnp.ones((1, 1))
            >>> line = nke.operators.SmoothFunction(nke.operators.SmoothBasis(1, one, one, []), jnp.array([[0, 2.0]]))
            >>> drift = nke.operators.SmoothDrift(line, jnp.ones(1))
            >>> drift.within(np.array([[0.0], [1.0]]))(jnp.array([5.0])).tolist()
            [2.0]
        """
        return SmoothDrift(self.body, self.scale.value, SeenStates.of(x))

    def configuration(self) -> Configuration:
        """The kind of the drift and its sizes, as JSON values.

        Example:
            >>> import jax.numpy as jnp
            >>> one = jnp.ones((1, 1))
            >>> body = nke.operators.SmoothFunction(nke.operators.SmoothBasis(1, one, one, [one]), jnp.zeros((1, 3)))
            >>> nke.operators.SmoothDrift(body, jnp.ones(1)).configuration()
            {'kind': 'smooth', 'degree': 1, 'kernels': [[1, 1]], 'weights': 3}
        """
        seen = {} if self.seen is None else {"seen": self.seen.configuration()}
        return {"kind": self.kind, **self.body.configuration(), **seen}

    @classmethod
    def from_configuration(cls, configuration: Configuration, inputs: int, outputs: int) -> "SmoothDrift":
        """A drift of the described structure, its arrays still to be filled.

        Args:
            configuration: What ``configuration()`` gave.
            inputs: Number of coordinates of the state.
            outputs: Number of coordinates that the drift is given for.

        Returns:
            The drift.

        Example:
            >>> stored = {"kind": "smooth", "degree": 1, "kernels": [[4, 3]], "weights": 5}
            >>> nke.operators.SmoothDrift.from_configuration(stored, inputs=2, outputs=1).configuration() == stored
            True
        """
        seen = SeenStates.from_configuration(configuration.get("seen"), inputs)
        return cls(SmoothFunction.from_configuration(configuration, inputs, outputs), jnp.ones(outputs), seen)


@FACTORS.register
class SmoothFactor(eqx.Module):
    """g(x) = start · L(x), L lower triangular, its entries and the logarithms of its diagonal W·basis(x).

    Every positive definite a = g gᵀ is of this form, and any weights give one.

    Args:
        body: The functions: entries of a lower triangle, row by row.
        start: The factor that zero weights give, everywhere.

    Attributes:
        body: As above.
        start: As above, not trained.

    Example:
        >>> import jax.numpy as jnp
        >>> one = jnp.ones((1, 1))
        >>> body = nke.operators.SmoothFunction(nke.operators.SmoothBasis(1, one, one, [one]), jnp.array([[0, 1.0, 0]]))
        >>> round(float(nke.operators.SmoothFactor(body, 2 * one)(jnp.array([1.0]))[0, 0]), 3)  # 2·e¹
        5.437
    """

    kind: ClassVar[str] = "smooth"
    body: SmoothFunction
    start: Fixed

    def __init__(self, body: SmoothFunction, start: Float[Array, "r r"]):
        self.body, self.start = body, Fixed(jnp.asarray(start, jnp.float32))

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, "r r"]:
        """The factor at one state."""
        lower = tril_matrix(self.body(x), len(self.start.value))
        # The exponentials in their place, not by difference: a small one would be lost to rounding.
        return self.start.value @ (jnp.tril(lower, -1) + jnp.diag(bounded_exponential(jnp.diagonal(lower))))

    def configuration(self) -> Configuration:
        """The kind of the factor and its sizes, as JSON values.

        Example:
            >>> import jax.numpy as jnp
            >>> one = jnp.ones((1, 1))
            >>> body = nke.operators.SmoothFunction(nke.operators.SmoothBasis(1, one, one, [one]), jnp.zeros((1, 3)))
            >>> nke.operators.SmoothFactor(body, one).configuration()
            {'kind': 'smooth', 'degree': 1, 'kernels': [[1, 1]], 'weights': 3}
        """
        return {"kind": self.kind, **self.body.configuration()}

    @classmethod
    def from_configuration(cls, configuration: Configuration, inputs: int, outputs: int) -> "SmoothFactor":
        """A factor of the described structure, its arrays still to be filled.

        Args:
            configuration: What ``configuration()`` gave.
            inputs: Number of coordinates of the state.
            outputs: Number of coordinates that have noise.

        Returns:
            The factor.

        Example:
            >>> stored = {"kind": "smooth", "degree": 1, "kernels": [[4, 3]], "weights": 5}
            >>> nke.operators.SmoothFactor.from_configuration(stored, inputs=2, outputs=2).configuration() == stored
            True
        """
        return cls(
            SmoothFunction.from_configuration(configuration, inputs, outputs * (outputs + 1) // 2), jnp.eye(outputs)
        )
