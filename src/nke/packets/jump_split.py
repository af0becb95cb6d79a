"""Jump thresholding by the median absolute deviation (the paper's χ)."""

import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import ArrayLike
from scipy.stats import norm

from nke.packets.neighbours import Packets

GAUSSIAN_CONSISTENCY = 1 / norm.ppf(0.75)
"""κ_Gaussian ≈ 1.4826: median absolute deviations in one standard deviation of a normal law."""


def jump_flags(size: ArrayLike, sensitivity: float) -> Bool[np.ndarray, " m"]:
    """Flags increments that are too large for a diffusion, χ = 1{Δ − med Δ > κ_sens κ_Gaussian med|Δ − med Δ|}.

    Args:
        size: Sizes Δ of the increments of one time step, shape (m,).
        sensitivity: Threshold κ_sens, in robust standard deviations.

    Returns:
        Whether each increment is taken for a jump, shape (m,).

    Example:
        >>> jump_flags([0.9, 1.0, 1.1, 1.2, 5.0], sensitivity=3.0).tolist()
        [False, False, False, False, True]
    """
    length = np.asarray(size, np.float64)
    excess = length - np.median(length)
    return excess > sensitivity * GAUSSIAN_CONSISTENCY * np.median(np.abs(excess))


def jump_flags_by_time(displacement: ArrayLike, group: ArrayLike, sensitivity: float) -> Bool[np.ndarray, " t"]:
    """Flags jumps among transitions, each compared with those of the same time step.

    Args:
        displacement: Increments of the state, shape (t, d).
        group: Number of the time step of each transition, shape (t,).
        sensitivity: Threshold κ_sens, in robust standard deviations.

    Returns:
        Whether each transition is taken for a jump, shape (t,).

    Example:
        >>> displacement = np.array([[0.1], [0.1], [0.2], [1.0], [1.0], [1.2], [1.1], [0.9]])
        >>> jump_flags_by_time(displacement, np.repeat([0, 1], [4, 4]), sensitivity=3.0).tolist()
        [False, False, False, True, False, False, False, False]
    """
    group = np.asarray(group)
    size = np.linalg.norm(np.asarray(displacement, np.float64), axis=-1)
    flags = np.zeros(len(size), bool)
    order = np.argsort(group, kind="stable")
    for peers in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
        flags[peers] = jump_flags(size[peers], sensitivity)
    return flags


def excess_kurtosis(displacement: ArrayLike, packets: Packets) -> Float[np.ndarray, " d"]:
    """Computes the kurtosis of increments standardised within their packet, over the Gaussian value, minus one.

    It is zero in each coordinate for Gaussian increments whatever the drift and diffusion are, as long as they
    vary little across a packet; jumps make it large.

    Args:
        displacement: Increments of the state, shape (t, d).
        packets: Packets of these transitions.

    Returns:
        Relative excess kurtosis of each coordinate, shape (d,).

    Example:
        >>> from nke.packets import build_packets
        >>> rng = np.random.default_rng(0)
        >>> states, increments = rng.normal(size=(5000, 1)), rng.normal(size=(5000, 1))
        >>> packets = build_packets(states, None, 32, rng)
        >>> bool(abs(excess_kurtosis(increments, packets)[0]) < 0.15)
        True
        >>> jumps = 10 * rng.normal(size=(5000, 1)) * (rng.random((5000, 1)) < 0.01)
        >>> bool(excess_kurtosis(increments + jumps, packets)[0] > 0.5)
        True
    """
    increments = np.asarray(displacement, np.float64)
    total = np.zeros(increments.shape[-1])
    for transitions in packets.listed():
        moved = increments[transitions]
        moved = moved - moved.mean(axis=-2, keepdims=True)
        variance = np.mean(moved**2, axis=-2)
        fourth = np.mean(moved**4, axis=-2)
        total += np.sum(np.where(variance > 0, fourth / np.where(variance > 0, variance, 1.0) ** 2, 0.0), axis=0)
    blocks, count, neighbours = packets.members.shape
    gaussian = 3 * (neighbours - 1) / (neighbours + 1)  # in a sample of that size
    return total / (blocks * count) / gaussian - 1
