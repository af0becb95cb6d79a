"""Normal scores are standard normal under the right model, whatever its law."""

import numpy as np
import pytest
from scipy import stats

import nke
import recorded_failures as failures
from nke.evaluation import NormalScores, rosenblatt


def test_of_a_mixture_by_its_distribution_function():
    """One coordinate: the normal quantile of Σ w Φ((y − m)/s)."""
    weights, means, deviations = np.array([0.7, 0.3]), np.array([0.0, 1.5]), np.array([0.5, 2.0])
    y = np.linspace(-4, 6, 41)
    one = nke.GaussianMixture(
        np.tile(weights, (41, 1)),
        np.tile(means[:, None], (41, 1, 1)),
        np.tile(deviations[:, None, None] ** 2, (41, 1, 1, 1)),
    )
    expected = stats.norm.ppf(np.sum(weights * stats.norm.cdf((y[:, None] - means) / deviations), axis=1))
    np.testing.assert_allclose(rosenblatt(one, y[:, None])[:, 0], expected, atol=1e-6)


def test_far_tails_keep_their_size():
    """Where a distribution function is one to all digits, the score still tells 6 from 7 deviations."""
    law = nke.GaussianMixture(np.ones((2, 1)), np.zeros((2, 1, 1)), np.ones((2, 1, 1, 1)))
    np.testing.assert_allclose(rosenblatt(law, np.array([[6.0], [-7.0]]))[:, 0], [6.0, -7.0], atol=1e-6)


@pytest.mark.parametrize("kind", ["recorded", "simulated"])
def test_standard_normal_and_independent_under_the_true_model(kind):
    """5000 transitions in the plane: a Kolmogorov–Smirnov test, and the correlation of the coordinates."""
    scores = NormalScores.of(failures.model(), failures.right().transitions())
    e = scores.recorded if kind == "recorded" else scores.simulated[0]
    assert min(stats.kstest(e[:, i], "norm").pvalue for i in range(2)) > 1e-3
    assert abs(np.mean(e[:, 0] * e[:, 1])) < 4 / np.sqrt(len(e))


def test_cells_hold_equal_numbers_of_all_transitions():
    scores = NormalScores.of(failures.model(), failures.right().transitions())
    assert len(scores.cells) == 16
    assert sorted(np.concatenate(scores.cells).tolist()) == list(range(len(scores.recorded)))
    assert np.ptp([len(cell) for cell in scores.cells]) <= 1
