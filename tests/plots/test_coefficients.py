"""Coefficients in one to five dimensions: what is drawn, and what stands on the axes."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import nke
from drawn_models import linear, recorded, words

COEFFICIENTS = ("drift", "diffusion", "jump_rate", "jump_law")


@pytest.mark.parametrize("dimension", [1, 2, 3, 5])
@pytest.mark.parametrize("name", COEFFICIENTS)
def test_coefficients_in_every_dimension(dimension, name):
    figure = Figure(layout="constrained")
    axes = getattr(nke.plots, name)(linear(dimension), recorded(dimension), figure=figure)
    if dimension == 3:
        figure.canvas.draw()
    assert set(axes.flat) <= set(figure.axes)
    panels = {1: 1, 2: 1, 3: 3, 5: 6} if name != "jump_law" else {1: 1, 2: 2, 3: 3, 5: 4}
    assert sum(axis.axison for axis in axes.flat) == panels[dimension]
    seen = words(figure)
    assert all(f"q{i} [mm]" in seen for i in range(min(dimension, 4)))
    assert "q4" not in seen


def test_curves_are_the_coefficients_in_their_units():
    model, data = linear(1), recorded(1)
    for name, value, unit in (
        ("drift", lambda x: -x, "mm/s"),
        ("diffusion", lambda x: 0.25 + 0 * x, "mm²/s"),
        ("jump_rate", lambda x: 0.3 + 0 * x, "1/s"),
    ):
        [[axis]] = getattr(nke.plots, name)(model, data, figure=Figure())
        [line] = [line for line in axis.lines if line.get_label() == "model"]
        x, y = line.get_data()
        np.testing.assert_allclose(y, value(x), atol=1e-5)
        assert axis.get_ylabel().endswith(f"[{unit}]")


def test_data_of_another_system_is_refused():
    with pytest.raises(ValueError, match="expected data with 2 coordinates"):
        nke.plots.drift(linear(2), recorded(3), figure=Figure())
