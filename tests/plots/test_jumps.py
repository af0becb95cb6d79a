"""The law of a jump."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import nke
from drawn_models import linear, recorded


def test_the_law_of_a_jump_is_a_density():
    axes = nke.plots.jump_law(linear(3), recorded(3), figure=Figure())
    for axis in axes.flat:
        [line] = [line for line in axis.lines if line.get_label() == "model"]
        x, y = line.get_data()
        assert np.trapezoid(y, x) == pytest.approx(1, abs=1e-3)
        assert x[y.argmax()] == pytest.approx(0, abs=0.02)
