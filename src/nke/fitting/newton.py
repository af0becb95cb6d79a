"""Newton's method by scores, for parameters in one vector.

All of it rests on the scores s_i = ∂ log p(y_i | x_i) / ∂θ of single transitions. The sum of s sᵀ is the information,
so that a step of Newton's method is (Σ s sᵀ)⁻¹ Σ s.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float

from nke.arrays import Array as AnyArray
from nke.arrays import compiled
from nke.fitting.batches import Steps, float32
from nke.fitting.optimiser import Optimised, Outcome
from nke.fitting.polynomial_scores import PolynomialScores
from nke.operators import Generator, TransitionRule

BATCH = 1 << 13  # transitions at a time, in one compiled program


may_overflow = np.errstate(over="ignore", invalid="ignore", divide="ignore")  # of trials, looked at as a whole later


class Sums(NamedTuple):
    """Sums over transitions: of the log density, of its scores, of their products."""

    value: float
    gradient: Float[np.ndarray, " p"]
    information: Float[np.ndarray, "p p"]

    @property
    def finite(self) -> bool:
        """Whether value and information are finite."""
        return bool(np.isfinite(self.value)) and bool(np.isfinite(self.information).all())


class Unravel(NamedTuple):
    """From the entries of arrays in a row to the arrays: without programs, of which each shape would need its own.

    Attributes:
        structure: Of the tree of arrays.
        shapes: Of the arrays.
    """

    structure: Any
    shapes: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, tree: Any) -> "Unravel":
        """Looks at a tree of arrays."""
        leaves, structure = jax.tree.flatten(tree)
        return cls(structure, tuple(np.shape(leaf) for leaf in leaves))

    def __call__(self, entries: Float[AnyArray, "*n p"]) -> Any:
        """Gives the tree; of several rows of entries that of several rows of arrays."""
        ends, rows = np.cumsum([int(np.prod(shape)) for shape in self.shapes]), entries.shape[:-1]
        parts = [
            entries[..., end - int(np.prod(shape)) : end].reshape(*rows, *shape)
            for end, shape in zip(ends, self.shapes, strict=True)
        ]
        return self.structure.unflatten(parts)


@dataclass(frozen=True)
class ParameterVector:
    """The trained arrays of a generator as one vector.

    Attributes:
        fixed: The generator without its trained arrays.
        unravel: Gives the arrays, in the structure of the generator, from all of their entries in a row.
        places: Where in the vector the entries of each trained array are, in the structure of the generator.
        to_arrays: Matrix that takes the vector to the entries of the arrays; None: they are the same.
        values: The vector.
        active: Which entries are free; the others are zero.
        direct: Scores that need no compiled program; None where the law has none.
    """

    fixed: Any
    unravel: "Unravel"
    places: Any
    to_arrays: Float[np.ndarray, "p p"] | None
    values: Float[np.ndarray, " p"]
    active: Bool[np.ndarray, " p"]
    direct: PolynomialScores | None = None

    @classmethod
    def of(
        cls, generator: Generator, mask: Any, to_arrays: Callable[[Any], Float[np.ndarray, "p p"]] | None = None
    ) -> "ParameterVector":
        """Collects the arrays of a generator.

        Args:
            generator: The law.
            mask: True for arrays that are trained.
            to_arrays: Gives the matrix from the vector to the arrays, from the places of the arrays' entries in it;
                None: the vector is the arrays.

        Returns:
            The vector, all of it active.
        """
        trained, fixed = eqx.partition(generator, mask)
        unravel = Unravel.of(trained)
        entries = np.concatenate([np.zeros(0), *(np.ravel(leaf) for leaf in jax.tree.leaves(trained))])
        places = unravel(np.arange(len(entries), dtype=np.float32))
        matrix = None if to_arrays is None else to_arrays(places)
        values = entries if matrix is None else np.linalg.solve(matrix, entries)
        active, direct = np.ones(len(entries), bool), PolynomialScores.of(generator, places)
        return cls(fixed, unravel, places, matrix, values, active, direct)

    @property
    def generator(self) -> Generator:
        """The law with these parameters."""
        return eqx.combine(self.arrays(), self.fixed)

    def arrays(self) -> Any:
        """Gives the trained arrays."""
        return jax.tree.map(float32, self.unravel(self.entries(self.values)))

    def entries(self, values: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        """Gives the entries of the arrays for other values of the vector, or for several side by side."""
        return values if self.to_arrays is None else self.to_arrays @ values

    def at(self, values: Float[np.ndarray, " p"]) -> "ParameterVector":
        """Gives the same with other values."""
        return replace(self, values=values)

    def log_prob(self, rule: TransitionRule, data: Steps) -> Float[np.ndarray, " t"]:
        """Computes the log density of every transition.

        By the program that gives the scores: another one would take longer to compile than to run.
        """
        return np.concatenate([value for value, _ in self._scored(rule, data)])

    def scores(self, rule: TransitionRule, data: Steps) -> Float[np.ndarray, "t p"]:
        """Computes the score of every transition."""
        return np.concatenate([score for _, score in self._scored(rule, data)])

    @may_overflow
    def sums(self, rule: TransitionRule, data: Steps) -> Sums:
        """Computes value, gradient and information over all transitions."""
        parts = [Sums(value.sum(), s.sum(axis=0), s.T @ s) for value, s in self._scored(rule, data)]
        return Sums(*(np.sum(side, axis=0) for side in zip(*parts, strict=True)))

    def _scored(self, rule: TransitionRule, data: Steps) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Log densities and scores, a batch at a time."""
        if self.direct is not None and self.direct.suits(rule):
            for value, score in self.direct.batches(rule, self.entries(self.values), data):
                yield value, self._by_values(score)
            return
        trained, arrays, count = self.arrays(), [np.asarray(a) for a in data], len(data.step)
        for begin in range(0, count, BATCH):
            # All of one size, the last one filled up: a remainder would be compiled a second time.
            part = [a[begin : begin + BATCH] for a in arrays]
            whole = [jnp.asarray(np.resize(a, (BATCH, *a.shape[1:]))) for a in part]
            value, score = (np.asarray(a, np.float64) for a in _scores(rule, trained, self.fixed, *whole))
            value, score = value[: count - begin], score[: count - begin]
            yield value, self._by_values(score)

    def _by_values(self, scores: Float[np.ndarray, "t p"]) -> Float[np.ndarray, "t p"]:
        """Scores by the vector from those by the entries of the arrays."""
        return scores if self.to_arrays is None else scores @ self.to_arrays


