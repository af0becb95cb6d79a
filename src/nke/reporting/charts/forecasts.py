"""The fan of a forecast, and its density at the time of a slider beside what was recorded then."""

import numpy as np

from nke.errors import InputError
from nke.plots.forecast import BANDS
from nke.plots.numbers.histogram import usual_range
from nke.reporting.charts.chart import Chart, Choice, Panel, Trace, axes, band, filled_steps, line, lines, numbers
from nke.reporting.contents import Contents
from nke.reporting.fan import Fan
from nke.reporting.labels import Labels

SHOWN, POINTS, BINS = 20, 121, 30
QUANTILES = (0.05, 0.5, 0.95)  # of recorded states


def forecast_fan(contents: Contents, labels: Labels) -> Chart | None:
    """Bands over time on the left; the density at the chosen time on the right."""
    fan = contents.fan
    if fan is None:
        return None
    edges = [((1 - each) / 2, (1 + each) / 2) for each in BANDS]
    quantiles = fan.forecast.quantile(np.array([*sum(edges, ()), 0.5]))
    choices = [
        Choice(labels.name(i), [draw(fan, quantiles[..., i], i, labels) for draw in (_over_time, _at_times)])
        for i in range(contents.model.dimension)
    ]
    return Chart(
        "forecast",
        "Forecast and what was recorded",
        f"Density of the state, forecast {fan.words}. Bands hold 50, 90 and 98 % of the probability; the slider moves "
        "the time of the density.",
        choices,
        slider=[labels.when(time, fan.start) for time in fan.times],
    )


def _over_time(fan: Fan, quantiles: np.ndarray, i: int, labels: Labels) -> Panel:
    at = labels.dates(fan.times)
    traces: list[Trace] = []
    for k in range(len(BANDS)):
        words = "" if k else "50, 90 and 98 % of the forecast"
        traces += band(at, quantiles[2 * k], quantiles[2 * k + 1], words)
    traces.append(line(at, quantiles[-1], "median of the forecast"))
    if fan.is_ensemble:
        traces.append(lines([(at, path) for path in fan.recorded[:SHOWN, :, i]], colour="--recorded-faint", width=0.7))
        for k, level in enumerate(np.quantile(fan.recorded[..., i], QUANTILES, axis=0)):
            traces.append(line(at, level, "" if k else "recorded: 5, 50 and 95 %", "--recorded", dash="dot", width=1.5))
    else:
        traces.append(line(at, fan.recorded[0, :, i], "recorded", "--recorded", width=1.5))
    everything = np.concatenate([quantiles.ravel(), fan.recorded[..., i].ravel()])
    low, high = usual_range(everything)
    mark = [[line([when, when], [low, high], "", "--mark", width=1.5, hoverinfo="skip")] for when in at]
    layout = axes(labels.time(), labels.axis(i), "over time", yaxis={"range": numbers([low, high])})
    return Panel(traces, layout, mark)


def _at_times(fan: Fan, quantiles: np.ndarray, i: int, labels: Labels) -> Panel:
    """The density at each time; of a coordinate without any, as at a known state, what was recorded alone."""
    low, high = usual_range(np.concatenate([quantiles.ravel(), fan.recorded[..., i].ravel()]))
    x = np.linspace(low, high, POINTS)
    try:
        density = fan.forecast.density(x, i)
    except InputError:
        density = np.full((len(fan.times), POINTS), np.nan)
    bins = np.linspace(low, high, BINS + 1)
    frames = []
    for n in range(len(fan.times)):
        states = fan.recorded[:, n, i]
        if fan.is_ensemble:
            heights = np.histogram(states, bins)[0] / (len(states) * np.diff(bins))
            seen = filled_steps(bins, heights)
        else:
            top = float(np.nanmax(density[n])) if np.isfinite(density[n]).any() else 1.0
            seen = line([states[0], states[0]], [0, top], "recorded", "--recorded", dash="dot")
        frames.append([seen, line(x, density[n], "forecast")])
    layout = axes(labels.axis(i), labels.density(i), "at the time of the slider", yaxis={"rangemode": "tozero"})
    return Panel([], layout, frames)
