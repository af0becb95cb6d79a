"""Reading and checking what the user hands over; every error says what was expected, what came, what to do.

Trajectories are laid end to end in one (R, d) array, so that every check is one vectorised expression.
"""

from collections.abc import Iterable
from datetime import date, timedelta
from typing import Any, TypeGuard

import numpy as np
from jaxtyping import Bool, Float64, Int64
from numpy.typing import ArrayLike

from nke.errors import InputError, InputTypeError

Rows = Float64[np.ndarray, "R d"]
Times = Float64[np.ndarray, " R"]
Mask = Bool[np.ndarray, " R"]
Lengths = Int64[np.ndarray, " M"]

MOST_COORDINATES = 64  # of a plain array; more are paths that lie side by side
STATE_FORMS = "states of shape (N,), (N, d) or (M, N, d), or a list of (N_i, d)"


def read_states(states: ArrayLike) -> tuple[Rows, Lengths, tuple[str, ...]]:
    """Returns the rows of all trajectories, the length of each, and a note where the reading was a choice."""
    if _is_list_of_trajectories(states):
        return _join_states([_numbers(part, f"states of trajectory {i}") for i, part in enumerate(states)])
    array = _numbers(states, "states")
    if not 1 <= array.ndim <= 3:
        raise InputError(f"expected {STATE_FORMS}, but got {array.ndim} dimensions (shape {array.shape}); reshape them")
    if array.ndim == 1:
        array = array[:, None]
    elif array.ndim == 2:
        _refuse_paths_as_coordinates(array.shape)
    if array.size == 0:
        raise InputError(
            f"expected {STATE_FORMS}, but there are no rows or no coordinates in shape {array.shape}; "
            "pass at least two rows"
        )
    count = len(array) if array.ndim == 3 else 1
    lengths = np.full(count, array.shape[-2], dtype=np.int64)
    return array.reshape(-1, array.shape[-1]), lengths, ()


def _refuse_paths_as_coordinates(shape: tuple[int, ...]) -> None:
    """Refuses a table that was transposed, or whose columns are paths and not coordinates."""
    rows, columns = shape
    if rows == 0 or columns <= min(MOST_COORDINATES, max(rows, 2)):
        return
    many = "more coordinates than rows" if columns > rows else f"more than {MOST_COORDINATES} coordinates"
    other = (
        f"one path of {columns} rows, pass x.T" if columns > rows else f"{columns} paths side by side, x.T[:, :, None]"
    )
    raise InputError(
        f"expected an array (rows, coordinates), but got shape {shape}, which has {many}; if these are {rows} paths of "
        f"one coordinate, pass x[:, :, None]; if {other}; if they are {columns} coordinates indeed, x[None]"
    )


def _is_list_of_trajectories(states: Any) -> TypeGuard[list | tuple]:
    """Tells a list of trajectories: arrays in a list are some, and so are lists of rows; plain numbers are one row."""
    if not isinstance(states, list | tuple) or len(states) == 0:
        return False
    first = states[0]
    if isinstance(first, list | tuple):
        return len(first) > 0 and _has_axes(first[0])
    return _has_axes(first)


def _has_axes(value: Any) -> bool:
    return isinstance(value, list | tuple) or getattr(value, "ndim", 0) > 0


def _join_states(parts: list[np.ndarray]) -> tuple[Rows, Lengths, tuple[str, ...]]:
    columns = []
    for i, part in enumerate(parts):
        if part.ndim not in (1, 2):
            raise InputError(
                f"expected a list of (N_i, d) or (N_i,), but trajectory {i} has shape {part.shape}; "
                "pass one two-dimensional array per trajectory"
            )
        if part.size == 0:
            raise InputError(
                f"expected rows in every trajectory, but trajectory {i} has no rows or no coordinates (shape "
                f"{part.shape}); remove it"
            )
        columns.append(part if part.ndim == 2 else part[:, None])
    for i, part in enumerate(columns):
        if part.shape[1] != columns[0].shape[1]:
            raise InputError(
                "expected the same number of coordinates in every trajectory, but trajectory 0 has "
                f"{columns[0].shape[1]} and trajectory {i} has {part.shape[1]}; drop or add columns"
            )
    lengths = np.array([len(part) for part in columns], dtype=np.int64)
    return np.concatenate(columns), lengths, _reading_note(parts)


def _reading_note(parts: list[np.ndarray]) -> tuple[str, ...]:
    if len(parts) < 2 or any(part.shape != parts[0].shape or part.ndim != 1 for part in parts):
        return ()
    return (
        f"a list of arrays of shape {parts[0].shape} is read as {len(parts)} trajectories of one coordinate; "
        "if each array is a row of one trajectory, pass np.array(states)",
    )


