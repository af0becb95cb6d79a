"""The diffusion as a curve or as ellipses."""

from typing import Any

import numpy as np

from nke.data import Trajectories
from nke.evaluation import binned_motions
from nke.model import Model, as_model
from nke.plots.curve import learned_curve
from nke.plots.numbers import Ellipses
from nke.plots.style import (
    LEARNED,
    RECORDED,
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
    found = Ellipses.of(model, view, pairs, side)
    true = None if truth is None else found.true_outlines(truth, pairs)
    for k, (axis, (i, j)) in enumerate(zip(axes.flat, pairs, strict=True)):
        view.backdrop(axis, i, j)
        axis.plot(found.outlines[k][:, 0].T, found.outlines[k][:, 1].T, color=LEARNED, linewidth=1.6)
        if true is not None:
            axis.plot(true[k][:, 0].T, true[k][:, 1].T, color=RECORDED, linewidth=0.8)
    spread = f"{found.duration:g}{' ' + model.unit_of_time if model.unit_of_time else ''}"
    words = f"noise: spread in a time of {spread}" + ("" if truth is None else " (black: truth)")
    axes[0, 0].figure.suptitle(title(model, words))
    return axes
