"""The fan of a forecast: quantiles over time, beside what was recorded."""

import numpy as np

from nke.data import Trajectories
from nke.errors import InputError
from nke.model import Forecast
from nke.plots.style import LEARNED, RECORDED, AxesArray, Canvas, outline, panels, with_unit

BANDS = (0.98, 0.9, 0.5)  # probability between the edges of each band
MOST_PANELS = 4


def forecast(
    forecast: Forecast, data: Trajectories | None = None, *, count: int = 20, figure: Canvas | None = None
) -> AxesArray:
    """Draws the bands that hold 50, 90 and 98 % of the probability, the median, and recorded paths.

    Args:
        forecast: What ``Model.forecast`` gave, from one start.
        data: Recorded trajectories that begin at the start; their times are counted from their first row.
        count: Paths drawn at most.
        figure: The figure or subfigure to draw into; a new one by default.

    Returns:
        The axes: one for each of the first four coordinates.

    Raises:
        InputError: If the forecast is of a batch of starts, or the data has another number of coordinates.

    Example:
        >>> from matplotlib.figure import Figure
        >>> fan = model.forecast([1.0], times=[0.5, 1.0], components=4)
        >>> nke.plots.forecast(fan, figure=Figure()).shape
        (1, 1)
    """
    if forecast.laws.weights.ndim != 2:
        raise InputError("expected a forecast from one start, but got one from a batch of them; draw one at a time")
    if data is not None and data.dimension != forecast.dimension:
        raise InputError(f"expected data with {forecast.dimension} coordinates, but got {data.dimension}")
    axes = panels(figure, min(forecast.dimension, MOST_PANELS))
    edges = [((1 - band) / 2, (1 + band) / 2) for band in BANDS]
    quantiles = forecast.quantile(np.array([*sum(edges, ()), 0.5]))
    for i, axis in zip(range(min(forecast.dimension, MOST_PANELS)), axes.flat, strict=False):
        for k, band in enumerate(BANDS):
            low, high = quantiles[2 * k, :, i], quantiles[2 * k + 1, :, i]
            axis.fill_between(forecast.times, low, high, color=LEARNED, alpha=0.25, linewidth=0, label=f"{band:.0%}")
        axis.plot(forecast.times, quantiles[-1, :, i], color=LEARNED, label="median")
        for m in range(0 if data is None else min(len(data), count)):
            assert data is not None
            seen = data.observed[m]
            times = data.times[m][seen] - data.times[m][0]
            axis.plot(times, data.states[m][seen, i], color=RECORDED, alpha=0.4, linewidth=0.7)
        axis.set(
            xlabel=with_unit("time since the start", forecast.unit_of_time),
            ylabel=with_unit(forecast.names[i], forecast.units[i]),
            xlim=(forecast.times[0], forecast.times[-1]),
        )
        outline(axis)
    axes.flat[0].legend(frameon=False)
    return axes
