"""Trajectories, transitions and coordinates against naive loops, closed forms and every bad input."""

import warnings
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
import scipy.linalg
import scipy.stats
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from nke.data import Coordinates, Trajectories, Transitions

NAN, INF = np.nan, np.inf


def random_states(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


def pieces(value) -> list[np.ndarray]:
    """Trajectories one by one, whether stored as an array or as a list."""
    return list(value)


class Column:
    """Stands for a pandas column or frame: an object that NumPy can read."""

    def __init__(self, values):
        self.values = np.asarray(values)
        self.ndim = self.values.ndim

    def __array__(self, dtype=None, copy=None):
        return self.values.astype(dtype) if dtype else self.values


# Input forms

X1, X2, X3 = random_states(5), random_states(5, 2), random_states(3, 5, 2)
STATE_FORMS = {
    "vector": (X1, X1[None, :, None]),
    "list of numbers": (X1.tolist(), X1[None, :, None]),
    "matrix": (X2, X2[None]),
    "list of lists": (X2.tolist(), X2[None]),
    "ensemble": (X3, X3),
    "nested lists": (X3.tolist(), X3),
    "list of matrices": (list(X3), X3),
    "tuple of matrices": (tuple(X3), X3),
    "list of vectors": (list(X3[..., 0]), X3[..., :1]),
    "list of one": ([X2], X2[None]),
    "lists of row arrays": ([list(x) for x in X3], X3),
    "column": (Column(X1), X1[None, :, None]),
    "frame": (Column(X2), X2[None]),
    "list of frames": ([Column(x) for x in X3], X3),
    "float32": (X3.astype(np.float32), X3.astype(np.float32)),
    "integers": (np.arange(10).reshape(5, 2), np.arange(10).reshape(1, 5, 2)),
    "booleans": (np.array([True, False, True, True, False]), [[[1], [0], [1], [1], [0]]]),
    "Fortran order": (np.asfortranarray(X3), X3),
    "matrix class": (np.asmatrix(X2), X2[None]),
}


@pytest.mark.parametrize("form", STATE_FORMS)
def test_every_form_of_states(form):
    given_states, expected = STATE_FORMS[form]
    data = Trajectories(given_states, 0.5)
    assert isinstance(data.states, np.ndarray)
    assert data.states.dtype == np.float64
    np.testing.assert_array_equal(data.states, np.asarray(expected, dtype=float))
    np.testing.assert_array_equal(data.times, np.tile(0.5 * np.arange(5), (len(data), 1)))
    assert np.all(data.observed)
    assert not data.is_ragged
    assert data.dimension == data.states.shape[2]
    np.testing.assert_array_equal(data.initial, data.states[:, 0])


T1 = np.array([0.0, 1.0, 1.5, 4.0, 4.5])
T2 = T1 + np.arange(3)[:, None]


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        (2, [[0, 2, 4, 6, 8]] * 3),
        (np.float32(0.5), [[0, 0.5, 1, 1.5, 2]] * 3),
        (np.array(0.5), [[0, 0.5, 1, 1.5, 2]] * 3),
        (T1, [T1] * 3),
        (T1.tolist(), [T1] * 3),
        (Column(T1), [T1] * 3),
        (T2, T2),
        (T2.tolist(), T2),
        (list(T2), T2),
        ([Column(t) for t in T2], T2),
    ],
)
def test_every_form_of_times(times, expected):
    for states in (X3, list(X3)):
        data = Trajectories(states, times)
        np.testing.assert_array_equal(data.times, np.asarray(expected, dtype=float))


@pytest.mark.parametrize("times", [0.5, "arrays", "lists"])
def test_trajectories_of_different_lengths(times):
    lengths = [5, 2, 4]
    states = [x[:n] for x, n in zip(X3, lengths, strict=True)]
    expected = [0.5 * np.arange(n) for n in lengths]
    given_times = {"arrays": expected, "lists": [t.tolist() for t in expected]}.get(times, times)
    for form in (states, [x.tolist() for x in states]):
        data = Trajectories(form, given_times)
        assert data.is_ragged
        assert len(data) == 3
        assert data.dimension == 2
        assert isinstance(data.states, list)
        for i in range(3):
            np.testing.assert_array_equal(data.states[i], states[i])
            np.testing.assert_array_equal(data.times[i], expected[i])
            assert data.observed[i].all()
        np.testing.assert_array_equal(data.initial, X3[:, 0])


