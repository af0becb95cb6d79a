"""The paper's three metrics between two ensembles of paths on the same times."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike


class EnsembleMetrics(NamedTuple):
    """The paper's three metrics; each is 0 for equal ensembles.

    Attributes:
        mean_mse: Squared difference of the ensemble means, averaged over times and coordinates.
        covariance_mse: The same over the entries of the covariance matrices.
        wasserstein: W1 at each time in each coordinate, averaged.

    Example:
        >>> paths = np.random.default_rng(0).normal(size=(100, 5, 2))
        >>> metrics = nke.evaluation.ensemble_metrics(paths + 0.5, paths)
        >>> round(metrics.mean_mse, 6), round(metrics.wasserstein, 6)
        (0.25, 0.5)
    """

    mean_mse: float
    covariance_mse: float
    wasserstein: float


def ensemble_metrics(generated: ArrayLike, reference: ArrayLike) -> EnsembleMetrics:
    """Compares two ensembles of paths time by time; the common start is included, as in the paper.

    Args:
        generated: Paths of a model, shape (m, t, d).
        reference: Paths to compare with on the same times, shape (n, t, d).

    Returns:
        The paper's three metrics, in the units of the paths.

    Example:
        >>> paths = np.random.default_rng(0).normal(size=(100, 5, 2))
        >>> nke.evaluation.ensemble_metrics(paths, paths)
        EnsembleMetrics(mean_mse=0.0, covariance_mse=0.0, wasserstein=0.0)
    """
    generated, reference = np.asarray(generated), np.asarray(reference)
    mean_gap = generated.mean(axis=0) - reference.mean(axis=0)
    covariance_gap = _covariances(generated) - _covariances(reference)
    return EnsembleMetrics(
        mean_mse=float(np.mean(mean_gap**2)),
        covariance_mse=float(np.mean(covariance_gap**2)),
        wasserstein=float(np.mean(wasserstein(generated, reference))),
    )


def wasserstein(a: ArrayLike, b: ArrayLike) -> Float[np.ndarray, "..."]:
    """Computes W1 between two samples along the first axis: ∫ |F_a⁻¹(u) − F_b⁻¹(u)| du, exact for unequal sizes.

    Args:
        a: One sample, shape (m, ...).
        b: The other one, shape (n, ...), with the same further axes.

    Returns:
        The distance for each of the further axes.

    Example:
        >>> nke.evaluation.wasserstein([0.0, 1.0, 3.0], [5.0, 6.0, 8.0])
        array(5.)
    """
    a, b = np.asarray(a), np.asarray(b)
    m, n = len(a), len(b)
    ticks = np.union1d(np.arange(m) * n, np.arange(n) * m)  # in units of 1/(mn), so that ties are exact
    width = np.diff(np.append(ticks, m * n)) / (m * n)
    gap = np.abs(np.sort(a, axis=0)[ticks // n] - np.sort(b, axis=0)[ticks // m])
    return np.asarray(np.tensordot(width, gap, axes=1))


def _covariances(paths: Float[np.ndarray, "m t d"]) -> Float[np.ndarray, "t d d"]:
    centred = paths - paths.mean(axis=0)
    return np.einsum("mti,mtj->tij", centred, centred) / (len(paths) - 1)
