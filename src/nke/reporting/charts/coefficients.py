"""Drift and diffusion: fields in planes of two coordinates, and curves beside what the data says in bins."""

from itertools import combinations
from typing import Any

import numpy as np

from nke.plots.numbers import Curve, DriftField, Ellipses
from nke.reporting.charts.chart import Chart, Choice, Panel, Trace, axes, band, cloud, dots, line, lines, numbers
from nke.reporting.contents import Contents
from nke.reporting.labels import Labels

SIDE, POINTS = 13, 25  # arrows on each side, and points around an ellipse
STATES = {1: 161}  # along a curve, by dimension; otherwise
FEWER_STATES = 61
CLOUD = 600  # recorded states behind a field


def pairs(contents: Contents) -> list[tuple[int, int]]:
    """All pairs of coordinates."""
    return list(combinations(range(contents.model.dimension), 2))


def noisy(contents: Contents) -> list[int]:
    """Coordinates that have noise of their own, by the states of the data."""
    variances = np.diagonal(contents.model.diffusion(contents.view.states[:50]), axis1=-2, axis2=-1)
    return np.flatnonzero((variances > 0).any(axis=0)).tolist()


def drift_plane(contents: Contents, labels: Labels) -> Chart | None:
    """Arrows of the drift, and of the total drift where there are jumps."""
    model, view = contents.model, contents.view
    if model.dimension == 1:
        return None
    quantities = {"drift": "drift f"}
    if model.has_jumps:
        quantities["total_drift"] = "total drift, with the jumps' mean"
    fields = {
        (i, j): [DriftField.of(model, view, i, j, SIDE, quantity) for quantity in quantities]
        for i, j in pairs(contents)
    }
    brightest = max(float(np.percentile(field.speed, 98)) for each in fields.values() for field in each) or 1.0
    choices = []
    for (i, j), each in fields.items():
        panels = []
        for field, title in zip(each, quantities.values(), strict=True):
            longest = float(np.percentile(np.hypot(*field.arrows), 95)) or 1.0
            traces = [cloud(*view.states[:CLOUD, [i, j]].T), _arrows(contents, field, i, j, longest, brightest)]
            panels.append(Panel(traces, plane_layout(contents, labels, i, j, title)))
        choices.append(Choice(labels.pair(i, j), panels))
    more = "" if model.dimension < 3 else " The other coordinates are at their mean nearby."
    unit = f"standard deviations of the data per {model.unit_of_time or 'unit time'}"
    return Chart(
        "drift-plane",
        "Drift in the plane",
        f"Where the mean motion goes. Colour: speed in {unit}; length: its root. Points: data.{more}",
        choices,
        "coordinates",
    )


def _arrows(contents: Contents, field: DriftField, i: int, j: int, longest: float, brightest: float) -> Trace:
    """Arrows as lines from tail to head with a head that points along them."""
    view = contents.view
    cell = (view.high - view.low)[[i, j]] / SIDE
    length = field.arrows.T / longest * 0.9 * cell
    tails, heads = field.states[:, [i, j]] - length / 2, field.states[:, [i, j]] + length / 2
    count = len(tails)
    nothing = np.full((count, 2), np.nan)
    points = np.stack([tails, heads, nothing], axis=1).reshape(-1, 2)
    speed = np.repeat(field.speed, 3)
    return line(points[:, 0], points[:, 1], "", "--arrow", width=1.2) | {
        "mode": "lines+markers",
        "hoverinfo": "skip",
        "marker": {
            "symbol": "arrow", "angleref": "previous", "size": [0, 9, 0] * count, "color": numbers(speed),
            "colorscale": "Viridis", "cmin": 0, "cmax": numbers([brightest])[0], "showscale": True,
            "line": {"width": 0}, "colorbar": {"thickness": 8, "len": 0.9, "title": {"text": "speed", "side": "right"}},
        },
    }  # fmt: skip


def plane_layout(contents: Contents, labels: Labels, i: int, j: int, title: str) -> dict[str, Any]:
    """The layout of a panel that shows the plane of two coordinates where the data is."""
    view = contents.view
    spans = [{"range": numbers([view.low[k], view.high[k]])} for k in (i, j)]
    return axes(labels.axis(i), labels.axis(j), title, xaxis=spans[0], yaxis=spans[1])


def diffusion_plane(contents: Contents, labels: Labels) -> Chart | None:
    """Ellipses of one standard deviation that the noise spreads to."""
    model, view = contents.model, contents.view
    chosen = [pair for pair in pairs(contents) if set(pair) & set(noisy(contents))]
    if not chosen:
        return None
    found = Ellipses.of(model, view, chosen, 9, POINTS)
    choices = []
    for (i, j), outlines in zip(chosen, found.outlines, strict=True):
        ellipses = lines([(each[0], each[1]) for each in outlines], width=1.3)
        panel = Panel([cloud(*view.states[:CLOUD, [i, j]].T), ellipses], plane_layout(contents, labels, i, j, ""))
        choices.append(Choice(labels.pair(i, j), [panel]))
    duration = f"{found.duration:g} {model.unit_of_time}".rstrip()
    return Chart(
        "diffusion-plane",
        "Noise in the plane",
        f"Ellipses of one standard deviation to which the noise alone spreads in a time of {duration}. Points: data.",
        choices,
        "coordinates",
    )


