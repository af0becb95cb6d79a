"""Does a state remember its value over a step? What forgets it shows no drift: increments, returns, noise."""

from dataclasses import dataclass
from functools import partial

import numpy as np
from jaxtyping import Bool, Float
from scipy.spatial import KDTree

from nke.data import Coordinates, Transitions
from nke.fitting.decisions import Decision
from nke.fitting.rules import SelectionRules
from nke.operators import KinematicConstraint


@dataclass(frozen=True)
class Memory:
    """How much each coordinate remembers over a step.

    Attributes:
        names: Of the coordinates.
        neighbours: Correlation of each coordinate with itself one step later.
        predicted: Correlation of each coordinate one step later with what regressions predict of it from all of them.
        error: Their standard error without memory.
        least: Correlation below which a state has forgotten.
    """

    names: tuple[str, ...]
    neighbours: Float[np.ndarray, " d"]
    predicted: Float[np.ndarray, " d"]
    error: float
    least: float

    @classmethod
    def of(
        cls,
        transitions: Transitions,
        coordinates: Coordinates,
        constraint: KinematicConstraint | None,
        names: tuple[str, ...],
        rules: SelectionRules,
    ) -> "Memory":
        """Correlates states with predictions, linear ones and averages over neighbouring states.

        A prediction for one half of the transitions is made from the other half, so that chance predicts nothing.

        Args:
            transitions: Some transitions in the user's units.
            coordinates: Those of training.
            constraint: What is known of angles.
            names: Of the coordinates.
            rules: What counts as forgotten.
        """
        part = np.linspace(0, len(transitions) - 1, min(rules.coordinate_transitions, len(transitions))).astype(int)
        x = coordinates.to(transitions.x[part])
        y = x + coordinates.displacement_to(transitions.displacement[part])
        before, after, owner = *(_columns(z, constraint) for z in (x, y)), _owners(x.shape[1], constraint)
        error, least = len(part) ** -0.5, float(np.exp(-rules.coarse_step))
        predicted = _correlations(_by_halves(before, after, _linear), after)
        open_columns = np.isin(owner, np.flatnonzero(_largest(predicted, owner) + 2 * error < least))
        if open_columns.any():  # neighbours take long to find, and most data remembers in a straight line
            average = partial(_average, neighbours=rules.kurtosis_neighbours)
            found = _correlations(_by_halves(before, after[:, open_columns], average), after[:, open_columns])
            predicted[open_columns] = np.maximum(predicted[open_columns], found)
        return cls(names, _correlations(before, after)[: x.shape[1]], _largest(predicted, owner), error, least)

    @property
    def at_most(self) -> Float[np.ndarray, " d"]:
        """The correlations, two standard errors above what was found."""
        return np.maximum(self.predicted, 0.0) + 2 * self.error

    @property
    def forgotten(self) -> Bool[np.ndarray, " d"]:
        """Which coordinates have forgotten their value after a step, beyond doubt."""
        return self.at_most < self.least

    def decision(self, simplest: bool) -> Decision:
        """Says which coordinates forget.

        Args:
            simplest: Whether only the simplest law is taken for that reason.

        Returns:
            The decision, with a warning.
        """
        every, which = bool(self.forgotten.all()), np.flatnonzero(self.forgotten)
        who = ", ".join(self.names[i] for i in which)
        found = ", ".join(f"{self.neighbours[i]:+.2f}" for i in which)
        return Decision(
            "Does the state remember its value over a step?",
            "no" + ("" if every else f": {who}") + ("; only the simplest law is taken" if simplest else ""),
            {
                self.names[i]: {
                    "correlation between neighbouring states": float(self.neighbours[i]),
                    "correlation with its prediction, at most": float(self.at_most[i]),
                }
                for i in which
            },
            f"no where neither a linear regression nor neighbouring states predict it with a correlation of "
            f"{self.least:.2g}, by two standard errors: a straight restoring drift leaves so much over the coarsest "
            "step",
            "memory",
            f"{'the state' if every else who} forgets its value within a step (correlation {found} between "
            "neighbouring states): these look like increments, returns or noise; if they are increments, cumulate "
            "them (numpy.cumsum) and fit that; otherwise record with a shorter step; drift and diffusion are not to "
            "be trusted",
        )


def _columns(x: Float[np.ndarray, "t d"], constraint: KinematicConstraint | None) -> Float[np.ndarray, "t n"]:
    """The coordinates, angles as cosines and sines."""
    if constraint is None or not constraint.periodic:
        return x
    columns, still = np.array(constraint.seen(x)), list(constraint.invariant)
    columns[:, still] = x[:, still]
    return columns


def _owners(dimension: int, constraint: KinematicConstraint | None) -> np.ndarray:
    """The coordinate that each of the columns belongs to."""
    return np.append(np.arange(dimension), () if constraint is None else constraint.periodic).astype(int)


def _largest(values: Float[np.ndarray, " n"], owner: np.ndarray) -> Float[np.ndarray, " d"]:
    """The largest value of the columns of each coordinate."""
    return np.array([values[owner == i].max() for i in range(owner.max() + 1)])


def _by_halves(x: np.ndarray, y: np.ndarray, predict) -> np.ndarray:
    """Predictions of y from x, each half from what the other shows."""
    first, found = np.random.default_rng(0).permutation(len(x)) < len(x) // 2, np.empty_like(y)
    for half in (first, ~first):
        found[half] = predict(x[~half], y[~half], x[half])
    return found


def _linear(x: np.ndarray, y: np.ndarray, at: np.ndarray) -> np.ndarray:
    columns = lambda x: np.concatenate([np.ones((len(x), 1)), x], axis=1)  # noqa: E731
    return columns(at) @ np.linalg.lstsq(columns(x), y, rcond=None)[0]


def _average(x: np.ndarray, y: np.ndarray, at: np.ndarray, neighbours: int) -> np.ndarray:
    near = np.asarray(KDTree(x).query(at, min(neighbours, len(x)))[1])
    return y[near.reshape(len(at), -1)].mean(axis=1)


def _correlations(a: np.ndarray, b: np.ndarray) -> Float[np.ndarray, " n"]:
    """Correlations, column by column; 1 where a column never changes, which is memory of a kind."""
    a, b = a - a.mean(axis=0), b - b.mean(axis=0)
    size = np.sqrt((a**2).sum(axis=0) * (b**2).sum(axis=0))
    return np.where(size > 0, (a * b).sum(axis=0) / np.where(size > 0, size, 1.0), 1.0)
