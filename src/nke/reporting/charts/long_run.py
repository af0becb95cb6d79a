"""The long run, and calibration: recorded data beside what a right law would show."""

import numpy as np

from nke.plots.numbers.long_run import BAND, Band, effective_potential
from nke.reporting.charts.chart import Chart, Choice, Panel, Trace, axes, band, line, numbers, steps
from nke.reporting.contents import Contents
from nke.reporting.labels import Labels


def stationary(contents: Contents, labels: Labels) -> Chart | None:
    """Density of the states over all times; of one coordinate the effective potential too."""
    run = contents.long_run
    if run is None:
        return None
    choices = []
    for i in range(contents.model.dimension):
        found = run.density(i)
        recorded = line(found.at, found.recorded, "recorded", "--recorded") | {
            "line": {"color": "--recorded", "width": 2, "shape": "hvh"}
        }
        layout = axes(labels.axis(i), labels.density(i), "", yaxis={"rangemode": "tozero"})
        panels = [Panel([*_simulated(found), recorded], layout)]
        if contents.model.dimension == 1:
            traces = [
                line(found.at, effective_potential(found.middle), "by the law"),
                line(found.at, effective_potential(found.recorded), "recorded", "--recorded"),
            ]
            panels.append(Panel(traces, axes(labels.axis(i), "effective potential −log p")))
        choices.append(Choice(labels.name(i), panels))
    return Chart(
        "stationary",
        "Density over all times",
        f"Recorded states of all times, and those of {len(run.simulated)} simulated data sets with the same starts and "
        "times. Over a record that is long enough it is the stationary density.",
        choices,
    )


def autocorrelation(contents: Contents, labels: Labels) -> Chart | None:
    """How long the states remember."""
    run = contents.long_run
    if run is None:
        return None
    choices = []
    for i in range(contents.model.dimension):
        found = run.autocorrelation(i)
        traces = [*_simulated(found), line(found.at, found.recorded, "recorded", "--recorded")]
        unit = f" [{labels.model.unit_of_time}]" if labels.model.unit_of_time else ""
        choices.append(Choice(labels.name(i), [Panel(traces, axes(f"time between{unit}", "autocorrelation"))]))
    return Chart(
        "autocorrelation",
        "Autocorrelation",
        "How long the states remember: the recorded line should lie within the band nearly everywhere.",
        choices,
    )


def _simulated(found: Band) -> list[Trace]:
    return [*band(found.at, found.low, found.high, BAND), line(found.at, found.middle, "by the law")]


def calibration(contents: Contents, labels: Labels) -> Chart | None:
    """Where recorded motions fall within the law's distribution of them."""
    choices = []
    for found in contents.calibration:
        low, high = (np.repeat(end[0], 2) for end in (found.low, found.high))
        traces = [
            *band([0, 1], low, high, "90 % of data sets of a right law"),
            line([0, 1], [1, 1], "", "--law", dash="dot", width=1, hoverinfo="skip"),
            steps(found.edges, found.recorded, "recorded", "--recorded"),
        ]
        top = max(1.5, 1.1 * float(found.recorded.max()))
        title = "the law's probability of a smaller motion"
        layout = axes(title, "share over that of a right law", "", yaxis={"range": numbers([0, top])})
        choices.append(Choice(labels.name(contents.model.names.index(found.name)), [Panel(traces, layout)]))
    if not choices:
        return None
    return Chart(
        "calibration",
        "Calibration",
        "Each recorded motion has a place within the law's distribution of it. If the law is right, all places are "
        "equally frequent: a hump in the middle means noise that is too large, high ends noise that is too small or "
        "tails that are too thin, a slope a mean motion that is off.",
        choices,
    )
