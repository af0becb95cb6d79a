"""The diffusion as a curve or as ellipses."""

from typing import Any

import numpy as np
from jaxtyping import Float

from nke.data import Trajectories
from nke.evaluation import binned_motions
from nke.model import Model, as_model
from nke.plots.curve import learned_curve
from nke.plots.style import (
    LEARNED,
    RECORDED,
    Axes,
    AxesArray,
    Canvas,
    bins,
    grid,
    label,
    legend_above,
    limits,
    outline,
    per_time,
    squared,
    with_unit,
)
from nke.plots.view import View, pair_axes, title
from nke.systems import System


def diffusion(
    model: Any, data: Trajectories | None = None, *, truth: System | None = None, figure: Canvas | None = None
) -> AxesArray:
    """Draws a(x): a curve in one dimension; in more, the ellipse of one standard deviation that the noise spreads to.

    In one dimension a + λ·E[jump²] stands beside it where there are jumps, and with data the variance of the motions in
    bins of states, with standard errors, beside what the model expects of the same motions.

    Args:
        model: The model, or the result of a fit.
        data: Trajectories that say where to draw; by default where the model's own data was.
        truth: The true system, drawn beside the model.
        figure: The figure or subfigure to draw into; a new one by default.

    Returns:
        The axes: one, or a panel for every two coordinates.

    Raises:
        InputError: If the data has another number of coordinates than the model.

    Example:
        >>> from matplotlib.figure import Figure
        >>> axes = nke.plots.diffusion(model, data, truth=nke.systems.OrnsteinUhlenbeck(), figure=Figure())
        >>> axes[0, 0].get_ylabel()
        'diffusion a'
    """
    model = as_model(model)
    view = View.of(model, data)
    return _curve(model, view, data, truth, figure) if model.dimension == 1 else _ellipses(model, view, truth, figure)


def _curve(
    model: Model, view: View, data: Trajectories | None, truth: System | None, figure: Canvas | None
) -> AxesArray:
    axes = grid(figure, 1, 1)
    axis, (x, states) = axes[0, 0], view.line(0)
    learned_curve(axis, model, "diffusion", states)
    a = model.diffusion(states)[:, 0, 0]
    if model.has_jumps:
        law = model.jump_law(states)
        second = np.asarray(law.covariance)[:, 0, 0] + np.asarray(law.mean)[:, 0] ** 2
        axis.plot(x, a + model.jump_rate(states) * second, "--", color=LEARNED, label="with the jumps' variance")
    if data is not None:
        found = binned_motions(model, data)
        bins(axis, found.centre, found.variance, found.variance_error, found.expected_variance, "variance of motions")
        limits(axis, np.concatenate([a, found.variance, found.expected_variance]))
    if truth is not None:
        axis.plot(x, np.asarray(truth.diffusion(states))[:, 0, 0], "--", color=RECORDED, label="truth")
    view.rug(axis, 0)
    unit = per_time(model, squared(model.units[0]) if model.units[0] else "")
    axis.set(xlabel=label(model, 0), ylabel=with_unit("diffusion a", unit))
    axis.set_ylim(0, (1.15 if data is None else 1.0) * axis.get_ylim()[1])
    legend_above(axis)
    outline(axis)
    return axes


def _ellipses(model: Model, view: View, truth: System | None, figure: Canvas | None, side: int = 9) -> AxesArray:
    """Draws side × side ellipses in every plane of two coordinates, where there is data."""
    axes, pairs = pair_axes(model, figure)
    cell = (view.high - view.low) / side
    planes = []
    for i, j in pairs:
        states, occupied = view.plane(i, j, side)
        planes.append(states[occupied])
    widest = [
        np.sqrt(model.diffusion(s)[:, [i, j], [i, j]]) / cell[[i, j]] for s, (i, j) in zip(planes, pairs, strict=True)
    ]
    duration = round_down((0.45 / max(float(np.percentile(w.max(axis=-1), 90)) for w in widest)) ** 2)
    for axis, (i, j), states in zip(axes.flat, pairs, planes, strict=True):
        view.backdrop(axis, i, j)
        block = np.ix_([i, j], [i, j])
        for source, colour, width in ((model, LEARNED, 1.6), (truth, RECORDED, 0.8)):
            if source is not None:
                covariances = np.asarray(source.diffusion(states))[:, block[0], block[1]] * duration
                _draw(axis, states[:, [i, j]], covariances, colour, width)
    spread = f"{duration:g}{' ' + model.unit_of_time if model.unit_of_time else ''}"
    words = f"noise: spread in a time of {spread}" + ("" if truth is None else " (black: truth)")
    axes[0, 0].figure.suptitle(title(model, words))
    return axes


def _draw(
    axis: Axes, centres: Float[np.ndarray, "n 2"], covariances: Float[np.ndarray, "n 2 2"], colour: str, width: float
) -> None:
    """Draws the ellipses (x − c)ᵀ C⁻¹ (x − c) = 1: images of the unit circle under a root of C."""
    angle = np.linspace(0, 2 * np.pi, 61)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    values, vectors = np.linalg.eigh(covariances)
    root = vectors * np.sqrt(np.maximum(values, 0))[:, None]
    outline = centres[:, :, None] + root @ circle
    axis.plot(outline[:, 0].T, outline[:, 1].T, color=colour, linewidth=width)


def round_down(value: float) -> float:
    """Rounds down to one digit: 1, 2 or 5 times a power of ten."""
    power = 10 ** np.floor(np.log10(value))
    return float(max(digit for digit in (1, 2, 5) if digit * power <= value * (1 + 1e-9)) * power)
