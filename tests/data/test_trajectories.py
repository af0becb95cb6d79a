"""Trajectories: what goes in, what is kept, and how they are selected and split."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nke.data import Trajectories
from recorded_states import T1, T2, X1, X2, X3, Column, pieces, random_states

NAN, INF = np.nan, np.inf


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
    assert "(20 in all)" in repr(Trajectories(random_states(40, 20), 0.5))


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
    for nothing in ([False] * 3, [], slice(0)):
        with pytest.raises(ValueError, match="at least one of 3 trajectories"):
            Trajectories(X3, 1).select(nothing)


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


def test_split_of_one_long_trajectory_holds_out_the_ends_of_stretches():
    states = np.arange(2000.0)
    states[50:60] = NAN
    train, held_out = Trajectories(states, 0.5).split(0.1, seed=0)
    labels = [np.concatenate([np.ravel(x) for x in pieces(part.states)]) for part in (train, held_out)]
    kept = [x[np.isfinite(x)] for x in labels]
    assert len(held_out) == 6  # 199 rows, 30 or more in each
    np.testing.assert_array_equal(np.sort(np.concatenate(kept)), states[np.isfinite(states)])
    assert len(kept[1]) == 199
    assert np.diff([x[0, 0] for x in pieces(held_out.states)]).min() > 300  # spread over the record
    for part in (train, held_out):
        steps = part.transitions().y - part.transitions().x
        assert set(np.unique(steps)) <= {1.0, 11.0}  # no transition from one stretch to the next


def test_few_trajectories_are_held_out_by_their_own_ends():
    """Two or three long ones and a short one: a tenth of the rows, not half of the trajectories."""
    data = Trajectories([np.arange(100.0), 1000 + np.arange(200.0), 5000 + np.arange(3.0)], 0.5)
    train, held_out = data.hold_out(0.1, seed=0)
    assert len(held_out.observed_states) == 30
    assert len(np.unique(np.concatenate([train.observed_states, held_out.observed_states]))) == 303
    assert {float(row[0]) // 1000 for row in held_out.observed_states} == {0.0, 1.0}
    assert (train.transitions().displacement == 1).all()
    assert (held_out.transitions().displacement == 1).all()
    many = Trajectories(np.zeros((10, 5, 1)), 0.5)
    assert [len(part) for part in many.hold_out(0.1, seed=0)] == [9, 1]


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
        ([1.0, NAN, 3.0, NAN, 4.0], 0.4, "leaves 2 to train and 1 held out; choose another"),
        (X3, 0.0, "between 0 and 1, but got 0.0"),
        (X3, 1.5, "between 0 and 1, but got 1.5"),
        (X3, NAN, "between 0 and 1, but got nan"),
        ([X2[:1], X2], 0.5, r"only trajectory 1 has them; use data.select\(1\)"),
    ],
)
def test_impossible_splits(states, fraction, message):
    with pytest.raises(ValueError, match=message):
        Trajectories(states, 1).split(fraction, seed=0)