def read_times(times: ArrayLike, lengths: Lengths, dimension: int) -> Times:
    """Returns the times of all rows, from a step, shared times or times for each trajectory."""
    if isinstance(times, list | tuple) and len(times) > 0 and _has_axes(times[0]):
        parts = [_numbers(part, f"times of trajectory {i}") for i, part in enumerate(times)]
        return _join_times(parts, lengths)
    array = _numbers(times, "times")
    if array.ndim == 0:
        return _regular_times(float(array), lengths)
    if array.ndim == 1:
        _check_shared_length(len(array), lengths, dimension)
        return np.tile(array, len(lengths))
    if array.ndim == 2 and array.shape == (len(lengths), lengths[0]) and (lengths == lengths[0]).all():
        return array.reshape(-1)
    return _join_times(list(array), lengths)


def _regular_times(step: float, lengths: Lengths) -> Times:
    if not (np.isfinite(step) and step > 0):
        raise InputError(
            f"expected a positive finite time step, but got {step}; pass the time between two rows, "
            "or the times themselves"
        )
    row = np.arange(lengths.sum(), dtype=np.float64)
    if len(lengths) > 1:
        row -= np.repeat(np.cumsum(lengths) - lengths, lengths)
    with np.errstate(over="ignore"):  # the check for infinity names the row
        return step * row


def _check_shared_length(count: int, lengths: Lengths, dimension: int):
    wrong = np.flatnonzero(lengths != count)
    if len(wrong) == 0:
        return
    i = wrong[0]
    advice = "pass one time per row, or a list of times, one array per trajectory"
    if len(lengths) == 1 and dimension == count:
        advice = f"for {lengths[0]} trajectories of one coordinate pass states[:, :, None]"
    elif len(lengths) == count:
        advice = "if each array of the list is a row of one trajectory, pass np.array(states)"
    raise InputError(
        f"expected as many times as states, but trajectory {i} has {lengths[i]} states and {count} times; " + advice
    )


def _join_times(parts: list[np.ndarray], lengths: Lengths) -> Times:
    if len(parts) != len(lengths):
        raise InputError(
            f"expected times for {count(len(lengths), 'trajectory')}, but got times for {len(parts)}; pass "
            "one array per trajectory, one shared array of shape (N,) (ravel a column of times), or a step"
        )
    for i, (part, length) in enumerate(zip(parts, lengths, strict=True)):
        if part.ndim != 1:
            raise InputError(
                f"expected times as a step, (N,), (M, N) or a list of (N_i,), but got shape {part.shape} for "
                f"trajectory {i}; pass one time per row"
            )
        if len(part) != length:
            raise InputError(
                f"expected as many times as states, but trajectory {i} has {length} states and "
                f"{len(part)} times; pass one time per row"
            )
    return np.concatenate(parts)


def _numbers(value: Any, what: str) -> Float64[np.ndarray, "..."]:
    """Makes a fresh float64 array, masked values as NaN; refuses what is not a real number."""
    try:
        array = np.asanyarray(value)
    except ValueError as error:
        raise InputError(
            f"expected {what} as a regular array, but got nested lists of different lengths; "
            "pass a list of arrays, one per trajectory, and write missing values as nan"
        ) from error
    if array.dtype.kind not in "fiub":
        raise InputTypeError(f"expected {what} to be real numbers, but got {_describe(array, value)}")
    if isinstance(array, np.ma.MaskedArray):
        return np.ma.filled(array.astype(np.float64), np.nan)
    return np.array(array, dtype=np.float64, order="C", subok=False)


def _describe(array: np.ndarray, value: Any) -> str:
    """Says what came instead of numbers, and what to do about it."""
    first = array.flat[0] if array.size else None
    if array.dtype.kind in "mM" or isinstance(first, date | timedelta):
        return "dates or durations; convert them to float seconds, as in (t - t[0]) / np.timedelta64(1, 's')"
    if array.dtype.kind == "c":
        return f"complex numbers ({array.dtype}); pass real and imaginary parts as two coordinates"
    if array.dtype.kind in "UST" or isinstance(first, str):
        return f"text such as {str(first)!r}; convert it with np.asarray(..., dtype=float)"
    if isinstance(first, list | tuple | np.ndarray):
        return "an object array that holds arrays or lists; pass a list of arrays, one per trajectory"
    kind = type(value if array.ndim == 0 else first).__name__
    return f"objects of type {kind}; convert them with np.asarray(..., dtype=float), missing values as nan"


