"""First averages of the data: covariances of calm motion and of jumps."""

import numpy as np
import pytest

from nke.fitting import moments_without_jumps
from nke.fitting.initial_moments import moments_with_jumps

NOISE = np.array([[0.5, 0.2], [0.2, 0.3]])
JUMP = np.array([[2.0, 0.0], [0.0, 0.5]])


def displacements(count: int, rate: float, seed: int):
    rng = np.random.default_rng(seed)
    step = rng.choice([0.01, 0.02, 0.03], count)
    moved = rng.multivariate_normal(np.zeros(2), NOISE, count) * np.sqrt(step)[:, None]
    jumped = rng.random(count) < rate * step
    return moved + jumped[:, None] * rng.multivariate_normal(np.zeros(2), JUMP, count), step


def test_without_jumps_the_noise_is_the_mean_square():
    moved, step = displacements(20_000, 0.0, 0)
    moments = moments_without_jumps(moved, step)
    assert moments.rate == 0
    np.testing.assert_allclose(moments.noise, NOISE, atol=4 * 0.5 * np.sqrt(2 / 20_000))


def test_with_jumps_rate_and_sizes_are_found():
    """600 jumps among 20,000 steps: 4 standard errors are 16 % of the rate and 23 % of a variance."""
    moved, step = displacements(20_000, 1.5, 1)
    moments = moments_with_jumps(moved, step)
    assert moments.rate == pytest.approx(1.5, rel=0.16)
    np.testing.assert_allclose(np.diag(moments.jump), np.diag(JUMP), rtol=0.23)
    np.testing.assert_allclose(moments.noise, NOISE, atol=4 * 0.5 * np.sqrt(2 / 20_000) + 0.01)
    # The two Gaussians predict better than one.
    assert moments.log_prob(moved, step).mean() > moments_without_jumps(moved, step).log_prob(moved, step).mean()


@pytest.mark.parametrize("moved", [np.zeros((50, 2)), np.tile([1e-9, 0.0], (50, 1))], ids=["constant", "one way"])
def test_nothing_to_learn_gives_finite_moments(moved):
    step = np.full(len(moved), 0.1)
    for moments in (moments_without_jumps(moved, step), moments_with_jumps(moved, step)):
        assert np.isfinite(moments.rate)
        for covariance in (moments.noise, moments.jump):
            assert (np.linalg.eigvalsh(covariance) > 0).all()


def test_a_resolution_takes_the_place_of_the_noise():
    moved, step = displacements(1000, 0.0, 0)
    moments = moments_without_jumps(moved, step).with_resolution(np.array([0.0, 1e-3]), 0.02)
    assert moments.noise[0, 0] == pytest.approx(0.5, rel=4 * np.sqrt(2 / 1000))
    np.testing.assert_allclose(moments.noise[:, 1], [0.0, 1e-6 / 0.02])
