"""Wrong data: every error says what was expected, what came and what to do."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from nke.data import Trajectories
from recorded_states import T1, T2, X1, X2, X3, random_states

NAN, INF = np.nan, np.inf


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