def drift_curves(contents: Contents, labels: Labels) -> Chart:
    """Drift and total drift of each coordinate along each, beside the mean motion of the data in bins."""
    model = contents.model
    choices = {}
    for j in range(model.dimension):
        x, states = contents.view.line(j, STATES.get(model.dimension, FEWER_STATES))
        curve = Curve.of(model, "drift", states)
        total = model.total_drift(states) if model.has_jumps else None
        for i in range(model.dimension):
            found = contents.motions.binned(i, j)
            traces = curve_traces(x, curve, i, "drift f")
            if total is not None:
                traces.append(line(x, total[:, i], "total drift, with the jumps' mean", dash="dash"))
            traces += [
                line(found.centre, found.expected_mean, "mean motion by the law", "--law", dash="dot", width=1.5),
                dots(found.centre, found.mean, "mean motion of the data ± standard error", found.mean_error),
            ]
            values = np.concatenate([curve.values[:, i], found.mean, found.expected_mean])
            panel = Panel(traces, axes(labels.axis(j), labels.drift(i), "", yaxis=_range(values)))
            choices[i, j] = Choice(labels.along(i, j), [panel])
    return Chart(
        "drift",
        "Drift",
        "Line: drift f with its 90 % interval, faint where there was no data" + _others(contents) + ". Points: mean "
        "motion in bins that hold equally many recorded motions; the dotted line is what the law expects of the same "
        "motions, so that points should scatter around it by their errors.",
        diagonal_first(choices),
        "drift of",
    )


def diffusion_curves(contents: Contents, labels: Labels) -> Chart:
    """Diffusion of each coordinate along each, beside the variance of the motions in bins."""
    model = contents.model
    choices = {}
    for j in range(model.dimension):
        x, states = contents.view.line(j, STATES.get(model.dimension, FEWER_STATES))
        curve = Curve.of(model, "diffusion", states)
        for i in noisy(contents) or range(model.dimension):
            found = contents.motions.binned(i, j)
            own = Curve(curve.values[:, i], curve.seen, *(None if end is None else end[:, i] for end in curve[2:]))
            traces = [
                *curve_traces(x, own, i, "diffusion a"),
                line(found.centre, found.expected_variance, "variance by the law", "--law", dash="dot", width=1.5),
                dots(found.centre, found.variance, "variance of the data ± standard error", found.variance_error),
            ]
            top = 1.15 * float(np.max([own.values[:, i].max(), found.variance.max(), found.expected_variance.max()]))
            layout = axes(labels.axis(j), labels.diffusion(i), "", yaxis={"range": numbers([0, top or 1.0])})
            choices[i, j] = Choice(labels.along(i, j), [Panel(traces, layout)])
    more = "of the jumps and of the drift" if model.has_jumps else "of the drift"
    return Chart(
        "diffusion",
        "Noise",
        "Line: diffusion a = g gᵀ, the variance that the noise gains per unit time, with its 90 % interval"
        + _others(contents)
        + ". Points: variance of the recorded motions per unit time in bins; dotted: by the law. It holds the variance "
        f"{more} within a bin too.",
        diagonal_first(choices),
        "noise of",
    )


def curve_traces(x: np.ndarray, curve: Curve, i: int | None, name: str) -> list[Trace]:
    """A curve with its band where there was data, and faint elsewhere."""

    def own(values: np.ndarray) -> np.ndarray:
        return values if i is None else values[:, i]

    traces = []
    if curve.lower is not None and curve.upper is not None:
        low, high = (own(end)[curve.seen] for end in (curve.lower, curve.upper))
        traces += band(x[curve.seen], low, high, "90 % interval")
    traces.append(line(x, own(curve.values), "", "--law-thin", hoverinfo="skip"))
    return [*traces, line(x, np.where(curve.seen, own(curve.values), np.nan), name)]


def _range(values: np.ndarray) -> dict:
    """All of the values with a margin, and not how far error bars of rare states go."""
    low, high = float(np.min(values)), float(np.max(values))
    margin = 0.15 * (high - low) or 1.0
    return {"range": numbers([low - margin, high + margin])}


def _others(contents: Contents) -> str:
    return "" if contents.model.dimension == 1 else "; the other coordinates at their medians"


def diagonal_first(choices: dict[tuple[int, int], Choice]) -> list[Choice]:
    """Each coordinate along itself, then along the others."""
    return [choices[key] for key in sorted(choices, key=lambda key: (key[0] != key[1], key))]