def test_ragged_scalar_trajectories():
    data = Trajectories([X1, X1[:3]], 0.5)
    assert [x.shape for x in data.states] == [(5, 1), (3, 1)]


def test_names_and_units():
    assert Trajectories(X2, 1).names == ("x1", "x2")
    assert Trajectories(X2, 1).units == ("", "")
    data = Trajectories(X2, 1, names=np.array(["height", "speed"]), units=["m", "m/s"])
    assert data.names == ("height", "speed")
    assert all(type(name) is str for name in data.names)
    assert data.units == ("m", "m/s")
    assert data.select([0]).names == data.names
    assert data.select([0]).units == data.units


def test_masked_values_are_not_observed():
    states = np.ma.masked_equal([[1, 2], [3, -1], [5, 6]], -1)
    times = np.ma.array([0.0, 1.0, 2.0, 3.0], mask=[False, False, False, True])
    data = Trajectories(states, 1.0)
    np.testing.assert_array_equal(data.observed, [[True, False, True]])
    np.testing.assert_array_equal(data.transitions().step, [2.0])
    hidden = np.ma.array([1.0, INF, 3.0, 4.0], mask=[False, True, False, False])
    np.testing.assert_array_equal(Trajectories(hidden, times).observed, [[True, False, True, False]])


def test_repr_is_one_helpful_line():
    states = X3.copy()
    states[1, 2, 0] = NAN
    text = repr(Trajectories(states, 0.5, names=["height", "speed"], units=["m", ""]))
    assert text.split(" × ")[1] == ("5 rows, coordinates height [m], speed, times 0 to 2, 1 row not observed)")
    assert "2 to 5 rows" in repr(Trajectories([X2, X2[:2]], 0.5))
    assert "(20 in all)" in repr(Trajectories(random_states(4, 20), 0.5))


# Copies


def test_input_is_neither_modified_nor_aliased():
    states, times = X3.copy(), T2.copy()
    for data in (Trajectories(states, times), Trajectories(list(states), list(times))):
        assert not np.shares_memory(data.states, states)
        assert not np.shares_memory(data.times, times)
    data = Trajectories(states, times)
    assert states.flags.writeable
    assert times.flags.writeable
    states[:], times[:] = 7, 7
    np.testing.assert_array_equal(data.states, X3)
    np.testing.assert_array_equal(data.times, T2)


def test_ragged_input_is_not_aliased():
    states = [X2.copy(), X2[:3].copy()]
    data = Trajectories(states, 0.5)
    states[0][:] = 7
    np.testing.assert_array_equal(data.states[0], X2)


@pytest.mark.parametrize("states", [X3, [X2, X2[:3]]], ids=["equal lengths", "ragged"])
def test_arrays_are_read_only(states):
    data = Trajectories(states, 0.5)
    for attribute in (data.states, data.times, data.observed):
        for piece in (attribute, *pieces(attribute)):
            if isinstance(piece, np.ndarray):
                with pytest.raises(ValueError, match="read-only"):
                    piece[0] = 0


# Errors: what was expected, what came, what to do

RAGGED_OBJECTS = np.array([X2, X2[:3]], dtype=object)
DECREASING = [T1, T1, T1, np.array([0.0, 0.40, 0.35, 0.5, 0.6])]
INFINITE = X3.copy()
INFINITE[2, 3, 1] = -INF


