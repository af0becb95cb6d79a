"""Jump thresholding by the median absolute deviation (the paper's χ)."""

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.stats import norm

from nke.packets.neighbours import Packets

GAUSSIAN_CONSISTENCY = 1 / norm.ppf(0.75)  # κ_Gaussian ≈ 1.4826


def jump_flags(size: Float[np.ndarray, " m"], sensitivity: float) -> Bool[np.ndarray, " m"]:
    """χ = 1{Δ − med Δ > κ_sens κ_Gaussian med|Δ − med Δ|} for the increment sizes of one time step."""
    excess = size - np.median(size)
    return excess > sensitivity * GAUSSIAN_CONSISTENCY * np.median(np.abs(excess))


def jump_flags_by_time(
    displacement: Float[np.ndarray, "t d"], group: Int[np.ndarray, " t"], sensitivity: float
) -> Bool[np.ndarray, " t"]:
    """χ of every transition, each compared with its peers of the same group (time step)."""
    size = np.linalg.norm(displacement, axis=-1)
    flags = np.zeros(len(size), bool)
    order = np.argsort(group, kind="stable")
    for peers in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
        flags[peers] = jump_flags(size[peers], sensitivity)
    return flags


def excess_kurtosis(displacement: Float[np.ndarray, "t d"], packets: Packets) -> float:
    """Mardia's kurtosis of increments whitened by their own packet, relative to the Gaussian value, minus one.

    Zero for Gaussian increments whatever the drift and diffusion are, as long as they vary little
    across a packet; jumps make it large.
    """
    total, count = 0.0, 0
    for particles, members in zip(*packets, strict=True):
        moved = displacement[particles][members]
        k, d = moved.shape[-2:]
        moved = moved - moved.mean(axis=-2, keepdims=True)
        covariance = np.einsum("cki,ckj->cij", moved, moved) / k
        ridge = 1e-9 * np.trace(covariance, axis1=-2, axis2=-1)[:, None, None] + np.finfo(float).tiny
        solved = np.linalg.solve(covariance + ridge * np.eye(d), np.swapaxes(moved, -1, -2))
        distance = np.einsum("cki,cik->ck", moved, solved)
        total += float(np.sum(np.mean(distance**2, axis=-1)))
        count += len(members)
    gaussian = d * (d + 2) * (k - 1) / (k + 1)
    return total / count / gaussian - 1
