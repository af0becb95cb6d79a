"""The long run: autocorrelation and density of states, recorded beside many simulated data sets."""

from typing import Any

from nke.data import Trajectories
from nke.model import as_model
from nke.plots.numbers import Band, LongRun
from nke.plots.numbers.long_run import BAND, effective_potential
from nke.plots.style import (
    LEARNED,
    RECORDED,
    AxesArray,
    Canvas,
    clipped,
    label,
    legend_above,
    outline,
    panels,
    plain,
    shown,
    with_unit,
)


def autocorrelation(
    model: Any, data: Trajectories, *, long_run: LongRun | None = None, seed: int = 0, figure: Canvas | None = None
) -> AxesArray:
    """Draws the autocorrelation of the recorded states, and the band in which that of 20 simulated data sets lies.

    Args:
        model: The model, or the result of a fit.
        data: Recorded trajectories.
        long_run: Simulated before by ``nke.plots.numbers.LongRun.of``, so that it need not be again.
        seed: Of the simulated paths.
        figure: The figure or subfigure to draw into; a new one by default.

    Returns:
        The axes, a panel for each coordinate.

    Raises:
        InputError: If the data has another number of coordinates than the model, or no trajectory of 20 rows.

    Example:
        >>> from matplotlib.figure import Figure
        >>> axes = nke.plots.autocorrelation(model, data, figure=Figure())
        >>> axes[0, 0].get_ylabel()
        'autocorrelation'
    """
    model = as_model(model)
    run = LongRun.of(model, data, seed) if long_run is None else long_run
    axes = panels(figure, len(shown(model)))
    for i, axis in zip(shown(model), axes.flat, strict=False):
        found = run.autocorrelation(i)
        _draw(axis, found)
        axis.plot(found.at, found.recorded, color=RECORDED, label="recorded")
        axis.axhline(0, color="0.6", linewidth=0.8)
        axis.set(xlabel=with_unit("time between", model.unit_of_time), ylabel="autocorrelation")
        axis.set_title(plain(clipped(model.names[i])), fontsize="small", loc="left")
        outline(axis)
    legend_above(axes[0, 0])
    return axes


def stationary(
    model: Any, data: Trajectories, *, long_run: LongRun | None = None, seed: int = 0, figure: Canvas | None = None
) -> AxesArray:
    """Draws the density of the recorded states over all times, and the band of that of 20 simulated data sets.

    In one dimension also the effective potential −log p of both: its valleys are where the system stays.

    Args:
        model: The model, or the result of a fit.
        data: Recorded trajectories.
        long_run: Simulated before by ``nke.plots.numbers.LongRun.of``, so that it need not be again.
        seed: Of the simulated paths.
        figure: The figure or subfigure to draw into; a new one by default.

    Returns:
        The axes, a panel for each coordinate; in one dimension density and potential.

    Raises:
        InputError: If the data has another number of coordinates than the model, or no trajectory of 20 rows.

    Example:
        >>> from matplotlib.figure import Figure
        >>> nke.plots.stationary(model, data, figure=Figure()).shape
        (1, 2)
    """
    model = as_model(model)
    run = LongRun.of(model, data, seed) if long_run is None else long_run
    axes = panels(figure, 2 if model.dimension == 1 else len(shown(model)))
    for i, axis in zip(shown(model), axes.flat, strict=False):
        found = run.density(i)
        _draw(axis, found)
        axis.plot(found.at, found.recorded, color=RECORDED, drawstyle="steps-mid", label="recorded")
        axis.set(xlabel=label(model, i), ylabel="probability density", ylim=(0, None))
        outline(axis)
        if model.dimension == 1:
            _potential(axes[0, 1], found)
            axes[0, 1].set(xlabel=label(model, 0), ylabel="effective potential −log p")
            outline(axes[0, 1])
    legend_above(axes[0, 0])
    return axes


def _draw(axis: Any, found: Band) -> None:
    """Draws what simulated data sets show."""
    axis.fill_between(found.at, found.low, found.high, color=LEARNED, alpha=0.25, linewidth=0, label=BAND)
    axis.plot(found.at, found.middle, color=LEARNED, label="model")


def _potential(axis: Any, found: Band) -> None:
    for density, colour in ((found.middle, LEARNED), (found.recorded, RECORDED)):
        axis.plot(found.at, effective_potential(density), color=colour)