ERRORS = {
    "empty list": ([], 1, ValueError, ["no rows", "(0, 1)", "pass at least two rows"]),
    "no rows": (np.zeros((0, 2)), 1, ValueError, ["no rows", "(0, 2)", "pass"]),
    "no trajectories": (np.zeros((0, 5, 2)), 1, ValueError, ["no rows", "(0, 5, 2)", "pass"]),
    "no columns": (np.zeros((5, 0)), 1, ValueError, ["no coordinates", "(5, 0)", "pass"]),
    "empty trajectory": ([X2, X2[:0]], 1, ValueError, ["trajectory 1", "no rows", "(0, 2)", "remove it"]),
    "one row": (X2[:1], 1, ValueError, ["two observed rows", "1 trajectory has 1", "pass more rows"]),
    "one row each": (
        X3[:, :1],
        1,
        ValueError,
        ["two observed rows", "3 trajectories has 1", "pass more rows"],
    ),
    "one seen": ([1.0, NAN, NAN], 1, ValueError, ["two observed rows", "has 1", "pass"]),
    "nothing observed": ([NAN] * 4, 1, ValueError, ["each of 4 rows has a NaN", "drop"]),
    "no time known": (X1, [NAN] * 5, ValueError, ["each of 5 rows has a NaN", "drop"]),
    "single number": (3.0, 1, ValueError, ["(N,), (N, d) or (M, N, d)", "0 dimensions", "reshape"]),
    "too many dimensions": (
        np.zeros((2, 3, 4, 5)),
        1,
        ValueError,
        ["4 dimensions", "(2, 3, 4, 5)", "reshape"],
    ),
    "list of ensembles": ([X3, X3], 1, ValueError, ["trajectory 0", "(3, 5, 2)", "two-dimensional"]),
    "different d": ([X2, X2[:, :1]], 1, ValueError, ["0 has 2", "1 has 1", "drop or add columns"]),
    "ragged lists": ([[1.0, 2.0], [3.0]], 1, ValueError, ["different lengths", "pass a list of arrays"]),
    "text": (["a", "b"], 1, TypeError, ["states", "text such as 'a'", "dtype=float"]),
    "text in a list": (
        [X1, np.array(["a", "b"])],
        1,
        TypeError,
        ["trajectory 1", "text such as 'a'", "convert"],
    ),
    "object text": (np.array(["a", 1.0], dtype=object), 1, TypeError, ["text such as 'a'", "convert"]),
    "complex": (X1 + 1j, 1, TypeError, ["complex128", "real and imaginary parts as two"]),
    "objects": (RAGGED_OBJECTS, 1, TypeError, ["object array", "pass a list of arrays"]),
    "missing as None": ([1.0, None, 2.0], 1, TypeError, ["objects of type float", "nan"]),
    "None": (None, 1, TypeError, ["objects of type NoneType", "convert"]),
    "dictionary": ({"x": X1}, 1, TypeError, ["objects of type dict", "convert"]),
    "generator": ((x for x in X1), 1, TypeError, ["objects of type generator", "convert"]),
    "structured": (np.zeros(5, dtype=[("x", float)]), 1, TypeError, ["objects of type void", "convert"]),
    "dates as states": (np.arange(5).astype("M8[s]"), 1, TypeError, ["dates", "float seconds"]),
    "infinite state": (INFINITE, 1, ValueError, ["-inf", "trajectory 2, row 3, column 1 (x2)", "write nan"]),
    "infinite ragged": (
        [X1[:2], np.array([0, 1, INF])],
        1,
        ValueError,
        ["trajectory 1, row 2, column 0 (x1)", "nan"],
    ),
    "infinite time": (
        X1,
        [0, 1, 2, 3, INF],
        ValueError,
        ["got inf", "trajectory 0, row 4", "time", "write nan"],
    ),
    "too long for floats": (X1, 1e308, ValueError, ["got inf", "trajectory 0, row 2", "time"]),
    "zero step": (X1, 0, ValueError, ["positive finite time step", "got 0.0", "pass the time between"]),
    "negative step": (X1, -0.1, ValueError, ["positive finite time step", "-0.1", "pass the time between"]),
    "NaN step": (X1, NAN, ValueError, ["positive finite time step", "nan", "pass the time between"]),
    "infinite step": (X1, INF, ValueError, ["positive finite time step", "inf", "pass the time between"]),
    "decreasing": (
        [X1] * 4,
        DECREASING,
        ValueError,
        ["trajectory 3 goes from 0.4 to 0.35 at row 2", "sort the"],
    ),
    "duplicate": (X1, [0, 1, 1, 2, 3], ValueError, ["from 1.0 to 1.0 at row 2", "remove duplicates"]),
    "decreasing over a gap": (X1, [0, 1, NAN, 0.5, 3], ValueError, ["from 1.0 to 0.5 at row 3", "sort"]),
    "shared length": (X3, T1[:4], ValueError, ["trajectory 0 has 5 states and 4 times", "one time per row"]),
    "shared ragged": ([X1, X1[:3]], T1, ValueError, ["trajectory 1 has 3 states and 5 times", "pass"]),
    "own length": ([X1, X1], [T1, T1[:4]], ValueError, ["trajectory 1 has 5 states and 4 times", "pass"]),
    "rows of times": (X3, T2[:, :4], ValueError, ["trajectory 0 has 5 states and 4 times", "pass"]),
    "scalar ensemble": (random_states(7, 5), T1, ValueError, ["7 states and 5 times", "states[:, :, None]"]),
    "list of rows": (list(X2), T1, ValueError, ["2 states and 5 times", "np.array(states)"]),
    "number of times": (X3, T2[:2], ValueError, ["3 trajectories", "times for 2", "pass"]),
    "column of times": (X1, T1[:, None], ValueError, ["1 trajectory", "times for 5", "ravel"]),
    "deep times": (X3, T2[..., None], ValueError, ["(5, 1)", "trajectory 0", "pass one time per row"]),
    "empty times": (X1, [], ValueError, ["5 states and 0 times", "pass"]),
    "text times": (X1, ["a"] * 5, TypeError, ["times", "text such as 'a'", "convert"]),
    "dates": (
        X1,
        np.arange(5).astype("M8[s]"),
        TypeError,
        ["times", "dates", "convert them to float seconds"],
    ),
    "durations": (X1, np.timedelta64(1, "s"), TypeError, ["times", "durations", "float seconds"]),
    "Python dates": (
        X1,
        [datetime(2024, 1, k, tzinfo=UTC) for k in range(1, 6)],
        TypeError,
        ["float seconds"],
    ),
    "Python duration": (X1, timedelta(seconds=1), TypeError, ["durations", "float seconds"]),
    "no times": (X1, None, TypeError, ["times", "NoneType"]),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors_say_what_came_and_what_to_do(case):
    states, times, kind, fragments = ERRORS[case]
    with pytest.raises(kind) as caught:
        Trajectories(states, times)
    message = str(caught.value)
    assert message.startswith("expected ")
    for fragment in fragments:
        assert fragment in message


@pytest.mark.parametrize(
    ("labels", "kind", "fragments"),
    [
        ({"names": ["a"]}, ValueError, ["expected 2 names", "got 1: ['a']", "check"]),
        ({"names": ["a", "b", "c"]}, ValueError, ["expected 2 names", "got 3", "check"]),
        ({"names": ["a", "a"]}, ValueError, ["different names", "('a', 'a')", "rename"]),
        ({"names": "ab"}, TypeError, ["list of strings", "'ab'", "one string per coordinate"]),
        ({"names": [1, 2]}, TypeError, ["list of strings", "[1, 2]", "one string per coordinate"]),
        ({"units": ["m"]}, ValueError, ["expected 2 units", "got 1", "check"]),
        ({"units": [None, "m"]}, TypeError, ["list of strings", "None", "one string per coordinate"]),
    ],
)
def test_wrong_names_and_units(labels, kind, fragments):
    with pytest.raises(kind) as caught:
        Trajectories(X2, 1, **labels)
    for fragment in fragments:
        assert fragment in str(caught.value)


# Notes


def test_complete_data_has_no_notes_and_no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Trajectories(X3, 1).notes == ()


def test_rows_not_observed_make_one_note():
    states = X3.copy()
    states[0, 1, 0] = states[2, 4] = NAN
    data = Trajectories(states, 1)
    assert len(data.notes) == 1
    assert data.notes[0].startswith("2 of 15 rows not observed")


def test_trajectories_without_a_transition_are_kept_and_noted():
    states = X3.copy()
    states[1, 1:] = NAN
    states[2] = NAN
    data = Trajectories(states, 1)
    assert len(data) == 3
    assert len(data.transitions()) == 4
    assert any(note.startswith("2 of 3 trajectories with fewer than two") for note in data.notes)
    np.testing.assert_array_equal(data.initial, [X3[0, 0], X3[1, 0], [NAN, NAN]])


def test_a_list_of_equal_vectors_notes_how_it_was_read():
    assert "3 trajectories of one coordinate" in Trajectories(list(X3[..., 0]), 1).notes[0]
    assert Trajectories([X1, X1[:3]], 1).notes == ()


def test_times_of_rows_not_observed_are_free():
    """A padded ensemble carries arbitrary times in its padding."""
    data = Trajectories([1.0, 2.0, NAN, NAN], [0.0, 1.0, 0.0, 0.0])
    np.testing.assert_array_equal(data.transitions().step, [1.0])


# Transitions


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


# Selecting and splitting


@pytest.mark.parametrize("lengths", [(5, 5, 5), (5, 2, 4)])
@pytest.mark.parametrize(
    ("indices", "chosen"),
    [
        ([2, 0], [2, 0]),
        (1, [1]),
        ([1, 1], [1, 1]),
        (np.array([True, False, True]), [0, 2]),
        (slice(1, None), [1, 2]),
    ],
)
def test_select(lengths, indices, chosen):
    states = [x[:n] for x, n in zip(X3, lengths, strict=True)]
    selected = Trajectories(states, 0.1).select(indices)
    assert len(selected) == len(chosen)
    for piece, i in zip(selected.states, chosen, strict=True):
        np.testing.assert_array_equal(piece, states[i])


def test_select_nothing():
    with pytest.raises(ValueError, match="at least one of 3 trajectories"):
        Trajectories(X3, 1).select([False] * 3)


@settings(deadline=None, max_examples=50)
@given(st.integers(2, 12), st.floats(0.01, 0.99), st.integers(0, 1000), st.booleans())
def test_split_is_by_trajectory_disjoint_and_complete(count, fraction, seed, ragged):
    states = [np.full((3 + (i if ragged else 0), 1), float(i)) for i in range(count)]
    data = Trajectories(states, 0.1)
    train, held_out = data.split(fraction, seed)
    labels = [[x[0, 0] for x in pieces(part.states)] for part in (train, held_out)]
    assert sorted(labels[0] + labels[1]) == list(range(count))
    assert 1 <= len(held_out) < count
    assert abs(len(held_out) - fraction * count) <= 1
    again = data.split(fraction, seed)[1]
    assert [x[0, 0] for x in pieces(again.states)] == labels[1]


def test_split_depends_on_the_seed():
    data = Trajectories(random_states(50, 3, 1), 0.1)
    drawn = {float(data.split(0.2, seed)[1].initial.sum()) for seed in range(5)}
    assert len(drawn) == 5


def test_split_of_one_trajectory_cuts_time():
    data = Trajectories(np.arange(10.0), 0.5, names=["x"])
    train, held_out = data.split(0.3, seed=0)
    np.testing.assert_array_equal(np.ravel(train.states), np.arange(7))
    np.testing.assert_array_equal(np.ravel(held_out.states), np.arange(7, 10))
    np.testing.assert_array_equal(np.ravel(held_out.times), [3.5, 4.0, 4.5])
    assert held_out.names == ("x",)


def test_split_keeps_trajectories_without_transition_in_training():
    states = random_states(4, 5, 1)
    states[1:3, 1:] = NAN
    for seed in range(5):
        train, held_out = Trajectories(states, 0.1).split(0.5, seed)
        assert (len(train), len(held_out)) == (3, 1)
        assert held_out.notes == ()


@pytest.mark.parametrize(
    ("states", "fraction", "message"),
    [
        (X1, 0.2, "leaves 4 to train and 1 held out; choose another"),
        (X1, 0.8, "leaves 1 to train and 4 held out; choose another"),
        ([1.0, 2.0, 3.0, NAN, 4.0], 0.4, "leaves 3 to train and 1 held out; choose another"),
        (X3, 0.0, "between 0 and 1, but got 0.0"),
        (X3, 1.5, "between 0 and 1, but got 1.5"),
        (X3, NAN, "between 0 and 1, but got nan"),
        ([X2[:1], X2], 0.5, r"only trajectory 1 has them; use data.select\(1\)"),
    ],
)
def test_impossible_splits(states, fraction, message):
    with pytest.raises(ValueError, match=message):
        Trajectories(states, 1).split(fraction, seed=0)


# Coordinates

SCALES = st.floats(-12, 12).map(lambda exponent: 10.0**exponent)


@settings(deadline=None)
@given(
    arrays(np.float64, (4, 2), elements=st.floats(-1e3, 1e3)),
    arrays(np.float64, 2, elements=st.floats(-1e3, 1e3)),
    arrays(np.float64, 2, elements=SCALES),
    SCALES,
)
def test_coordinates_round_trip(z, shift, scale, time_unit):
    coordinates = Coordinates(shift * scale, scale, time_unit)
    x = coordinates.back(z)
    size = np.abs(x) + np.abs(coordinates.shift) + scale
    assert np.all(np.abs(coordinates.back(coordinates.to(x)) - x) <= 1e-12 * size)
    assert np.all(np.abs(coordinates.to(x) - z) <= 1e-12 * size / scale)
    moved = coordinates.displacement_to(x - x[0])
    assert np.all(np.abs(moved - (coordinates.to(x) - coordinates.to(x[0]))) <= 1e-12 * size / scale)


def test_drift_and_diffusion_against_a_linear_equation():
    """dX = A(X − m)dt + B dW: its flow and covariance, seen in (z, τ), give back A(x − m) and B Bᵀ."""
    A, m = np.array([[-2.0, 0.7], [0.3, -0.5]]), np.array([3.0, -1.0])
    B = np.array([[0.8, 0.0], [0.5, 0.2]])
    stationary = scipy.linalg.solve_continuous_lyapunov(A, -B @ B.T)
    coordinates = Coordinates(np.array([2.0, 5.0]), np.array([1e-3, 40.0]), 0.2)
    x = random_states(6, 2)

    def mean(tau: float):
        return coordinates.to(m + (x - m) @ scipy.linalg.expm(A * tau * coordinates.time_unit).T)

    def covariance(tau: float):
        flow = scipy.linalg.expm(A * tau * coordinates.time_unit)
        in_x = stationary - flow @ stationary @ flow.T
        return coordinates.displacement_to(coordinates.displacement_to(in_x).T)

    h = 1e-4
    drift_z, diffusion_z = (mean(h) - mean(-h)) / (2 * h), (covariance(h) - covariance(-h)) / (2 * h)
    np.testing.assert_allclose(coordinates.drift_back(drift_z), (x - m) @ A.T, rtol=1e-6)
    np.testing.assert_allclose(coordinates.diffusion_back(diffusion_z), B @ B.T, rtol=1e-6)
    batch = np.broadcast_to(diffusion_z, (3, 2, 2))
    np.testing.assert_allclose(coordinates.diffusion_back(batch)[2], B @ B.T, rtol=1e-6)


def test_rates_steps_and_densities():
    coordinates = Coordinates(np.array([2.0, 5.0]), np.array([1e-3, 40.0]), 0.2)
    # The number of jumps expected in a step does not depend on the units of time.
    rate_z, step = 1.7, np.array([0.1, 0.4])
    np.testing.assert_allclose(coordinates.rate_back(rate_z) * step, rate_z * coordinates.step_to(step))
    assert coordinates.step_to(0.4) == pytest.approx(2.0)
    covariance_z, x = np.array([[1.0, 0.3], [0.3, 2.0]]), np.array([[2.0005, 30.0], [1.999, -10.0]])
    in_x = scipy.stats.multivariate_normal(coordinates.shift, covariance_z * np.outer(*[coordinates.scale] * 2))
    in_z = scipy.stats.multivariate_normal(np.zeros(2), covariance_z)
    np.testing.assert_allclose(coordinates.log_density_back(in_z.logpdf(coordinates.to(x))), in_x.logpdf(x), rtol=1e-12)


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 1000), SCALES, SCALES, st.floats(-1e3, 1e3))
def test_zscore_has_mean_zero_deviation_one_and_speed_one(seed, scale, time_scale, offset):
    states = scale * (offset + random_states(3, 20, 2, seed=seed))
    states[0, 3, 1] = NAN
    data = Trajectories(states, 0.1 * time_scale)
    coordinates = Coordinates.zscore(data)
    z = coordinates.to(states[data.observed])
    np.testing.assert_allclose(z.mean(axis=0), 0, atol=1e-11)
    np.testing.assert_allclose(z.std(axis=0), 1, rtol=1e-11)
    transitions = data.transitions()
    displacement = coordinates.displacement_to(transitions.displacement)
    typical_step = np.median(coordinates.step_to(transitions.step))
    assert np.sqrt(np.mean(displacement**2)) / typical_step == pytest.approx(1, rel=1e-9)


