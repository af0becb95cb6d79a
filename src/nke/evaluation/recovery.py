"""How well a model recovers the coefficients of a known system."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.stats import norm

from nke.mixtures import GaussianMixture
from nke.model import Model
from nke.systems import System


class RecoveryError(NamedTuple):
    relative: float  # ‖learned − true‖ / ‖true‖ over all states (L2)
    median: float  # median over states of the relative error at that state


class Recovery(NamedTuple):
    drift: RecoveryError
    diffusion: RecoveryError
    jump_rate: RecoveryError | None  # None where the truth has no jumps


def recovery(model: Model | System, system: System, states: Any) -> Recovery:
    """Errors of f, a and λ over the given states, (n, d); take states that the fit has not seen.

    ``model`` may be a system as well: a parametric fit of the true family.
    """
    states = np.asarray(states, np.float64).reshape(-1, model.dimension)
    return Recovery(
        drift=relative_error(model.drift(states), np.asarray(system.drift(states))),
        diffusion=relative_error(model.diffusion(states), np.asarray(system.diffusion(states))),
        jump_rate=relative_error(model.jump_rate(states), np.asarray(system.jump_rate(states)))
        if system.has_jumps
        else None,
    )


def jump_law_distance(a: GaussianMixture, b: GaussianMixture, points: int = 801) -> Float[np.ndarray, "*batch d"]:
    """W1 between the laws of one jump, coordinate by coordinate: ∫ |F_a − F_b| for each state of the batch."""
    reach = max(float(np.max(np.abs(law.means) + 6 * _deviations(law))) for law in (a, b))
    grid = np.linspace(-reach, reach, points)
    gap = np.abs(_cumulative(a, grid) - _cumulative(b, grid))
    return np.asarray(np.trapezoid(gap, grid, axis=-1))


def _deviations(law: GaussianMixture) -> Float[np.ndarray, "*batch k d"]:
    return np.sqrt(np.diagonal(np.asarray(law.covariances), axis1=-2, axis2=-1))


def _cumulative(law: GaussianMixture, grid: Float[np.ndarray, " g"]) -> Float[np.ndarray, "*batch d g"]:
    gap, deviation = grid - np.asarray(law.means)[..., None], _deviations(law)[..., None]
    # A coordinate that does not jump has a step at its mean.
    below = np.where(deviation > 0, norm.cdf(gap / np.where(deviation > 0, deviation, 1.0)), gap >= 0)
    return np.einsum("...k,...kdg->...dg", np.asarray(law.weights), below)


def relative_error(learned: np.ndarray, true: np.ndarray) -> RecoveryError:
    """Of a coefficient given at the same states, along the first axis."""
    learned, true = (a.reshape(len(a), -1) for a in (learned, true))
    gap, size = np.linalg.norm(learned - true, axis=1), np.linalg.norm(true, axis=1)
    pointwise = gap[size > 0] / size[size > 0]
    return RecoveryError(
        float(np.sqrt(np.sum(gap**2) / np.sum(size**2))) if size.any() else float("nan"),
        float(np.median(pointwise)) if len(pointwise) else float("nan"),
    )
