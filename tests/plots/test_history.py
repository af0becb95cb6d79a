"""How a training is drawn."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import nke
from drawn_models import linear
from nke.fitting import Curve


def test_history_marks_what_was_kept():
    curve = Curve(np.array([200, 400, 600]), np.array([3.0, 1, 0.5]), np.array([3.0, 1.2, 1.3]), 1, 1.0)
    trial = curve._replace(kind="trial")
    [[axis]] = nke.plots.history(nke.FitResult(linear(1), {"plain": trial, "likelihood": curve}, {}), figure=Figure())
    assert axis.get_title() == "likelihood"
    [kept] = [line for line in axis.lines if line.get_label() == "kept"]
    assert (*kept.get_xdata(), *kept.get_ydata()) == (400, 1.2)


def test_a_fit_without_history_is_refused():
    with pytest.raises(ValueError, match="history"):
        nke.plots.history(nke.FitResult(linear(1), {}, {}), figure=Figure())