def test_raw_coordinates_scale_time_only():
    data = Trajectories(100 * X3, 0.1)
    coordinates = Coordinates.raw(data)
    np.testing.assert_array_equal(coordinates.to(X3), X3)
    motion = np.sqrt(np.mean(np.diff(100 * X3, axis=1) ** 2))
    assert coordinates.time_unit == pytest.approx(0.1 / motion)


@pytest.mark.parametrize(("value", "scale"), [(0.0, 1.0), (5.0, 5.0), (-1e12, 1e12), (1e-12, 1e-12), (0.1, 0.1)])
def test_a_constant_coordinate_is_named_and_scaled_by_its_size(value, scale):
    states = np.stack([X1, np.full(5, value)], axis=1)
    states[2, 1] = np.nextafter(value, INF) if value else value
    data = Trajectories(states, 0.1, names=["moving", "still"])
    with pytest.warns(UserWarning, match="'still' is constant"):
        coordinates = Coordinates.zscore(data)
    assert coordinates.scale[1] == pytest.approx(scale)
    assert coordinates.time_unit == pytest.approx(0.1 * X1.std() / np.sqrt(np.mean(np.diff(X1) ** 2)))


def test_small_motion_on_a_large_offset_is_not_constant():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        coordinates = Coordinates.zscore(Trajectories(1e9 + 1e-3 * X1, 0.1))
    assert coordinates.scale[0] == pytest.approx(1e-3 * X1.std(), rel=1e-3)


