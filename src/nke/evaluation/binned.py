"""Drift and diffusion straight from the data: mean and variance of the motions that begin in a bin of states."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from nke.data import Trajectories
from nke.data.transforms import Periodic
from nke.errors import InputError
from nke.model import Model, as_model

LEAST, MOST = 30, 20  # transitions in a bin at least, and bins at most


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


def binned_motions(model: Any, data: Trajectories, *, most: int = 20_000) -> BinnedMotions:
    """Estimates mean and variance of the motions of one coordinate from the data, and those that a model expects.

    Args:
        model: The model, or the result of a fit, of one coordinate.
        data: Recorded trajectories.
        most: Transitions at most, spread over the record.

    Returns:
        Both, in up to twenty bins that hold equally many transitions.

    Raises:
        InputError: If the model or the data has more than one coordinate.

    Example:
        >>> nke.evaluation.binned_motions(model, data).centre.shape
        (20,)
    """
    model = as_model(model)
    if model.dimension != 1 or data.dimension != 1:
        raise InputError(f"expected one coordinate, but the model has {model.dimension} and the data {data.dimension}")
    steps = data.transitions()
    if len(steps) > most:
        steps = steps.take(np.linspace(0, len(steps) - 1, most).astype(int))
    x, moved, time = steps.x[:, 0], steps.displacement[:, 0], steps.step
    x, moved = _unwrapped(model, x, moved)
    law = model.transition(steps.x, time)
    ahead = np.asarray(law.mean)[:, 0] - steps.x[:, 0]
    spread = np.asarray(law.covariance)[:, 0, 0]
    count = int(np.clip(len(x) // LEAST, 1, MOST))
    rows = [_bin(*part) for part in _bins(count, x, moved, time, ahead, spread)]
    return BinnedMotions(*np.array(rows).T)


def _bins(count: int, x: np.ndarray, *columns: np.ndarray) -> list[tuple[np.ndarray, ...]]:
    """The columns, cut where the states are sorted into equally many."""
    order = np.argsort(x, kind="stable")
    return [tuple(column[part] for column in (x, *columns)) for part in np.array_split(order, count)]


def _bin(x: np.ndarray, moved: np.ndarray, time: np.ndarray, ahead: np.ndarray, spread: np.ndarray) -> list[float]:
    total = time.sum()
    mean, expected = moved.sum() / total, ahead.sum() / total
    around = moved - mean * time
    variance = np.sum(around**2) / total
    error = np.sqrt(np.sum((around**2 - variance * time) ** 2)) / total
    expected_variance = np.sum(spread + (ahead - expected * time) ** 2) / total
    found = (x.mean(), mean, np.sqrt(np.sum(around**2)) / total, variance, error, expected, expected_variance)
    return list(map(float, found))


def _unwrapped(model: Model, x: np.ndarray, moved: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Angles within one turn, and their motions to the nearest turn."""
    transform = model.coordinates.transforms[0]
    if not isinstance(transform, Periodic):
        return x, moved
    period = transform.period
    start = -period / 2 if transform.start is None else transform.start
    near = moved if transform.start is None else (moved + period / 2) % period - period / 2
    return (x - start) % period + start, near
