"""Every metric between two ensembles of paths: the paper's three, and those that see jumps and joint laws."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import kurtosis

from nke.evaluation.ensemble import ensemble_metrics, wasserstein


class PathMetrics(NamedTuple):
    """Metrics between two ensembles of paths; the first three are the paper's.

    Attributes:
        mean_mse: Squared difference of the ensemble means, averaged over times and coordinates.
        covariance_mse: The same over the entries of the covariance matrices.
        wasserstein: W1 at each time in each coordinate, averaged.
        sliced_wasserstein: W1 along random directions at each time, averaged; it sees the joint law.
        increment_wasserstein: W1 of one-step increments, each coordinate in units of the reference's standard
            deviation; it sees jumps.
        increment_kurtosis: Excess kurtosis of the generated increments, averaged over coordinates.
        kurtosis_error: Its distance from that of the reference, averaged over coordinates.

    Example:
        >>> paths = np.random.default_rng(0).normal(size=(100, 5, 2)).cumsum(axis=1)
        >>> nke.evaluation.path_metrics(2 * paths, reference=paths).increment_wasserstein > 0.5
        True
    """

    mean_mse: float
    covariance_mse: float
    wasserstein: float
    sliced_wasserstein: float
    increment_wasserstein: float
    increment_kurtosis: float
    kurtosis_error: float


def path_metrics(generated: ArrayLike, *, reference: ArrayLike) -> PathMetrics:
    """Compares two ensembles of paths; the common start is included, as in the paper.

    Args:
        generated: Paths of a model, shape (m, t, d).
        reference: Paths to compare with on the same times, shape (n, t, d).

    Returns:
        All metrics; those of increments and kurtosis do not depend on units, the others are in those of the paths.

    Example:
        >>> paths = np.random.default_rng(0).normal(size=(100, 5, 2)).cumsum(axis=1)
        >>> metrics = nke.evaluation.path_metrics(paths + 0.5, reference=paths)
        >>> round(metrics.wasserstein, 6), round(metrics.increment_wasserstein, 6)
        (0.5, 0.0)
    """
    generated, reference = np.asarray(generated), np.asarray(reference)
    displacement, expected = (np.diff(p, axis=1).reshape(-1, p.shape[-1]) for p in (generated, reference))
    deviation = expected.std(axis=0)
    found, true = kurtosis(displacement, axis=0), kurtosis(expected, axis=0)
    return PathMetrics(
        *ensemble_metrics(generated, reference),
        sliced_wasserstein=sliced_wasserstein(generated, reference),
        increment_wasserstein=float(np.mean(wasserstein(displacement, expected) / deviation)),
        increment_kurtosis=float(np.mean(found)),
        kurtosis_error=float(np.mean(np.abs(found - true))),
    )


def sliced_wasserstein(a: ArrayLike, b: ArrayLike, directions: int = 16, seed: int = 0) -> float:
    """Computes W1 of the projections onto random unit vectors, averaged over them and over the times.

    Args:
        a: One ensemble of paths, shape (m, t, d).
        b: The other one, shape (n, t, d).
        directions: Number of unit vectors.
        seed: Of the unit vectors.

    Returns:
        The distance, in the units of the paths.

    Example:
        >>> paths = np.random.default_rng(0).normal(size=(100, 5, 1))
        >>> round(nke.evaluation.sliced_wasserstein(paths + 0.5, paths), 6)
        0.5
    """
    a, b = np.asarray(a), np.asarray(b)
    axes = np.random.default_rng(seed).standard_normal((a.shape[-1], directions))
    axes /= np.linalg.norm(axes, axis=0)
    # One direction at a time: all at once would hold the ensemble many times over.
    return float(np.mean([wasserstein(a @ axis, b @ axis) for axis in axes.T]))
