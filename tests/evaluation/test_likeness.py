"""Simulated data like recorded data: the same trajectories, times and gaps."""

import numpy as np
import pytest

import nke
from drawn_models import linear
from nke.evaluation import simulate_like
from nke.evaluation.likeness import MOST_GROUPS


def test_a_single_path_with_a_gap_keeps_its_times():
    times = np.array([3.0, 3.1, 3.2, 3.3, 4.5])
    data = nke.Trajectories([[1.0], [0.9], [np.nan], [0.8], [0.1]], times)
    drawn = simulate_like(linear(1), data)
    np.testing.assert_array_equal(drawn.times, data.times)
    np.testing.assert_array_equal(drawn.observed, data.observed)
    assert drawn.states[0, 0, 0] == 1.0


@pytest.mark.parametrize("paths", [MOST_GROUPS // 2, 400])
def test_paths_with_times_of_their_own_follow_the_law(paths):
    """f = −x, a = 1/4: after a time t from 1 the mean is e⁻ᵗ, the variance (1 − e⁻²ᵗ)/8; in groups and row by row."""
    rng = np.random.default_rng(0)
    times = [np.cumsum(np.append(0.0, rng.uniform(0.1, 0.4, 3))) for _ in range(paths)]
    data = nke.Trajectories([np.array([1.0, 0.5, np.nan, 0.2])[:, None] for _ in times], times)
    drawn = simulate_like(linear(1, jumps=False), data, seed=1)
    for m, at in enumerate(times):
        np.testing.assert_array_equal(drawn.times[m], at)
        assert drawn.observed[m].tolist() == [True, True, False, True]
    ends, last = np.array([states[-1, 0] for states in drawn.states]), np.array([at[-1] for at in times])
    scores = (ends - np.exp(-last)) / np.sqrt((1 - np.exp(-2 * last)) / 8)
    assert abs(scores.mean()) < 4 / np.sqrt(paths)
    assert abs(scores.var() - 1) < 4 * np.sqrt(2 / paths)


def test_times_in_another_unit_are_refused(small_fit):
    model, data = linear(1), small_fit["data"]
    timed = nke.Trajectories(data.states, data.times, unit_of_time="h")
    with pytest.raises(nke.errors.InputError, match="expected times in 's', as the model has them, but got 'h'"):
        nke.evaluate(model, timed)
