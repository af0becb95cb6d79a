"""Where training begins: a two-Gaussian law of the displacements, the same at every state.

Δx is N(0, s·C) without a jump and N(0, s·C + G) with one; expectation maximisation gives C, G and the share of
steps with a jump. G is read off whole displacements, so it starts too large by s·C; training corrects it.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import expit, logit

from nke.arrays import log_normal_density

ITERATIONS = 20
FIRST_GUESS = 0.05  # share of the largest displacements taken for jumps at first
LEAST = 1e-5  # share of steps with a jump


class Start(NamedTuple):
    """Calm covariance per unit time, jump covariance, jumps per unit time."""

    spread: Float[np.ndarray, "d d"]
    jump: Float[np.ndarray, "d d"]
    rate: float


def start_without_jumps(moved: Float[np.ndarray, "t d"], step: Float[np.ndarray, " t"]) -> Start:
    return Start(*_covariances(moved, step, np.zeros(len(step))), 0.0)


def start_with_jumps(moved: Float[np.ndarray, "t d"], step: Float[np.ndarray, " t"]) -> Start:
    jumped = _largest(motion_size(moved, step))
    spread, jump = _covariances(moved, step, jumped)
    for _ in range(ITERATIONS):
        chance = np.clip(jumped.mean(), LEAST, 1 - LEAST)
        calm = log_normal_density(moved, step[:, None, None] * spread)
        jumped = expit(logit(chance) + log_normal_density(moved, step[:, None, None] * spread + jump) - calm)
        spread, jump = _covariances(moved, step, jumped)
    return Start(spread, jump, max(float(jumped.mean()), LEAST) / float(step.mean()))


def _largest(size: Float[np.ndarray, " t"]) -> Float[np.ndarray, " t"]:
    """1 for about ``FIRST_GUESS`` of the largest, with ties unless half of all tie."""
    threshold = np.quantile(size, 1 - FIRST_GUESS)
    tied = size >= threshold
    return (tied if tied.mean() < 0.5 else size > threshold).astype(float)


def motion_size(moved: Float[np.ndarray, "t d"], step: Float[np.ndarray, " t"]) -> Float[np.ndarray, " t"]:
    """Length of each displacement over √step, coordinates in units of their typical motion."""
    scale = np.median(np.abs(moved), axis=0)
    return np.sqrt(np.sum((moved / np.where(scale > 0, scale, 1.0)) ** 2, axis=1) / step)


def _covariances(moved, step, jumped) -> tuple[Float[np.ndarray, "d d"], Float[np.ndarray, "d d"]]:
    """Of the calm motion per unit time, and of the jumps; positive definite also where nothing moves."""
    calm = 1 - jumped
    spread = _positive((moved.T * (calm / step)) @ moved / max(calm.sum(), 1.0))
    total = (moved.T * jumped) @ moved / max(jumped.sum(), 1.0)
    return spread, _positive(total)


def _positive(covariance: Float[np.ndarray, "d d"]) -> Float[np.ndarray, "d d"]:
    diagonal = np.diag(covariance)
    floor = np.maximum(1e-6 * diagonal, 1e-12 * diagonal.max() if diagonal.any() else 1.0)
    return covariance + np.diag(floor)