def test_time_unit_is_the_step_when_nothing_moves():
    data = Trajectories(np.full(5, 3.0), [0.0, 0.1, 0.3, 0.5, 5.0])
    assert Coordinates.raw(data).time_unit == pytest.approx(0.2)
    with pytest.warns(UserWarning, match="constant"):
        assert Coordinates.zscore(data).time_unit == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("shift", "scale", "time_unit", "message"),
    [
        ([0.0], [0.0], 1.0, "positive finite scales, but got"),
        ([0.0], [-1.0], 1.0, "positive finite scales, but got"),
        ([0.0], [NAN], 1.0, "positive finite scales, but got"),
        ([INF], [1.0], 1.0, "finite shift, but got"),
        ([0.0], [1.0], 0.0, "positive finite time_unit, but got 0.0"),
        ([0.0], [1.0], INF, "positive finite time_unit, but got inf"),
    ],
)
def test_coordinates_are_checked(shift, scale, time_unit, message):
    with pytest.raises(ValueError, match=message):
        Coordinates(np.array(shift), np.array(scale), time_unit)


@pytest.mark.parametrize(("shift", "scale"), [(np.zeros(2), np.ones(1)), (np.zeros((1, 1)), np.ones((1, 1)))])
def test_shapes_of_coordinates_are_checked(shift, scale):
    with pytest.raises((ValueError, TypeError)):  # TypeError where annotations are enforced
        Coordinates(shift, scale, 1.0)


def test_coordinates_own_their_arrays():
    scale = np.ones(2)
    coordinates = Coordinates(np.zeros(2), scale, 1.0)
    scale[:] = 5
    np.testing.assert_array_equal(coordinates.scale, 1)
    with pytest.raises(ValueError, match="read-only"):
        coordinates.scale[0] = 2
    assert coordinates.dimension == 2
