"""How well a model recovers the coefficients of a known system."""

from typing import Any, NamedTuple

import numpy as np

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
        drift=_error(model.drift(states), np.asarray(system.drift(states))),
        diffusion=_error(model.diffusion(states), np.asarray(system.diffusion(states))),
        jump_rate=_error(model.jump_rate(states), np.asarray(system.jump_rate(states))) if system.has_jumps else None,
    )


def _error(learned: np.ndarray, true: np.ndarray) -> RecoveryError:
    learned, true = (a.reshape(len(a), -1) for a in (learned, true))
    gap, size = np.linalg.norm(learned - true, axis=1), np.linalg.norm(true, axis=1)
    pointwise = gap[size > 0] / size[size > 0]
    return RecoveryError(
        float(np.sqrt(np.sum(gap**2) / np.sum(size**2))) if size.any() else float("nan"),
        float(np.median(pointwise)) if len(pointwise) else float("nan"),
    )
