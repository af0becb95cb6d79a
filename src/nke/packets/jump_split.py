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


def excess_kurtosis(displacement: Float[np.ndarray, "t d"], packets: Packets) -> Float[np.ndarray, " d"]:
    """Kurtosis of increments standardised within their own packet, over the Gaussian value, minus one.

    Zero in each coordinate for Gaussian increments whatever the drift and diffusion are, as long as they
    vary little across a packet; jumps make it large.
    """
    total = np.zeros(displacement.shape[-1])
    for particles, members in zip(*packets, strict=True):
        moved = displacement[particles][members]
        moved = moved - moved.mean(axis=-2, keepdims=True)
        variance = np.mean(moved**2, axis=-2)
        fourth = np.mean(moved**4, axis=-2)
        total += np.sum(np.where(variance > 0, fourth / np.where(variance > 0, variance, 1.0) ** 2, 0.0), axis=0)
    blocks, count, neighbours = packets.members.shape
    gaussian = 3 * (neighbours - 1) / (neighbours + 1)  # in a sample of that size
    return total / (blocks * count) / gaussian - 1
