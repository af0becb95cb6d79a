"""Recorded beside simulated: paths, densities and one-step increments."""

from typing import Any

import numpy as np

from nke.data import Trajectories
from nke.evaluation import simulate_like
from nke.model import as_model
from nke.plots import numbers
from nke.plots.numbers import MOST_TIMES, Histogram, few_times, shared_range, usual_range
from nke.plots.style import (
    LEARNED,
    RECORDED,
    Axes,
    AxesArray,
    Canvas,
    grid,
    label,
    legend_beside,
    outline,
    panels,
    shown,
    time_label,
    with_unit,
)
from nke.plots.view import require_same_coordinates


def paths(
    model: Any,
    data: Trajectories,
    *,
    simulated: Trajectories | None = None,
    seed: int = 0,
    count: int = 20,
    figure: Canvas | None = None,
) -> AxesArray:
    """Draws a few recorded paths and as many from the model, from the same start states; of few paths several each.

    Args:
        model: The model, or the result of a fit.
        data: Recorded trajectories.
        simulated: Paths simulated before by ``nke.evaluation.simulate_like``, so that they need not be again.
        seed: Of the simulated paths.
        count: Paths drawn on each side at most.
        figure: The figure or subfigure to draw into; a new one by default.

    Returns:
        The axes: a row for each coordinate, recorded on the left, simulated on the right.

    Raises:
        InputError: If the data has another number of coordinates than the model.

    Example:
        >>> from matplotlib.figure import Figure
        >>> nke.plots.paths(model, data, figure=Figure()).shape
        (1, 2)
    """
    model = as_model(model)
    require_same_coordinates(model, data)
    some = data.select(slice(count)) if simulated is None else data
    drawn = numbers.simulated_paths(model, some, seed, simulated)
    first = drawn[0]
    axes = grid(figure, len(shown(model)), 2, sharex=True, sharey="row")
    for row, i in zip(axes, shown(model), strict=True):
        _draw_paths(row[0], data, i, count, RECORDED)
        for k, source in enumerate(drawn):
            _draw_paths(row[1], source, i, count, LEARNED if len(drawn) == 1 else f"C{k + 1}")
        row[0].set(ylabel=label(model, i), ylim=shared_range(data.observed_states[:, i], first.observed_states[:, i]))
    axes[0, 0].set_title("recorded")
    axes[0, 1].set_title("simulated from the model" if len(drawn) == 1 else f"simulated, {len(drawn)} times")
    for axis in axes[-1]:
        axis.set_xlabel(time_label(model) if data.calendar is None else "")
        if data.calendar is not None:
            axis.tick_params(axis="x", rotation=45)
    return axes


def _draw_paths(axis: Axes, source: Trajectories, i: int, count: int, colour: str) -> None:
    """Draws some paths of one coordinate, over dates where the times are some."""
    dates = source.dates
    for m in range(min(len(source), count)):
        seen = source.observed[m]
        at = source.times[m] if dates is None else dates[m]
        axis.plot(at[seen], source.states[m][seen, i], color=colour, alpha=0.5, linewidth=0.8)
    outline(axis)


def densities(
    model: Any,
    data: Trajectories,
    *,
    simulated: Trajectories | None = None,
    seed: int = 0,
    figure: Canvas | None = None,
) -> AxesArray:
    """Draws histograms of recorded and simulated states: at a few times for an ensemble, otherwise over all times.

    Args:
        model: The model, or the result of a fit.
        data: Recorded trajectories.
        simulated: Paths simulated before by ``nke.evaluation.simulate_like``, so that they need not be again.
        seed: Of the simulated paths.
        figure: The figure or subfigure to draw into; a new one by default.

    Returns:
        The axes: a row for each coordinate and a column for each time, or a panel for each coordinate.

    Raises:
        InputError: If the data has another number of coordinates than the model.

    Example:
        >>> from matplotlib.figure import Figure
        >>> axes = nke.plots.densities(model, data, figure=Figure())
        >>> axes[0, 0].get_title()
        'all times'
    """
    model = as_model(model)
    require_same_coordinates(model, data)
    simulated = simulate_like(model, data, seed, most_times=MOST_TIMES) if simulated is None else simulated
    columns = few_times(data, simulated, model.unit_of_time)
    count = len(shown(model))
    axes = panels(figure, count) if len(columns) == 1 else grid(figure, count, len(columns), sharex="row")
    for row, i in zip(axes.ravel()[:count, None] if len(columns) == 1 else axes, shown(model), strict=True):
        for axis, (words, (recorded, drawn)) in zip(row, columns.items(), strict=True):
            span = usual_range(data.observed_states[:, i])
            _draw_histogram(axis, Histogram.of(recorded[:, i], drawn[:, i], span))
            axis.set(xlabel=label(model, i), yticks=[])
            if i == 0:
                axis.set_title(words)
        row[0].set_ylabel("probability density")
    legend_beside(axes)
    return axes


def increments(
    model: Any, data: Trajectories, *, seed: int = 0, most: int = 20_000, figure: Canvas | None = None
) -> AxesArray:
    """Draws recorded increments beside those that the model draws from the same states over the same steps.

    Args:
        model: The model, or the result of a fit.
        data: Recorded trajectories.
        seed: Of the model's increments.
        most: Transitions at most; of more a random part is taken.
        figure: The figure or subfigure to draw into; a new one by default.

    Returns:
        The axes, a panel for each coordinate.

    Raises:
        InputError: If the data has another number of coordinates than the model.

    Example:
        >>> from matplotlib.figure import Figure
        >>> axes = nke.plots.increments(model, data, most=500, figure=Figure())
        >>> axes[0, 0].get_yscale()
        'log'
    """
    model = as_model(model)
    require_same_coordinates(model, data)
    moved, drawn = numbers.increments(model, data, seed, most)
    axes = panels(figure, len(shown(model)))
    for i, axis in zip(shown(model), axes.flat, strict=False):
        reach = float(np.abs(moved[:, i]).max()) or 1.0
        _draw_histogram(axis, Histogram.of(moved[:, i], drawn[:, i], (-reach, reach)))
        axis.set(xlabel=with_unit(f"increment of {model.names[i]}", model.units[i]), yscale="log")
    axes[0, 0].set_ylabel("probability density")
    legend_beside(axes)
    axes[0, 0].figure.suptitle("motion from one record to the next (heavy tails are jumps)")
    return axes


def _draw_histogram(axis: Axes, found: Histogram) -> None:
    axis.stairs(found.recorded, found.edges, fill=True, color=RECORDED, alpha=0.3, label="recorded")
    axis.stairs(found.simulated, found.edges, linewidth=1.8, color=LEARNED, label="model")
    outline(axis)
