"""The long run: autocorrelation and stationary density, and coefficients beside what the data says in bins."""

import numpy as np
from matplotlib.figure import Figure

import nke
from drawn_models import linear, words
from nke.systems import OrnsteinUhlenbeck
from true_models import true_model

SYSTEM = OrnsteinUhlenbeck(rate=2, mean=1, noise=0.5)
DATA = SYSTEM.simulate(1, 3, times=0.1 * np.arange(1500))


def drawn(axis, name):
    [line] = [line for line in axis.lines if line.get_label() == name]
    return np.asarray(line.get_data(), float)


def test_autocorrelation_is_that_of_the_process():
    """e^(−2t), within four standard errors of a path of 300 correlation times."""
    [[axis]] = nke.plots.autocorrelation(true_model(SYSTEM, step=0.1), DATA, figure=Figure())
    for name in ("model", "recorded"):
        time, correlation = drawn(axis, name)
        np.testing.assert_allclose(correlation, np.exp(-2 * time), atol=4 / np.sqrt(300))


def test_the_stationary_density_is_gaussian():
    """N(1, 1/16), with its potential (x − 1)²/(2/16)."""
    density, potential = nke.plots.stationary(true_model(SYSTEM, step=0.1), DATA, figure=Figure())[0]
    x, p = drawn(density, "model")
    np.testing.assert_allclose(p, np.exp(-8 * (x - 1) ** 2) / np.sqrt(np.pi / 8), atol=0.12)
    x, level = np.asarray(potential.lines[0].get_data(), float)
    near = np.abs(x - 1) < 0.5
    np.testing.assert_allclose(level[near], 8 * (x[near] - 1) ** 2, atol=0.4)


def test_binned_motions_and_the_total_drift_stand_beside_the_drift():
    model, figure = linear(1), Figure()
    nke.plots.drift(model, DATA, figure=figure)
    for name in ("mean motion of the data ± standard error", "total drift", "the same of the model"):
        assert name in words(figure)
    figure = Figure()
    nke.plots.diffusion(model, DATA, figure=figure)
    assert "variance of motions ± standard error" in words(figure)
    assert "with the jumps' variance" in words(figure)


def test_a_single_path_is_simulated_several_times_over_its_dates():
    calendar = nke.data.Calendar(np.datetime64("2024-03-01", "ns"), "d")
    data = nke.Trajectories(np.ravel(DATA.states)[:40], 1.0, calendar=calendar)
    axes = nke.plots.paths(linear(1), data, figure=Figure())
    assert len(axes[0, 0].lines) == 1
    assert len(axes[0, 1].lines) == 4
    assert axes[0, 0].lines[0].get_xdata()[0] == np.datetime64("2024-03-01")
