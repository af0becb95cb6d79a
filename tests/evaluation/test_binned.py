"""Binned motions: what the data says without a model, and what the model expects of the same motions."""

import numpy as np
import pytest

import nke
from drawn_models import linear
from nke.evaluation import Motions, binned_motions
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


def test_other_data_is_refused():
    with pytest.raises(nke.errors.InputError, match="expected data with 2 coordinates, but got 3"):
        binned_motions(linear(2), nke.Trajectories(np.zeros((5, 3)), 0.1))


def test_one_coordinate_over_the_states_of_another():
    """f = −x, each coordinate by itself: the motions of the first do not know the second."""
    rng = np.random.default_rng(0)
    start = rng.normal(size=(4000, 2))
    ends = start * np.exp(-0.1) + np.sqrt(0.25 * 0.1) * rng.normal(size=start.shape)
    data = nke.Trajectories(np.stack([start, ends], axis=1), 0.1)
    found = binned_motions(linear(2, jumps=False), data, coordinate=0, along=1)
    assert np.all(np.diff(found.centre) > 0)
    assert np.mean((found.mean / found.mean_error) ** 2) == pytest.approx(1, abs=4 * np.sqrt(2 / 20))
    assert found.expected_mean == pytest.approx(0, abs=0.3)


def test_large_motions_are_the_jumps_that_can_be_seen():
    """Jumps N(0, 1) at rate 0.3, noise of 0.158 a step: P(|jump + noise| > 0.632) = 0.53 of them, and rarely two."""
    rng = np.random.default_rng(0)
    start = rng.normal(size=20_000)
    jumps = (rng.random(len(start)) < 1 - np.exp(-0.03)) * rng.normal(size=len(start))
    ends = start * np.exp(-0.1) + np.sqrt(0.25 * 0.1) * rng.normal(size=len(start)) + jumps
    found = Motions.of(linear(1), nke.Trajectories(np.stack([start, ends], axis=1)[..., None], 0.1)).rates(0)
    assert np.mean(found.expected) == pytest.approx(0.3 * 0.53, rel=0.05)
    assert np.mean(((found.rate - found.expected) / found.error) ** 2) == pytest.approx(1, abs=4 * np.sqrt(2 / 20))
