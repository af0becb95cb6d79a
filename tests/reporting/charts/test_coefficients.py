"""Charts of drift and noise in 1, 2, 3 and 6 dimensions: what they show is the law and the data."""

from dataclasses import replace

import numpy as np
import pytest

import nke
from drawn_models import linear
from nke.evaluation import Motions
from nke.plots.view import View
from nke.reporting.charts import coefficients, jumps
from nke.reporting.charts.chart import numbers
from nke.reporting.labels import Labels


@pytest.fixture
def contents(hostile_report):
    """Makes what these charts are made of: f = −x, a = I/4, λ = 0.3."""

    def of(dimension):
        model = linear(dimension)
        start = np.random.default_rng(0).standard_normal((400, dimension))
        data = nke.Trajectories(np.stack([start, start * np.exp(-0.1)], axis=1), 0.1)
        own = {"model": model, "data": data, "view": View.of(model, data), "motions": Motions.of(model, data)}
        return replace(hostile_report.contents, **own), Labels.of(model, data)

    return of


def trace(panel, name):
    [found] = [each for each in panel.data if each["name"] == name]
    return np.array(found["x"], float), np.array(found["y"], float)


@pytest.mark.parametrize("dimension", [1, 2, 6])
def test_choices_of_coordinates(dimension, contents):
    found, labels = contents(dimension)
    pairs = dimension * (dimension - 1) // 2
    for draw in (coefficients.drift_plane, coefficients.diffusion_plane, jumps.rate_plane):
        chart = draw(found, labels)
        assert (0 if chart is None else len(chart.choices)) == pairs
    for draw in (coefficients.drift_curves, coefficients.diffusion_curves, jumps.jump_rates):
        choices = draw(found, labels).choices
        assert len({choice.label for choice in choices}) == len(choices) == dimension**2
    assert len(jumps.jump_sizes(found, labels).choices) == dimension


def test_curves_are_the_law(contents):
    found, labels = contents(2)
    same, other = (coefficients.drift_curves(found, labels).choices[k].panels[0] for k in (0, 2))
    x, f = trace(same, "drift f")
    np.testing.assert_allclose(f, -x, atol=1e-4)
    x, f = trace(other, "drift f")
    np.testing.assert_allclose(f, -found.view.centre[0], atol=1e-4)
    _, a = trace(coefficients.diffusion_curves(found, labels).choices[0].panels[0], "diffusion a")
    np.testing.assert_allclose(a, 0.25, atol=1e-5)
    _, rate = trace(jumps.jump_rates(found, labels).choices[0].panels[0], "jump rate λ")
    np.testing.assert_allclose(rate, 0.3, atol=1e-5)


def test_points_are_the_motions_of_the_data(contents):
    """The data moves by x(e^−0.1 − 1) in 0.1."""
    found, labels = contents(1)
    x, mean = trace(
        coefficients.drift_curves(found, labels).choices[0].panels[0], "mean motion of the data ± standard error"
    )
    np.testing.assert_allclose(mean, x * (np.exp(-0.1) - 1) / 0.1, atol=1e-3)
    assert len(x) == 400 // 30


def test_arrows_point_to_the_origin(contents):
    found, labels = contents(2)
    [panel, _] = coefficients.drift_plane(found, labels).choices[0].panels
    x, y = (np.array(panel.data[1][axis], float).reshape(-1, 3) for axis in "xy")
    assert np.isnan(x[:, 2]).all()
    inwards = (x[:, 1] - x[:, 0]) * x[:, 0] + (y[:, 1] - y[:, 0]) * y[:, 0]
    assert np.mean(inwards < 0) > 0.97


def test_ellipses_have_the_spread_of_the_noise(contents):
    found, labels = contents(2)
    chart = coefficients.diffusion_plane(found, labels)
    duration = float(chart.caption.split("a time of ")[1].split()[0])
    x, y = (np.array(chart.choices[0].panels[0].data[1][axis][: coefficients.POINTS], float) for axis in "xy")
    radius = np.hypot(x - x[:-1].mean(), y - y[:-1].mean())
    np.testing.assert_allclose(radius, np.sqrt(0.25 * duration), rtol=1e-2)


def test_numbers_are_rounded_and_plain():
    assert numbers([[1.234567, np.inf], [np.nan, 2.0]]) == [[1.2346, None], [None, 2.0]]
    assert numbers(np.array(["2024-03-01"], "datetime64[ns]")) == ["2024-03-01T00:00:00"]
