"""Every metric between two ensembles of paths: the paper's three, and those that see jumps and joint laws."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.stats import kurtosis

from nke.evaluation.ensemble import ensemble_metrics, wasserstein

DIRECTIONS = 16  # of the sliced distance


class PathMetrics(NamedTuple):
    """The first three are the paper's."""

    mean_mse: float
    covariance_mse: float
    wasserstein: float
    sliced_wasserstein: float  # W1 along random directions at each time, averaged
    increment_wasserstein: float  # W1 of one-step increments, each coordinate in units of the reference's deviation
    increment_kurtosis: float  # excess kurtosis of the generated increments, averaged over coordinates
    kurtosis_error: float  # its distance from the reference's, likewise


def path_metrics(generated: Float[np.ndarray, "m t d"], reference: Float[np.ndarray, "n t d"]) -> PathMetrics:
    """Compares ensembles on the same times; the common start is included, as in the paper."""
    moved, expected = (np.diff(paths, axis=1).reshape(-1, paths.shape[-1]) for paths in (generated, reference))
    deviation = expected.std(axis=0)
    found, true = kurtosis(moved, axis=0), kurtosis(expected, axis=0)
    return PathMetrics(
        *ensemble_metrics(generated, reference),
        sliced_wasserstein=sliced_wasserstein(generated, reference),
        increment_wasserstein=float(np.mean(wasserstein(moved, expected) / deviation)),
        increment_kurtosis=float(np.mean(found)),
        kurtosis_error=float(np.mean(np.abs(found - true))),
    )


def sliced_wasserstein(
    a: Float[np.ndarray, "m t d"], b: Float[np.ndarray, "n t d"], directions: int = DIRECTIONS, seed: int = 0
) -> float:
    """W1 of the projections onto random unit vectors, averaged over them and over the times."""
    axes = np.random.default_rng(seed).standard_normal((a.shape[-1], directions))
    axes /= np.linalg.norm(axes, axis=0)
    # One direction at a time: all at once would hold the ensemble many times over.
    return float(np.mean([wasserstein(a @ axis, b @ axis) for axis in axes.T]))
