"""Jumps: how often, how far, and the large motions of the data."""

import numpy as np

from nke.plots.numbers import Curve, Histogram, JumpSizes, RatePlane
from nke.reporting.charts.chart import Chart, Choice, Panel, axes, dots, line, lines, numbers, steps
from nke.reporting.charts.coefficients import (
    FEWER_STATES,
    STATES,
    curve_traces,
    diagonal_first,
    noisy,
    pairs,
    plane_layout,
)
from nke.reporting.contents import Contents
from nke.reporting.labels import Labels


def rate_plane(contents: Contents, labels: Labels) -> Chart | None:
    """The jump rate as colours."""
    model = contents.model
    if model.dimension == 1 or not model.has_jumps:
        return None
    planes = {(i, j): RatePlane.of(model, contents.view, i, j) for i, j in pairs(contents)}
    top = max(float(np.nanmax(plane.rate)) for plane in planes.values()) or 1.0
    choices = []
    for (i, j), plane in planes.items():
        trace = {
            "type": "heatmap", "x": numbers(plane.states[0, :, i]), "y": numbers(plane.states[:, 0, j]),
            "z": numbers(plane.rate), "zmin": 0, "zmax": numbers([top])[0], "colorscale": "Viridis",
            "colorbar": {"thickness": 8, "len": 0.9}, "hoverongaps": False, "name": "",
        }  # fmt: skip
        choices.append(Choice(labels.pair(i, j), [Panel([trace], plane_layout(contents, labels, i, j, ""))]))
    unit = labels.rate("jump rate")
    return Chart(
        "jump-rate-plane", "Jump rate in the plane", f"The {unit}, in cells that hold data.", choices, "coordinates"
    )


def jump_rates(contents: Contents, labels: Labels) -> Chart | None:
    """The jump rate along each coordinate, beside the large motions of the data in bins."""
    model = contents.model
    if not model.has_jumps:
        return None
    choices = {}
    for j in range(model.dimension):
        x, states = contents.view.line(j, STATES.get(model.dimension, FEWER_STATES))
        curve = Curve.of(model, "jump_rate", states)
        for i in noisy(contents) or range(model.dimension):
            found = contents.motions.rates(i, j)
            traces = [
                *curve_traces(x, curve, None, "jump rate λ"),
                line(found.centre, found.expected, "large motions by the law", "--law", dash="dot", width=1.5),
                dots(found.centre, found.rate, "large motions of the data ± standard error", found.error),
            ]
            top = 1.15 * float(np.max([curve.values.max(), found.rate.max(), found.expected.max()]))
            layout = axes(labels.axis(j), labels.rate("rate"), "", yaxis={"range": numbers([0, top or 1.0])})
            choices[i, j] = Choice(labels.along(i, j), [Panel(traces, layout)])
    return Chart(
        "jump-rate",
        "Jump rate",
        "Line: jump rate λ with its 90 % interval. Points: recorded motions of the coordinate that are farther than "
        "four standard deviations of the noise from the drift, per unit time; the dotted line is how many of these the "
        "law expects. Small jumps are not among them, so that both may lie below λ.",
        diagonal_first(choices),
        "large motions of",
    )


def jump_sizes(contents: Contents, labels: Labels) -> Chart | None:
    """The density of the size of one jump."""
    if not contents.model.has_jumps:
        return None
    choices = []
    for i, found in enumerate(JumpSizes.of(contents.model, contents.view, 201)):
        traces = [
            lines([(found.size, each) for each in found.around[:12]], "elsewhere", "--law-thin", width=1),
            line(found.size, found.middle, "in the middle of the data"),
        ]
        title = "" if found.jumps else f"{labels.name(i)} does not jump"
        layout = axes(f"jump of {labels.axis(i)}", labels.density(i), title, yaxis={"rangemode": "tozero"})
        choices.append(Choice(labels.name(i), [Panel(traces, layout)]))
    return Chart("jump-law", "Law of one jump", "Density of the size of one jump.", choices)


def increment_histograms(contents: Contents, labels: Labels) -> Chart:
    """Recorded motions from one record to the next beside those of the law, on a logarithmic axis."""
    moved, drawn = contents.increments
    choices = []
    for i in range(contents.model.dimension):
        reach = float(np.abs(moved[:, i]).max()) or 1.0
        found = Histogram.of(moved[:, i], drawn[:, i], (-reach, reach))
        traces = [
            steps(found.edges, _positive(found.recorded), "recorded", "--recorded"),
            steps(found.edges, _positive(found.simulated), "by the law", "--law"),
        ]
        logarithmic = {"type": "log", "dtick": 1, "exponentformat": "power"}
        layout = axes(f"increment of {labels.axis(i)}", labels.density(i), "", yaxis=logarithmic)
        choices.append(Choice(labels.name(i), [Panel(traces, layout)]))
    return Chart(
        "increments",
        "Motions from one record to the next",
        "Recorded motions, and those that the law draws from the same states over the same steps. Tails above those of "
        "the law would be jumps or large noise that it lacks.",
        choices,
    )


def _positive(density: np.ndarray) -> np.ndarray:
    """Empty bins have no place on a logarithmic axis."""
    return np.where(density > 0, density, np.nan)
