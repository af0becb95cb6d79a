"""Transitions against a naive loop over rows."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from nke.data import Coordinates, Trajectories, Transitions
from recorded_states import T1, X3, random_states

NAN = np.nan


def naive_transitions(states, times):
    """x, y, step, trajectory, time and row of every transition, by a loop over rows."""
    found = []
    for i, (xs, ts) in enumerate(zip(states, times, strict=True)):
        last = None
        for row, (x, t) in enumerate(zip(xs, ts, strict=True)):
            if np.isnan(x).any() or np.isnan(t):
                continue
            if last is not None:
                found.append((xs[last], x, t - ts[last], i, ts[last], last))
            last = row
    return [np.array(column) for column in zip(*found, strict=True)]


@st.composite
def gappy_trajectories(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    d, hole = draw(st.integers(1, 3)), draw(st.sampled_from([0.0, 0.2, 0.6]))
    states, times = [], []
    for length in draw(st.lists(st.integers(1, 12), min_size=1, max_size=5)):
        x, t = rng.normal(size=(length, d)), rng.normal() + np.cumsum(rng.uniform(0.1, 1, size=length))
        x[rng.random((length, d)) < hole / d] = NAN
        t[rng.random(length) < hole / 4] = NAN
        states.append(x)
        times.append(t)
    return states, times


@settings(deadline=None)
@given(gappy_trajectories())
def test_gaps_give_true_steps(case):
    states, times = case
    expected = naive_transitions(states, times)
    assume(expected)
    transitions = Trajectories(states, times).transitions()
    x, y, step, trajectory, time, row = expected
    np.testing.assert_array_equal(transitions.x, x)
    np.testing.assert_array_equal(transitions.y, y)
    np.testing.assert_array_equal(transitions.step, step)
    np.testing.assert_array_equal(transitions.trajectory, trajectory)
    np.testing.assert_array_equal(transitions.time, time)
    np.testing.assert_array_equal(transitions.row, row)
    np.testing.assert_array_equal(transitions.displacement, y - x)
    assert len(transitions) == len(step)
    assert transitions.dimension == x.shape[1]


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(2, 8), min_size=2, max_size=4), st.integers(2, 8))
def test_ragged_cut_to_one_length_is_rectangular(lengths, cut):
    states = [random_states(max(n, cut), 2, seed=i) for i, n in enumerate(lengths)]
    shortened = Trajectories([x[:cut] for x in states], 0.3)
    rectangular = Trajectories(np.stack([x[:cut] for x in states]), 0.3)
    assert not shortened.is_ragged
    np.testing.assert_array_equal(shortened.states, rectangular.states)
    full = Trajectories(states, 0.3).transitions()
    early = full.take(full.row < cut - 1)
    for name in ("x", "y", "step", "trajectory", "time", "row"):
        np.testing.assert_array_equal(getattr(early, name), getattr(rectangular.transitions(), name))


def test_take_by_mask_index_and_slice():
    transitions = Trajectories(X3, T1).transitions()
    mask = transitions.trajectory == 1
    for index in (mask, np.flatnonzero(mask), slice(4, 8)):
        taken = transitions.take(index)
        assert isinstance(taken, Transitions)
        np.testing.assert_array_equal(taken.x, X3[1, :-1])
        np.testing.assert_array_equal(taken.step, np.diff(T1))


@pytest.mark.parametrize("offset", [0.0, 1.7e9])
@pytest.mark.parametrize("step", [0.001, 0.05, 3.0])
def test_regular_step(offset, step):
    times = offset + step * np.arange(1000)
    transitions = Trajectories(np.zeros(1000), times).transitions()
    assert transitions.regular_step() == pytest.approx(step, rel=1e-6)


def test_irregular_steps_have_no_common_step():
    states = np.zeros(100)
    times = 0.1 * np.arange(100)
    times[50:] += 1e-6
    transitions = Trajectories(states, times).transitions()
    assert transitions.regular_step() is None
    assert transitions.regular_step(tolerance=1e-4) == pytest.approx(0.1, rel=1e-4)
    states[30] = NAN
    assert Trajectories(states, 0.1).transitions().regular_step() is None
    assert transitions.take(slice(0, 0)).regular_step() is None
    large = Trajectories([0, 0, 0], [2.0**53, 2.0**53 + 2, 2.0**53 + 6]).transitions()
    assert large.regular_step() is None


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize("offset", [0.0, 1e9])
def test_extreme_scales_and_offsets(scale, offset):
    noise = random_states(50, 2)
    data = Trajectories(scale * (offset + noise), scale * 0.1)
    transitions = data.transitions()
    assert transitions.regular_step() == pytest.approx(scale * 0.1, rel=1e-9)
    np.testing.assert_allclose(transitions.displacement / scale, np.diff(noise, axis=0), atol=3e-16 * offset + 1e-12)
    coordinates = Coordinates.zscore(data)
    np.testing.assert_allclose(coordinates.scale / scale, noise.std(axis=0), rtol=1e-6 if offset else 1e-12)
    np.testing.assert_allclose(coordinates.shift / scale, offset + noise.mean(axis=0), rtol=1e-15 if offset else 1e-12)
