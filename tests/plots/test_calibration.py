"""Calibration and motions in bins."""

import numpy as np
from matplotlib.figure import Figure
from scipy.special import ndtri

import nke
from drawn_models import linear, recorded, words
from nke.evaluation import NormalScores
from nke.plots.numbers import Calibration


def scores(values):
    """Normal scores of one coordinate, without what they were computed from."""
    values = np.asarray(values)[:, None]
    nothing, steps = np.zeros_like(values), nke.Trajectories(np.arange(len(values) + 1.0), 1.0).transitions()
    return NormalScores(steps, values, nothing[None], nothing, nothing[None], nothing, nothing, ("x",), (0,))


def test_places_are_equally_frequent_for_standard_normal_scores():
    [found] = Calibration.of(scores(ndtri((np.arange(1000) + 0.5) / 1000)))
    np.testing.assert_allclose(found.recorded, 1)
    np.testing.assert_allclose(found.coverage, [0.5, 0.8, 0.9, 0.95, 0.99], atol=1e-3)
    assert np.all((found.low < 1) & (found.high > 1))


def test_noise_that_is_too_large_is_a_hump():
    [found] = Calibration.of(scores(0.5 * ndtri((np.arange(1000) + 0.5) / 1000)))
    assert found.recorded[0] < 0.05
    assert found.recorded[9] > 1.9
    assert found.coverage[0] > 0.8  # P(|z| < 2·0.674) = 0.82


def test_drawn(small_fit):
    given = Calibration.of(scores(np.zeros(10)))
    figure = Figure()
    nke.plots.calibration(small_fit["model"], small_fit["data"], found=given, figure=figure)
    assert "90 % of data sets of a right law" in words(figure)


def test_motions_of_each_coordinate():
    figure = Figure()
    axes = nke.plots.motions(linear(2), recorded(2), figure=figure)
    assert axes.shape == (3, 2)
    assert "large motions per unit time" in words(figure)
