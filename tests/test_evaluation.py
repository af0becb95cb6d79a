"""Metrics against SciPy and closed forms; the oracle floor; recovery of a known truth."""

import numpy as np
import pytest
from scipy.stats import wasserstein_distance

import nke
from nke.data import Coordinates
from nke.evaluation import ensemble_metrics, simulate_like, wasserstein
from nke.evaluation.evaluate import is_ensemble
from nke.model import Model
from nke.operators import Advection, Diffusion, Generator, PoissonJump
from nke.systems import DoubleWell, OrnsteinUhlenbeck, System


def true_model(system: System, step: float) -> Model:
    """The system's own coefficients as a model in raw coordinates."""
    jump = PoissonJump.from_functions(system.jump_rate, system.jump_law) if system.has_jumps else None
    generator = Generator(Advection(system.drift), Diffusion.from_tensor(system.diffusion), jump)
    d = system.dimension
    return Model(generator, Coordinates(np.zeros(d), np.ones(d), 1.0), step, system.names, ("",) * d)


@pytest.mark.parametrize(("m", "n"), [(5, 5), (7, 3), (4, 6), (1, 9)])
def test_wasserstein_equals_scipy(m, n):
    rng = np.random.default_rng(m * n)
    a, b = rng.normal(size=(m, 2, 3)), rng.normal(1.0, 2.0, size=(n, 2, 3))
    expected = [[wasserstein_distance(a[:, i, j], b[:, i, j]) for j in range(3)] for i in range(2)]
    np.testing.assert_allclose(wasserstein(a, b), expected, rtol=1e-12)


def test_metrics_of_shifted_and_scaled_gaussians_match_closed_forms():
    """N(0, 1) against N(m, σ²): (m², (1−σ²)², W1); sampling error of the means is about 1/√n."""
    rng = np.random.default_rng(0)
    n = 200_000
    x = rng.normal(size=(n, 1, 1))
    shifted = ensemble_metrics(x + 0.7, x)
    assert shifted.mean_mse == pytest.approx(0.49, rel=1e-9)
    assert shifted.covariance_mse == pytest.approx(0.0, abs=1e-18)
    assert shifted.wasserstein == pytest.approx(0.7, rel=1e-9)
    scaled = ensemble_metrics(1.5 * rng.normal(size=(n, 1, 1)), x)
    # W1 of two centred Gaussians is |σ − 1| E|Z|; all of these have relative error of a few /√n.
    assert scaled.wasserstein == pytest.approx(0.5 * np.sqrt(2 / np.pi), abs=5 / np.sqrt(n) * 2)
    assert scaled.covariance_mse == pytest.approx((1.5**2 - 1) ** 2, rel=10 * 2 / np.sqrt(n) * 3)


def test_metrics_average_over_times_and_coordinates():
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, 40, 5, 3))
    metrics = ensemble_metrics(a, b)
    mean = covariance = transport = 0.0
    for t in range(5):
        mean += np.sum((a[:, t].mean(0) - b[:, t].mean(0)) ** 2) / 15
        covariance += np.sum((np.cov(a[:, t].T) - np.cov(b[:, t].T)) ** 2) / 45
        transport += sum(wasserstein_distance(a[:, t, i], b[:, t, i]) for i in range(3)) / 15
    assert metrics == pytest.approx((mean, covariance, transport), rel=1e-9)


def test_the_true_model_scores_like_the_oracle():
    """The true coefficients simulated by the model lie within 4 standard deviations of the floor."""
    system = DoubleWell()
    times = np.linspace(0, 1, 21)
    test = system.simulate(128, seed=3, times=times)
    model = true_model(system, 0.05)
    floor = nke.oracle_floor(system, test, replicates=30, seed=5)
    measured = nke.evaluate(model, test, seed=6).ensemble
    assert measured is not None
    for value, mean, spread in zip(measured, floor.mean, floor.spread, strict=True):
        assert abs(value - mean) < 4 * spread


def test_recovery_is_zero_for_the_truth_and_right_for_a_known_error():
    system = DoubleWell()
    states = np.random.default_rng(0).normal(size=(500, 3))
    exact = nke.recovery(true_model(system, 0.05), system, states)
    assert exact.drift.relative < 1e-5
    assert exact.diffusion.median < 1e-5
    assert exact.jump_rate is not None
    assert exact.jump_rate.relative < 1e-5
    off = nke.recovery(true_model(DoubleWell(noise=1.0, rate=1.5), 0.05), system, states)
    assert off.diffusion == pytest.approx((3.0, 3.0), rel=1e-4)  # a = 1 against 0.25
    assert off.jump_rate == pytest.approx((0.5, 0.5), rel=1e-4)


def test_progress_tells_of_all_transitions_and_intervals():
    heard = {}

    def begin(name, total):
        heard[name] = [total, 0]
        return lambda steps: heard[name].__setitem__(1, heard[name][1] + steps)

    system = OrnsteinUhlenbeck()
    model, data = true_model(system, 0.02), system.simulate(3, seed=0, times=[0, 0.1, 0.2])
    shown = nke.evaluate(model, data, progress=begin)
    assert heard == {"scoring": [6, 6], "simulating": [2, 2]}
    assert shown == nke.evaluate(model, data)
    ragged = nke.Trajectories([s[: 2 + (i > 0)] for i, s in enumerate(data.states)], 0.1)
    simulate_like(model, ragged, progress=begin)
    assert heard["simulating"] == [10, 10]


def test_data_that_is_no_ensemble_is_scored_without_ensemble_metrics():
    system = OrnsteinUhlenbeck()
    model = true_model(system, 0.02)
    data = system.simulate(3, seed=0)
    ragged = nke.Trajectories([np.asarray(s)[: 20 + i] for i, s in enumerate(data.states)], 0.02)
    assert not is_ensemble(ragged)
    evaluation = nke.evaluate(model, ragged)
    assert evaluation.ensemble is None
    assert np.isfinite(evaluation.score)
    with pytest.raises(ValueError, match="same times"):
        nke.oracle_floor(system, ragged)
    with pytest.raises(ValueError, match="coordinates"):
        nke.evaluate(model, DoubleWell().simulate(4, seed=0))