@dataclass(frozen=True)
class Newton:
    """Newton's method over the active parameters, until a step gains no more than the tolerance.

    Attributes:
        iterations: Steps at most.
        tolerance: Nats, of all transitions together, that another step would gain.
        halvings: Of a step that gains nothing.
        short: Halvings from which on a small gain does not mean that there is little to gain.
    """

    iterations: int = 8
    tolerance: float = 0.02
    halvings: int = 8
    short: int = 4

    def run(
        self,
        objective: TransitionRule,
        start: ParameterVector,
        data: Steps,
        advance: Callable[[int], None] = lambda iterations: None,
    ) -> Optimised[Sums]:
        """Maximises the log density of transitions.

        Args:
            objective: The discrete model whose density it is.
            start: The parameters to begin with.
            data: The transitions.
            advance: Callback that receives the number of steps taken.

        Returns:
            The parameters, how it ended, and value, gradient and information there.
        """
        at, on = start, start.active
        now, outcome = at.sums(objective, data), Outcome.BUDGET_USED
        for _ in range(self.iterations):
            gradient = now.gradient[on]
            step = inverse_information(now.information[np.ix_(on, on)]) @ gradient
            if outcome is Outcome.CONVERGED or gradient @ step / 2 < self.tolerance:
                outcome = Outcome.CONVERGED
                break
            for halving in range(self.halvings):
                values = at.values.copy()
                values[on] += step / 2**halving
                trial = at.at(values)
                new = trial.sums(objective, data)
                if new.value > now.value and new.finite:
                    break
            else:
                outcome = Outcome.NO_PROGRESS
                break
            settled = halving < self.short and new.value - now.value < self.tolerance
            outcome = Outcome.CONVERGED if settled else Outcome.BUDGET_USED
            at, now = trial, new
            advance(1)
        return Optimised(at, outcome if now.finite else Outcome.NOT_FINITE, now)


def inverse_information(
    information: Float[np.ndarray, "p p"], prior: float = 1.0, rounding: float = 1e-12
) -> Float[np.ndarray, "p p"]:
    """Inverts an information matrix in units in which its diagonal is one: far states may give it entries of any size.

    Args:
        information: Σ s sᵀ.
        prior: Information beside that of the data; parameters are of order one, so that it weighs one transition or so.
        rounding: Relative error of sums over all transitions.

    Returns:
        The covariance of the parameters.
    """
    whole = information + prior * np.eye(len(information))
    scale = 1 / np.sqrt(np.diag(whole))
    return scale[:, None] * np.linalg.inv(scale[:, None] * whole * scale + rounding * np.eye(len(whole))) * scale


@compiled
def _scores(
    rule: TransitionRule, trained: Any, fixed: Any, x: Array, displacement: Array, step: Array
) -> tuple[Float[Array, " t"], Float[Array, "t p"]]:
    def one(x, displacement, step):
        log_prob = lambda trained: rule.log_prob(eqx.combine(trained, fixed), x, displacement, step)  # noqa: E731
        value, gradient = jax.value_and_grad(log_prob)(trained)
        return value, ravel_pytree(gradient)[0]

    return jax.vmap(one)(x, displacement, step)
