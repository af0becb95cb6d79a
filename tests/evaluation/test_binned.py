"""Binned motions: what the data says without a model, and what the model expects of the same motions."""

import numpy as np
import pytest

import nke
from drawn_models import linear
from nke.evaluation import binned_motions
from nke.systems import OrnsteinUhlenbeck
from true_models import true_model


@pytest.fixture(scope="module")
def found():
    """f = −2(x − 1), a = 1/4, at steps of 0.02; 16,000 transitions in 20 bins."""
    system = OrnsteinUhlenbeck(rate=2, mean=1, noise=0.5)
    data = system.simulate(80, 0, times=0.02 * np.arange(201))
    return binned_motions(true_model(system), data)


def test_the_truth_lies_within_the_errors(found):
    """z-scores of 20 bins: their mean square is 1 ± √(2/20)."""
    for value, error, expected in (
        (found.mean, found.mean_error, found.expected_mean),
        (found.variance, found.variance_error, found.expected_variance),
    ):
        assert np.mean(((value - expected) / error) ** 2) == pytest.approx(1, abs=4 * np.sqrt(2 / 20))


def test_what_the_model_expects_is_drift_and_diffusion_of_a_step(found):
    decay = np.exp(-2 * 0.02)
    np.testing.assert_allclose(found.expected_mean, -(1 - decay) / 0.02 * (found.centre - 1), atol=2e-3)
    inside = found.expected_variance[5:-5]  # narrow bins
    np.testing.assert_allclose(inside, 0.25 * (1 - decay**2) / (4 * 0.02), rtol=5e-3)


def test_errors_are_those_of_repetition():
    rng, model = np.random.default_rng(0), linear(1, jumps=False)
    means, errors = [], []
    for _ in range(60):
        start = rng.normal(size=300)
        moved = start + 0.1 * rng.normal(size=300)
        data = nke.Trajectories(np.stack([start, moved], axis=1)[..., None], 0.1)
        one = binned_motions(model, data)
        means.append(one.mean[5])
        errors.append(one.mean_error[5])
    assert np.std(means) == pytest.approx(np.mean(errors), rel=4 / np.sqrt(2 * 60))


def test_one_coordinate_is_needed():
    with pytest.raises(nke.errors.InputError, match="expected one coordinate, but the model has 2"):
        binned_motions(linear(2), nke.Trajectories(np.zeros((5, 2)), 0.1))
