"""Recorded beside simulated."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import nke
from drawn_models import linear, recorded, words
from nke.evaluation import simulate_like


@pytest.mark.parametrize("ragged", [False, True])
def test_recorded_beside_simulated(ragged):
    model, data = linear(2, jumps=False), recorded(2, ragged)
    simulated = simulate_like(model, data, seed=1)
    np.testing.assert_allclose(simulated.initial, data.initial)
    assert [len(times) for times in simulated.times] == [len(times) for times in data.times]
    figure = Figure(layout="constrained")
    axes = nke.plots.paths(model, data, simulated=simulated, figure=figure)
    assert axes.shape == (2, 2)
    assert all(len(axis.lines) == 20 for axis in axes.flat)
    assert all(word in words(figure) for word in ("recorded", "simulated", "q1 [mm]", "time [s]"))
    axes = nke.plots.densities(model, data, simulated=simulated, figure=Figure())
    assert axes.shape == ((1, 2) if ragged else (2, 3))