def labels(labels: Iterable[Any] | None, what: str, default: list[str]) -> tuple[str, ...]:
    """Returns one label for each coordinate: the given ones, or the default."""
    if labels is None:
        return tuple(default)
    given = [labels] if isinstance(labels, str) else list(labels)
    if isinstance(labels, str) or not all(isinstance(label, str) for label in given):
        raise InputTypeError(
            f"expected {what} as a list of strings, but got {labels!r}; pass one string per coordinate"
        )
    if len(given) != len(default):
        raise InputError(
            f"expected {len(default)} {what}, one per coordinate, but got {len(given)}: {given}; "
            "check the number of columns of the states"
        )
    return tuple(map(str, given))


# Checking: vectorised over all rows; an error names the trajectory and the row.


def _place(index: int, lengths: Lengths) -> str:
    ends = np.cumsum(lengths)
    trajectory = int(np.searchsorted(ends, index, side="right"))
    return f"trajectory {trajectory}, row {index - ends[trajectory] + lengths[trajectory]}"


def refuse_infinity(rows: Rows, times: Times, lengths: Lengths, names: tuple[str, ...]):
    """Refuses infinite times and states; NaN is a row not observed."""
    infinite_time = np.isinf(times)
    if infinite_time.any():
        index = int(infinite_time.argmax())
        raise InputError(
            f"expected finite times, but got {times[index]} at {_place(index, lengths)}, column time; "
            "correct it, or write nan for a row that was not observed"
        )
    infinite = np.isinf(rows)
    if infinite.any():
        index, column = np.unravel_index(int(infinite.argmax()), rows.shape)
        raise InputError(
            f"expected finite states, but got {rows[index, column]} at {_place(int(index), lengths)}, "
            f"column {column} ({names[column]}); correct it, or write nan for a row that was not observed"
        )


def check_order(times: Times, observed: Mask, lengths: Lengths):
    """Checks that times of observed rows increase; whatever stands in the other rows is never used."""
    if len(lengths) == 1 and (np.diff(times) > 0).all():  # the usual case; NaN is not greater
        return
    seen = np.flatnonzero(observed)
    back = np.flatnonzero(np.diff(times if len(seen) == len(times) else times[seen]) <= 0)
    # Few rows go back in time: the first ones of a trajectory, and what is wrong.
    trajectory = np.searchsorted(np.cumsum(lengths), seen[np.stack([back, back + 1])], side="right")
    wrong = np.flatnonzero(trajectory[0] == trajectory[1])
    if len(wrong):
        k, i = int(back[wrong[0]]), int(trajectory[0, wrong[0]])
        before, after = times[seen[k]], times[seen[k + 1]]
        row = seen[k + 1] - lengths[:i].sum()
        raise InputError(
            f"expected times to increase within a trajectory; trajectory {i} goes from {before} to {after} "
            f"at row {row}; sort the rows or remove duplicates"
        )


def observed_counts(observed: Mask, lengths: Lengths) -> Lengths:
    """Counts the observed rows of each trajectory."""
    return np.add.reduceat(observed, np.cumsum(lengths) - lengths, dtype=np.int64)


def check_observed(observed: Mask, lengths: Lengths) -> tuple[str, ...]:
    """Refuses data without a single transition; otherwise returns notes about what is missing."""
    counts = observed_counts(observed, lengths)
    missing, short = int((~observed).sum()), int((counts < 2).sum())
    if missing == len(observed):
        raise InputError(
            f"expected observed rows, but each of {count(missing, 'row')} has a NaN in its states or time; "
            "drop the columns that were never recorded"
        )
    if short == len(counts):
        raise InputError(
            "expected a trajectory with two observed rows, but the longest of "
            f"{count(short, 'trajectory')} has {counts.max()}; pass more rows (one trajectory is (N, d))"
        )
    notes = []
    if missing:
        notes.append(
            f"{missing} of {count(len(observed), 'row')} not observed (NaN); "
            "transitions span the gaps with their true steps"
        )
    if short:
        notes.append(
            f"{short} of {count(len(counts), 'trajectory')} with fewer than two observed rows, which give no transition"
        )
    return tuple(notes)


def count(number: int, noun: str) -> str:
    """Writes a number with its noun, in the plural where it belongs."""
    if number == 1:
        return f"1 {noun}"
    return f"{number} trajectories" if noun == "trajectory" else f"{number} {noun}s"
