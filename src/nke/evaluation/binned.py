"""Drift, diffusion and jumps straight from the data: motions that begin in a bin of states, and their statistics."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr

from nke.data import Trajectories
from nke.data.transforms import Periodic
from nke.errors import InputError
from nke.model import Model, as_model

LEAST, MOST = 30, 20  # transitions in a bin at least, and bins at most
LARGE = 4.0  # standard deviations of the noise of a step, beyond which it makes one motion in 16,000


class BinnedMotions(NamedTuple):
    """Motions of one coordinate, bin by bin, per unit time; and what a model expects of the same motions.

    To first order in the step the mean estimates the total drift f + λ·E[jump] and the variance a + λ·E[jump²]. What
    the model expects is exact for its discrete law of a step, so that the two may be compared at any step.

    Attributes:
        centre: Mean of the states in each bin.
        mean: Mean motion per unit time.
        mean_error: Its standard error.
        variance: Variance of the motions per unit time.
        variance_error: Its standard error.
        expected_mean: Of the model, over the same states and steps.
        expected_variance: Likewise.

    Example:
        >>> found = nke.evaluation.binned_motions(model, data)
        >>> bool(np.mean(np.abs(found.mean - found.expected_mean) < 3 * found.mean_error) > 0.9)
        True
    """

    centre: Float[np.ndarray, " b"]
    mean: Float[np.ndarray, " b"]
    mean_error: Float[np.ndarray, " b"]
    variance: Float[np.ndarray, " b"]
    variance_error: Float[np.ndarray, " b"]
    expected_mean: Float[np.ndarray, " b"]
    expected_variance: Float[np.ndarray, " b"]


class BinnedRates(NamedTuple):
    """How often one coordinate moves by more than the noise does, bin by bin, per unit time.

    Large motions are those farther than four standard deviations of the noise of a step from the drift: jumps, but for
    the small ones among them.

    Attributes:
        centre: Mean of the states in each bin.
        rate: Large motions per unit time.
        error: Its standard error, that of a count.
        expected: Of the model, over the same states and steps.
    """

    centre: Float[np.ndarray, " b"]
    rate: Float[np.ndarray, " b"]
    error: Float[np.ndarray, " b"]
    expected: Float[np.ndarray, " b"]


@dataclass(frozen=True, eq=False)
class Motions:
    """Recorded motions, and what a model expects of each: taken once, to be binned along several coordinates.

    Attributes:
        model: The model.
        x: States before.
        moved: Motions.
        time: Their steps.
        ahead: Mean motion by the model.
        spread: Variance of each coordinate's motion by the model.
        large: Which motions are farther from the drift than the noise goes.
        large_expected: Their probability by the model.

    Example:
        >>> motions = nke.evaluation.Motions.of(model, data)
        >>> motions.binned(0).centre.shape, float(motions.rates(0).rate.max())
        ((20,), 0.0)
    """

    model: Model
    x: Float[np.ndarray, "t d"]
    moved: Float[np.ndarray, "t d"]
    time: Float[np.ndarray, " t"]
    ahead: Float[np.ndarray, "t d"]
    spread: Float[np.ndarray, "t d"]
    large: Float[np.ndarray, "t d"]
    large_expected: Float[np.ndarray, "t d"]

    @classmethod
    def of(cls, model: Any, data: Trajectories, most: int = 20_000) -> "Motions":
        """Takes the motions of recorded trajectories.

        Args:
            model: The model, or the result of a fit.
            data: Recorded trajectories.
            most: Transitions at most, spread over the record.

        Returns:
            The motions.

        Raises:
            InputError: If the data has another number of coordinates than the model.
        """
        model = as_model(model)
        if model.dimension != data.dimension:
            raise InputError(f"expected data with {model.dimension} coordinates, but got {data.dimension}")
        steps = data.transitions()
        if len(steps) > most:
            steps = steps.take(np.linspace(0, len(steps) - 1, most).astype(int))
        x, moved = steps.x.copy(), steps.displacement.copy()
        for i in range(model.dimension):
            x[:, i], moved[:, i] = _unwrapped(model, i, x[:, i], moved[:, i])
        law = model.transition(steps.x, steps.step)
        variances = np.diagonal(np.asarray(law.covariances), axis1=-2, axis2=-1)
        drifted = model.drift(steps.x) * steps.step[:, None]
        noise = np.diagonal(model.diffusion(steps.x), axis1=-2, axis2=-1) * steps.step[:, None]
        reach = np.where(noise > 0, LARGE * np.sqrt(np.maximum(noise, 0.0)), np.inf)
        from_drift = np.asarray(law.means) - (steps.x + drifted)[:, None]
        width = np.sqrt(np.maximum(variances, 1e-300))
        beyond = [ndtr((sign * from_drift - reach[:, None]) / width) for sign in (1.0, -1.0)]
        return cls(
            model,
            x,
            moved,
            steps.step,
            np.asarray(law.mean) - steps.x,
            np.diagonal(np.asarray(law.covariance), axis1=-2, axis2=-1),
            (np.abs(moved - drifted) > reach).astype(np.float64),
            np.einsum("tk,tki->ti", np.asarray(law.weights), beyond[0] + beyond[1]),
        )

    def binned(self, coordinate: int, along: int | None = None) -> BinnedMotions:
        """Averages the motions of one coordinate over bins of another, or of itself.

        Args:
            coordinate: That moves.
            along: Whose states are sorted into bins; by default the same.

        Returns:
            Mean and variance in up to twenty bins that hold equally many transitions.
        """
        columns = (part[:, coordinate] for part in (self.moved, self.ahead, self.spread))
        moved, ahead, spread = columns
        parts = self._bins(coordinate if along is None else along, moved, self.time, ahead, spread)
        return BinnedMotions(*np.array([_bin(*part) for part in parts]).T)

    def rates(self, coordinate: int, along: int | None = None) -> BinnedRates:
        """Counts the large motions of one coordinate in bins of another, or of itself.

        Args:
            coordinate: That moves.
            along: Whose states are sorted into bins; by default the same.

        Returns:
            Rates in up to twenty bins that hold equally many transitions.
        """
        large, expected = self.large[:, coordinate], self.large_expected[:, coordinate]
        parts = self._bins(coordinate if along is None else along, large, self.time, expected)
        rows = [
            (x.mean(), count.sum() / time.sum(), np.sqrt(max(count.sum(), 1.0)) / time.sum(), share.sum() / time.sum())
            for x, count, time, share in parts
        ]
        return BinnedRates(*np.array(rows).T)

    def _bins(self, along: int, *columns: np.ndarray) -> list[tuple[np.ndarray, ...]]:
        """The columns, cut where the states are sorted into equally many."""
        x = self.x[:, along]
        order = np.argsort(x, kind="stable")
        count = int(np.clip(len(x) // LEAST, 1, MOST))
        return [tuple(column[part] for column in (x, *columns)) for part in np.array_split(order, count)]


def binned_motions(
    model: Any, data: Trajectories, *, coordinate: int = 0, along: int | None = None, most: int = 20_000
) -> BinnedMotions:
    """Estimates mean and variance of the motions of a coordinate from the data, and those that a model expects.

    Args:
        model: The model, or the result of a fit.
        data: Recorded trajectories.
        coordinate: That moves.
        along: Whose states are sorted into bins; by default the same.
        most: Transitions at most, spread over the record.

    Returns:
        Both, in up to twenty bins that hold equally many transitions.

    Raises:
        InputError: If the data has another number of coordinates than the model.

    Example:
        >>> nke.evaluation.binned_motions(model, data).centre.shape
        (20,)
    """
    return Motions.of(model, data, most).binned(coordinate, along)


def _bin(x: np.ndarray, moved: np.ndarray, time: np.ndarray, ahead: np.ndarray, spread: np.ndarray) -> list[float]:
    total = time.sum()
    mean, expected = moved.sum() / total, ahead.sum() / total
    around = moved - mean * time
    variance = np.sum(around**2) / total
    error = np.sqrt(np.sum((around**2 - variance * time) ** 2)) / total
    expected_variance = np.sum(spread + (ahead - expected * time) ** 2) / total
    found = (x.mean(), mean, np.sqrt(np.sum(around**2)) / total, variance, error, expected, expected_variance)
    return list(map(float, found))


def _unwrapped(model: Model, i: int, x: np.ndarray, moved: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Angles within one turn, and their motions to the nearest turn."""
    transform = model.coordinates.transforms[i]
    if not isinstance(transform, Periodic):
        return x, moved
    period = transform.period
    start = -period / 2 if transform.start is None else transform.start
    near = moved if transform.start is None else (moved + period / 2) % period - period / 2
    return (x - start) % period + start, near
