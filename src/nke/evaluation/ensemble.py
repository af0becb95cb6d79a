"""The paper's three metrics between two ensembles of paths on the same times."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float


class EnsembleMetrics(NamedTuple):
    mean_mse: float  # squared difference of ensemble means, averaged over times and coordinates
    covariance_mse: float  # the same over the entries of the covariance matrices
    wasserstein: float  # W1 at each time in each coordinate, averaged


def ensemble_metrics(generated: Float[np.ndarray, "m t d"], reference: Float[np.ndarray, "n t d"]) -> EnsembleMetrics:
    """Compares ensembles time by time; the common start is included, as in the paper."""
    mean_gap = generated.mean(axis=0) - reference.mean(axis=0)
    covariance_gap = _covariances(generated) - _covariances(reference)
    return EnsembleMetrics(
        mean_mse=float(np.mean(mean_gap**2)),
        covariance_mse=float(np.mean(covariance_gap**2)),
        wasserstein=float(np.mean(wasserstein(generated, reference))),
    )


def wasserstein(a: Float[np.ndarray, "m ..."], b: Float[np.ndarray, "n ..."]) -> Float[np.ndarray, "..."]:
    """W1 between two samples along the first axis: ∫ |F_a⁻¹(u) − F_b⁻¹(u)| du, exact for unequal sizes."""
    m, n = len(a), len(b)
    ticks = np.union1d(np.arange(m) * n, np.arange(n) * m)  # in units of 1/(mn), so that ties are exact
    width = np.diff(np.append(ticks, m * n)) / (m * n)
    gap = np.abs(np.sort(a, axis=0)[ticks // n] - np.sort(b, axis=0)[ticks // m])
    return np.asarray(np.tensordot(width, gap, axes=1))


def _covariances(paths: Float[np.ndarray, "m t d"]) -> Float[np.ndarray, "t d d"]:
    centred = paths - paths.mean(axis=0)
    return np.einsum("mti,mtj->tij", centred, centred) / (len(paths) - 1)
