"""The paper's metrics against SciPy and closed forms."""

import numpy as np
import pytest
from scipy.stats import wasserstein_distance

from nke.evaluation import ensemble_metrics, wasserstein


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


def test_lists_are_taken_as_arrays():
    assert ensemble_metrics([[[0.0]], [[2.0]]], [[[1.0]], [[3.0]]]) == (1.0, 0.0, 1.0)
    assert wasserstein([0, 1], [2, 3]) == 2
