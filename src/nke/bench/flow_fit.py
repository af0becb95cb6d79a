"""Least squares of the flow: the parametric fit of systems without a transition density."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from scipy.optimize import least_squares

from nke.data import Trajectories, Transitions
from nke.systems import System

Drift = Callable[[Float[np.ndarray, " p"], Float[np.ndarray, "n d"]], Float[np.ndarray, "n d"]]
OUTLIER = 4.5  # standard deviations of one step's noise beyond which a step is taken for one with a jump
# Of the median: where relative noise vanishes, a step has the noise that other coordinates bring. On DynGMA's Lorenz
# the error was 0.0001 with this floor and 0.0008 with a hundredth of it.
LEAST_NOISE = 0.1


class FlowFit(NamedTuple):
    """A drift fitted by the flow that it generates.

    Attributes:
        parameters: Those of the drift.
        residuals: What the flow leaves of each step in the coordinates with noise, over the noise of that step.
        smooth: Which steps were used: those without a jump.
    """

    parameters: Float[np.ndarray, " p"]
    residuals: Float[np.ndarray, "n k"]
    smooth: Bool[np.ndarray, " n"]


def flow(
    drift: Callable[[np.ndarray], np.ndarray],
    x: Float[np.ndarray, "n d"],
    step: Float[np.ndarray, " n"],
    parts: int = 2,
) -> Float[np.ndarray, "n d"]:
    """Moves states along a drift by ``parts`` Runge–Kutta steps of fourth order.

    Args:
        drift: Gives the drift at states, shape (n, d).
        x: States to start from.
        step: Time to move, for each state.
        parts: Number of Runge–Kutta steps.

    Returns:
        The states reached.
    """
    h = step[:, None] / parts
    for _ in range(parts):
        first = drift(x)
        second = drift(x + h / 2 * first)
        third = drift(x + h / 2 * second)
        x = x + h / 6 * (first + 2 * second + 2 * third + drift(x + h * third))
    return x


def fit_flow(
    drift: Drift, start: Sequence[float], seen: Transitions, truth: System, outlier: float = OUTLIER
) -> FlowFit:
    """Fits the parameters of a drift to where steps end, weighted by the true noise.

        min Σ |(y − φ_h(x; parameters)) / √(⟨a⟩ h)|²  over the coordinates with noise and the steps without a jump

    φ is the flow of the drift, so that a step may be coarse, and ⟨a⟩ the mean of a along the true flow. Whether a step
    has a jump is told by its residual at ``start``, the true parameters: a reference may know them.

    Args:
        drift: The family: drift of parameters and states.
        start: The true parameters, at which the search begins.
        seen: The transitions.
        truth: Gives the noise, and whether there are jumps.
        outlier: Size of residual above which a step has a jump.

    Returns:
        The parameters and the residuals.
    """
    begin = np.asarray(start, float)
    spread = _step_deviations(lambda x: drift(begin, x), seen, truth)
    noisy = spread.max(axis=0) > 0
    scale = np.maximum(spread[:, noisy], LEAST_NOISE * np.median(spread[:, noisy], axis=0))

    def residuals(parameters: np.ndarray, part: Any = slice(None)) -> np.ndarray:
        end = flow(lambda x: drift(parameters, x), seen.x[part], seen.step[part])
        return (seen.y[part] - end)[:, noisy] / scale[part]

    smooth = np.full(len(seen), True)
    if truth.has_jumps:
        smooth = np.abs(residuals(begin)).max(axis=1) < outlier
    found = least_squares(lambda p: residuals(p, smooth).ravel(), begin, x_scale=np.maximum(np.abs(begin), 0.1)).x
    return FlowFit(found, residuals(found), smooth)


def _step_deviations(
    drift: Callable[[np.ndarray], np.ndarray], seen: Transitions, truth: System
) -> Float[np.ndarray, "n d"]:
    """Computes √(⟨a⟩ h) of each coordinate, with a averaged along the flow by Simpson's rule."""
    places = [seen.x, flow(drift, seen.x, seen.step / 2), flow(drift, seen.x, seen.step)]
    at = [np.diagonal(np.asarray(truth.diffusion(x)), axis1=1, axis2=2) for x in places]
    return np.sqrt((at[0] + 4 * at[1] + at[2]) / 6 * seen.step[:, None])


def fit_parameters(
    data: Trajectories, truth: Any, names: Sequence[str], noise: str, inverse_noise: bool = False
) -> tuple[Any, FlowFit]:
    """Fits positive parameters of a system's drift and the scale of its noise.

    Args:
        data: The training set.
        truth: The system with the true parameters, where the search begins.
        names: The fields of the system that its drift depends on, all positive.
        noise: The field that scales the noise.
        inverse_noise: Whether the variance of the noise is inverse to that field; otherwise it goes with its square.

    Returns:
        The fitted system and the fit.
    """

    def member(logs: np.ndarray) -> Any:
        values = {name: getattr(truth, name) * float(np.exp(log)) for name, log in zip(names, logs, strict=True)}
        return replace(truth, **values)

    found = fit_flow(lambda logs, x: np.asarray(member(logs).drift(x)), [0.0] * len(names), data.transitions(), truth)
    variance = float(np.mean(found.residuals[found.smooth] ** 2))
    scaled = getattr(truth, noise) * (1 / variance if inverse_noise else variance**0.5)
    return replace(member(found.parameters), **{noise: scaled}), found
