"""Recorded and simulated paths side by side, and their densities."""

import numpy as np

from nke.data import Trajectories
from nke.plots.numbers import Histogram, few_times, shared_range, usual_range
from nke.reporting.charts.chart import Chart, Choice, Panel, axes, filled_steps, lines, numbers, steps
from nke.reporting.contents import PATHS, Contents
from nke.reporting.labels import Labels

MOST_POINTS = 1500  # of all paths of one colour


def paths(contents: Contents, labels: Labels) -> Chart:
    """A few recorded paths, and as many simulated ones from the same start states."""
    choices = []
    some = contents.recorded.select(slice(PATHS))
    for i in range(contents.model.dimension):
        span = shared_range(some.observed_states[:, i], contents.paths[0].observed_states[:, i])
        layouts = [
            axes(labels.time(), labels.axis(i), title, yaxis={"range": numbers(span)})
            for title in ("recorded", "simulated from the law")
        ]
        recorded = Panel([_paths(some, i, "--recorded-thin", labels)], layouts[0])
        colours = ["--law-thin", "--other-1", "--other-2", "--other-3"]
        drawn = [_paths(each, i, c, labels) for each, c in zip(contents.paths, colours, strict=False)]
        choices.append(Choice(labels.name(i), [recorded, Panel(drawn, layouts[1])]))
    several = f" {len(contents.paths)} times" if len(contents.paths) > 1 else ""
    shown = min(len(contents.data), PATHS)
    which = "The recorded path" if shown == 1 else f"{shown} of {len(contents.data)} recorded paths"
    return Chart(
        "paths",
        "Paths: recorded and simulated",
        f"{which}, and what the law makes{several} of the same start. They should be alike in kind, not in every turn.",
        choices,
    )


def _paths(source: Trajectories, i: int, colour: str, labels: Labels) -> dict:
    """All paths as one trace, thinned out evenly where they have very many rows."""
    parts = []
    total = sum(int(np.count_nonzero(seen)) for seen in source.observed)
    stride = max(total // (MOST_POINTS * 2), 1)
    for states, times, seen in zip(source.states, source.times, source.observed, strict=True):
        kept = np.flatnonzero(seen)[::stride]
        parts.append((labels.dates(times[kept]), states[kept, i]))
    return lines(parts, colour=colour, width=1)


def densities(contents: Contents, labels: Labels) -> Chart:
    """Histograms of recorded and simulated states."""
    data = contents.recorded
    columns = few_times(data, contents.simulated, contents.model.unit_of_time)
    choices = []
    for i in range(contents.model.dimension):
        span = usual_range(data.observed_states[:, i])
        panels = []
        for words, (recorded, simulated) in columns.items():
            found = Histogram.of(recorded[:, i], simulated[:, i], span)
            traces = [
                filled_steps(found.edges, found.recorded),
                steps(found.edges, found.simulated, "simulated", "--law"),
            ]
            panels.append(Panel(traces, axes(labels.axis(i), labels.density(i), words, yaxis={"rangemode": "tozero"})))
        choices.append(Choice(labels.name(i), panels))
    return Chart("densities", "Where the states are", "Histograms of recorded and of simulated states.", choices)
