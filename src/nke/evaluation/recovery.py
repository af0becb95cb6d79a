"""How well a model recovers the coefficients of a known system."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike
from scipy.stats import norm

from nke.mixtures import GaussianMixture
from nke.model import Model
from nke.systems import System


class RecoveryError(NamedTuple):
    """Relative error of one coefficient.

    Attributes:
        relative: ‖learned − true‖ / ‖true‖ over all states (L2).
        median: Median over the states of the relative error at that state.

    Example:
        >>> nke.evaluation.relative_error([[1.1], [2.0]], true=[[1.0], [2.0]]).median
        0.05...
    """

    relative: float
    median: float


class Recovery(NamedTuple):
    """Relative errors of the coefficients of a model.

    Attributes:
        drift: Error of f.
        diffusion: Error of a.
        jump_rate: Error of λ; None where the truth has no jumps.

    Example:
        >>> truth = nke.systems.OrnsteinUhlenbeck()
        >>> nke.recovery(truth, truth, [[0.5], [1.0]]).jump_rate is None
        True
    """

    drift: RecoveryError
    diffusion: RecoveryError
    jump_rate: RecoveryError | None


def recovery(model: Model | System, system: System, states: ArrayLike) -> Recovery:
    """Computes the errors of drift, diffusion and jump rate over given states.

    Args:
        model: The model, or a system: a parametric fit of the true family.
        system: The truth.
        states: Where to compare, shape (..., d); take states that the fit has not seen.

    Returns:
        The errors of f, a and λ.

    Example:
        >>> truth = nke.systems.OrnsteinUhlenbeck()
        >>> nke.recovery(truth, truth, [[0.5], [1.0]]).drift.relative
        0.0
    """
    states = np.asarray(states, np.float64).reshape(-1, model.dimension)
    return Recovery(
        drift=relative_error(model.drift(states), true=np.asarray(system.drift(states))),
        diffusion=relative_error(model.diffusion(states), true=np.asarray(system.diffusion(states))),
        jump_rate=relative_error(model.jump_rate(states), true=np.asarray(system.jump_rate(states)))
        if system.has_jumps
        else None,
    )


def jump_law_distance(a: GaussianMixture, b: GaussianMixture, points: int = 801) -> Float[np.ndarray, "*batch d"]:
    """Computes W1 between the laws of one jump, coordinate by coordinate: ∫ |F_a − F_b|.

    Args:
        a: One law, or a batch of laws, one for each state.
        b: The other law or laws.
        points: Points of the grid on which the integral is taken.

    Returns:
        The distances, shape (..., d).

    Example:
        >>> still = nke.GaussianMixture([1.0], [[0.0]], [[[1.0]]])
        >>> shifted = nke.GaussianMixture([1.0], [[0.5]], [[[1.0]]])
        >>> nke.evaluation.jump_law_distance(still, shifted).round(3)
        array([0.5])
    """
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


def relative_error(learned: ArrayLike, *, true: ArrayLike) -> RecoveryError:
    """Computes the relative error of a coefficient that is given at the same states.

    Args:
        learned: Values of the learned coefficient, one state along the first axis.
        true: Values of the true coefficient, of the same shape.

    Returns:
        The error in L2 over all states and the median over states; NaN where the truth is zero everywhere.

    Example:
        >>> error = nke.evaluation.relative_error([[1.1], [2.2], [3.3]], true=[[1.0], [2.0], [3.0]])
        >>> round(error.relative, 6), round(error.median, 6)
        (0.1, 0.1)
    """
    learned, true = (values.reshape(len(values), -1) for values in map(np.asarray, (learned, true)))
    gap, size = np.linalg.norm(learned - true, axis=1), np.linalg.norm(true, axis=1)
    pointwise = gap[size > 0] / size[size > 0]
    return RecoveryError(
        float(np.sqrt(np.sum(gap**2) / np.sum(size**2))) if size.any() else float("nan"),
        float(np.median(pointwise)) if len(pointwise) else float("nan"),
    )
