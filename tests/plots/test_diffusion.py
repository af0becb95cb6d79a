"""The diffusion as ellipses."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import nke
from drawn_models import linear, recorded
from nke.plots.numbers import round_down


def test_ellipses_have_the_spread_of_the_noise():
    [[axis]] = nke.plots.diffusion(linear(2), recorded(2), figure=Figure())
    ellipse = np.stack(next(line for line in axis.lines if len(line.get_xdata()) == 61).get_data())
    radius = np.linalg.norm(ellipse - ellipse[:, :-1].mean(axis=1, keepdims=True), axis=0)
    duration = float(axis.figure.get_suptitle().split("time of ")[1].split()[0])
    np.testing.assert_allclose(radius, np.sqrt(0.25 * duration), rtol=1e-4)


@pytest.mark.parametrize(("value", "rounded"), [(0.99, 0.5), (1, 1), (4.9, 2), (70, 50)])
def test_durations_are_rounded_down_to_one_digit(value, rounded):
    assert round_down(value) == rounded
