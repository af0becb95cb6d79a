"""The drift as a curve or as fields of arrows."""

from typing import Any

import numpy as np

from nke.data import Trajectories
from nke.evaluation import binned_motions
from nke.model import Model, as_model
from nke.plots.curve import learned_curve
from nke.plots.numbers import DriftField
from nke.plots.numbers.plane import arrows
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
    with_unit,
)
from nke.plots.view import View, pair_axes, title
from nke.systems import System


def drift(
    model: Any, data: Trajectories | None = None, *, truth: System | None = None, figure: Canvas | None = None
) -> AxesArray:
    """Draws f(x): a curve with its 90 % interval in one dimension, arrows in every plane of two coordinates in more.

    The curve is faint where there was no data.

    In one dimension the total drift f + λ·E[jump] stands beside it where there are jumps, and with data the mean
    motion in bins of states, with standard errors, beside what the model expects of the same motions.

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
        >>> axes = nke.plots.drift(model, data, truth=nke.systems.OrnsteinUhlenbeck(), figure=Figure())
        >>> axes[0, 0].get_ylabel()
        'drift'
    """
    model = as_model(model)
    view = View.of(model, data)
    return _curve(model, view, data, truth, figure) if model.dimension == 1 else _fields(model, view, truth, figure)


def _curve(
    model: Model, view: View, data: Trajectories | None, truth: System | None, figure: Canvas | None
) -> AxesArray:
    axes = grid(figure, 1, 1)
    axis, (x, states) = axes[0, 0], view.line(0)
    axis.axhline(0, color="0.6", linewidth=0.8)
    learned_curve(axis, model, "drift", states)
    f, total = model.drift(states)[:, 0], model.total_drift(states)[:, 0]
    if model.has_jumps:
        axis.plot(x, total, "--", color=LEARNED, label="total drift, with the jumps' mean")
    if data is not None:
        found = binned_motions(model, data)
        bins(axis, found.centre, found.mean, found.mean_error, found.expected_mean, "mean motion of the data")
        limits(axis, np.concatenate([f, total, found.mean]))
    if truth is not None:
        axis.plot(x, np.asarray(truth.drift(states))[:, 0], "--", color=RECORDED, label="truth")
    view.rug(axis, 0)
    axis.set(xlabel=label(model, 0), ylabel=with_unit("drift", per_time(model, model.units[0])))
    legend_above(axis)
    outline(axis)
    return axes


def _fields(model: Model, view: View, truth: System | None, figure: Canvas | None, side: int = 16) -> AxesArray:
    """Draws side × side arrows in every plane of two coordinates, where there is data."""
    axes, pairs = pair_axes(model, figure)
    extent = view.high - view.low
    fields = [DriftField.of(model, view, i, j, side) for i, j in pairs]
    longest = max(float(np.percentile(np.hypot(*field.arrows), 95)) for field in fields) or 1.0
    brightest = max(float(np.percentile(field.speed, 98)) for field in fields)
    drawn = None
    for axis, (i, j), field in zip(axes.flat, pairs, fields, strict=True):
        view.backdrop(axis, i, j)
        place = field.states[:, i], field.states[:, j]
        size = {"angles": "uv", "scale": 0.8 * side * longest, "scale_units": "width", "width": 0.006, "pivot": "mid"}
        if truth is not None:
            true = arrows(np.asarray(truth.drift(field.states)), extent, i, j)
            axis.quiver(*place, *true, color="0.45", **size | {"width": 0.012})
        drawn = axis.quiver(*place, *field.arrows, field.speed, cmap="viridis", clim=(0, brightest), **size)
    unit = f"standard deviations per {model.unit_of_time or 'time'}"
    bar = axes[0, 0].figure.colorbar(drawn, ax=axes, shrink=0.8, extend="max")
    bar.set_label(f"speed [{unit}]")
    grey = "" if truth is None else "grey: truth; "
    axes[0, 0].figure.suptitle(title(model, f"drift ({grey}length: root of the speed)"))
    return axes
