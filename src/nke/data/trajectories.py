"""Trajectories: recorded states and times, checked once where they enter.

Inside, all trajectories lie end to end in one (R, d) array, so that every check and every transition is
one vectorised expression, whether the trajectories have equal lengths or not.
"""

from collections.abc import Iterable
from datetime import date, timedelta
from typing import Any

import numpy as np
from jaxtyping import Bool, Float64, Int64

from nke.data.transitions import Transitions

Rows = Float64[np.ndarray, "R d"]
Times = Float64[np.ndarray, " R"]
Mask = Bool[np.ndarray, " R"]
Lengths = Int64[np.ndarray, " M"]

STATE_FORMS = "states of shape (N,), (N, d) or (M, N, d), or a list of (N_i, d)"


class Trajectories:
    """M recorded trajectories of a d-dimensional system; trajectories and rows are counted from 0.

    A row with any NaN (in states or time) is a row not observed: it is counted in ``notes``, and the next
    transition spans the gap with its true step. Input is copied; the arrays are read-only.

    Args:
        states: (N,), (N, d), (M, N, d), or a list of (N_i, d) or (N_i,) arrays, one per trajectory. A plain
            list of lists of numbers is read as NumPy reads it: one trajectory of shape (N, d).
        times: the time step, or times of shape (N,) shared by all trajectories, (M, N), or a list of (N_i,).
        names: one name per coordinate; x1 … xd if not given.
        units: one unit per coordinate; empty if not given.

    >>> data = Trajectories([[0.0, 1.0], [0.1, np.nan], [0.3, 1.2]], 0.5, names=["height", "speed"])
    >>> data
    Trajectories(1 trajectory × 3 rows, coordinates height, speed, times 0 to 1, 1 row not observed)
    >>> data.transitions().step
    array([1.])
    """

    states: Float64[np.ndarray, "M N d"] | list[Float64[np.ndarray, "_ d"]]
    times: Float64[np.ndarray, "M N"] | list[Float64[np.ndarray, " _"]]
    observed: Bool[np.ndarray, "M N"] | list[Bool[np.ndarray, " _"]]
    names: tuple[str, ...]
    units: tuple[str, ...]
    notes: tuple[str, ...]

    def __init__(self, states: Any, times: Any, names: Iterable[Any] | None = None, units: Iterable[Any] | None = None):
        rows, lengths, reading = _read_states(states)
        self._rows, self._lengths = rows, lengths
        self._times = _read_times(times, lengths, rows.shape[1])
        self.names = _labels(names, "names", [f"x{i + 1}" for i in range(self.dimension)])
        self.units = _labels(units, "units", [""] * self.dimension)
        if len(set(self.names)) < self.dimension:
            raise ValueError(f"expected different names, but got {self.names}; rename the duplicates")
        _refuse_infinity(rows, self._times, lengths, self.names)
        self._observed = ~(np.isnan(rows).any(axis=1) | np.isnan(self._times))
        _check_order(self._times, self._observed, lengths)
        self.notes = (*reading, *_check_observed(self._observed, lengths))
        for array in (self._rows, self._times, self._observed):
            array.setflags(write=False)
        self.states, self.times, self.observed = map(self._by_trajectory, (rows, self._times, self._observed))

    def _by_trajectory(self, flat: np.ndarray) -> Any:
        if self.is_ragged:
            return np.split(flat, np.cumsum(self._lengths)[:-1])
        return flat.reshape(len(self), -1, *flat.shape[1:])

    def __len__(self) -> int:
        return len(self._lengths)

    @property
    def dimension(self) -> int:
        return self._rows.shape[1]

    @property
    def is_ragged(self) -> bool:
        """Whether trajectories differ in length; ``states``, ``times`` and ``observed`` are then lists."""
        return bool((self._lengths != self._lengths[0]).any())

    @property
    def observed_states(self) -> Rows:
        """All observed rows of all trajectories, end to end."""
        return self._rows[self._observed]

    @property
    def initial(self) -> Float64[np.ndarray, "M d"]:
        """The first observed row of each trajectory; NaN where a trajectory has none."""
        seen = np.flatnonzero(self._observed)
        trajectory = np.repeat(np.arange(len(self)), self._lengths)[seen]
        present, first = np.unique(trajectory, return_index=True)
        initial = np.full((len(self), self.dimension), np.nan)
        initial[present] = self._rows[seen[first]]
        return initial

    def transitions(self) -> Transitions:
        """Each observed row paired with the next observed row of its trajectory."""
        return Transitions.between_rows(self._rows, self._times, self._observed, self._lengths)

    def select(self, indices: Any) -> "Trajectories":
        """The trajectories that indices, a boolean mask or a slice pick."""
        chosen = np.atleast_1d(np.arange(len(self))[indices])
        if len(chosen) == 0:
            raise ValueError(f"expected to select at least one of {len(self)} trajectories, but got none")
        if self.is_ragged:
            states, times = [self.states[i] for i in chosen], [self.times[i] for i in chosen]
        else:
            states, times = np.asarray(self.states)[chosen], np.asarray(self.times)[chosen]
        return type(self)(states, times, self.names, self.units)

    def split(self, fraction: float, seed: int) -> tuple["Trajectories", "Trajectories"]:
        """(train, held_out): a random ``fraction`` of the trajectories is held out, at least one.

        A single trajectory is cut in time instead: its last ``fraction`` of rows is held out. Trajectories
        that give no transition stay in the training part.
        """
        if not 0 < fraction < 1:
            raise ValueError(f"expected a fraction between 0 and 1, but got {fraction}; use 0.2 to hold out 20 %")
        if len(self) == 1:
            return self._cut(fraction)
        usable = np.flatnonzero(_observed_counts(self._observed, self._lengths) >= 2)
        if len(usable) == 1:
            raise ValueError(
                "expected two trajectories with two observed rows to split by trajectory, but only "
                f"trajectory {usable[0]} has them; use data.select({usable[0]}).split(...) to cut it in time"
            )
        count = min(max(round(fraction * len(usable)), 1), len(usable) - 1)
        chosen = np.random.default_rng(seed).permutation(usable)[:count]
        held_out = np.isin(np.arange(len(self)), chosen)
        return self.select(~held_out), self.select(held_out)

    def _cut(self, fraction: float) -> tuple["Trajectories", "Trajectories"]:
        cut = len(self._rows) - round(fraction * len(self._rows))
        before, after = int(self._observed[:cut].sum()), int(self._observed[cut:].sum())
        if min(before, after) < 2:
            raise ValueError(
                f"expected two observed rows on each side of a cut in time, but fraction {fraction} leaves "
                f"{before} to train and {after} held out; choose another fraction or record more rows"
            )
        train, held_out = (
            type(self)(self._rows[part], self._times[part], self.names, self.units)
            for part in (slice(cut), slice(cut, None))
        )
        return train, held_out

    def __repr__(self) -> str:
        shortest, longest = self._lengths.min(), self._lengths.max()
        rows = f"{shortest} to {longest}" if self.is_ragged else f"{longest}"
        labels = [f"{name} [{unit}]" if unit else name for name, unit in zip(self.names, self.units, strict=True)]
        shown = ", ".join(labels[:6]) + (f", … ({self.dimension} in all)" if self.dimension > 6 else "")
        seen = self._times[self._observed]
        missing = int((~self._observed).sum())
        gaps = f", {_count(missing, 'row')} not observed" if missing else ""
        return (
            f"Trajectories({_count(len(self), 'trajectory')} × {rows} rows, "
            f"coordinates {shown}, times {seen.min():g} to {seen.max():g}{gaps})"
        )


# Reading: anything NumPy can read becomes fresh float64 arrays, trajectories end to end.


def _read_states(states: Any) -> tuple[Rows, Lengths, tuple[str, ...]]:
    """Rows of all trajectories, the length of each, and a note where the reading was a choice."""
    if _is_list_of_trajectories(states):
        return _join_states([_numbers(part, f"states of trajectory {i}") for i, part in enumerate(states)])
    array = _numbers(states, "states")
    if not 1 <= array.ndim <= 3:
        raise ValueError(f"expected {STATE_FORMS}, but got {array.ndim} dimensions (shape {array.shape}); reshape them")
    if array.ndim == 1:
        array = array[:, None]
    if array.size == 0:
        raise ValueError(
            f"expected {STATE_FORMS}, but there are no rows or no coordinates in shape {array.shape}; "
            "pass at least two rows"
        )
    count = len(array) if array.ndim == 3 else 1
    lengths = np.full(count, array.shape[-2], dtype=np.int64)
    return array.reshape(-1, array.shape[-1]), lengths, ()


def _is_list_of_trajectories(states: Any) -> bool:
    """Arrays in a list are trajectories; so are lists of rows. A list of plain numbers is one row."""
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
            raise ValueError(
                f"expected a list of (N_i, d) or (N_i,), but trajectory {i} has shape {part.shape}; "
                "pass one two-dimensional array per trajectory"
            )
        if part.size == 0:
            raise ValueError(
                f"expected rows in every trajectory, but trajectory {i} has no rows or no coordinates (shape "
                f"{part.shape}); remove it"
            )
        columns.append(part if part.ndim == 2 else part[:, None])
    for i, part in enumerate(columns):
        if part.shape[1] != columns[0].shape[1]:
            raise ValueError(
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


def _read_times(times: Any, lengths: Lengths, dimension: int) -> Times:
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
        raise ValueError(
            f"expected a positive finite time step, but got {step}; pass the time between two rows, "
            "or the times themselves"
        )
    first_row = np.cumsum(lengths) - lengths
    with np.errstate(over="ignore"):  # the check for infinity names the row
        return step * (np.arange(lengths.sum()) - np.repeat(first_row, lengths))


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
    raise ValueError(
        f"expected as many times as states, but trajectory {i} has {lengths[i]} states and {count} times; " + advice
    )


def _join_times(parts: list[np.ndarray], lengths: Lengths) -> Times:
    if len(parts) != len(lengths):
        raise ValueError(
            f"expected times for {_count(len(lengths), 'trajectory')}, but got times for {len(parts)}; pass "
            "one array per trajectory, one shared array of shape (N,) (ravel a column of times), or a step"
        )
    for i, (part, length) in enumerate(zip(parts, lengths, strict=True)):
        if part.ndim != 1:
            raise ValueError(
                f"expected times as a step, (N,), (M, N) or a list of (N_i,), but got shape {part.shape} for "
                f"trajectory {i}; pass one time per row"
            )
        if len(part) != length:
            raise ValueError(
                f"expected as many times as states, but trajectory {i} has {length} states and "
                f"{len(part)} times; pass one time per row"
            )
    return np.concatenate(parts)


def _numbers(value: Any, what: str) -> Float64[np.ndarray, "..."]:
    """A fresh float64 array, masked values as NaN; refuses what is not a real number."""
    try:
        array = np.asanyarray(value)
    except ValueError as error:
        raise ValueError(
            f"expected {what} as a regular array, but got nested lists of different lengths; "
            "pass a list of arrays, one per trajectory, and write missing values as nan"
        ) from error
    if array.dtype.kind not in "fiub":
        raise TypeError(f"expected {what} to be real numbers, but got {_describe(array, value)}")
    if isinstance(array, np.ma.MaskedArray):
        return np.ma.filled(array.astype(np.float64), np.nan)
    return np.array(array, dtype=np.float64, order="C", subok=False)


def _describe(array: np.ndarray, value: Any) -> str:
    """What came instead of numbers, and what to do about it."""
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


def _labels(labels: Iterable[Any] | None, what: str, default: list[str]) -> tuple[str, ...]:
    if labels is None:
        return tuple(default)
    given = [labels] if isinstance(labels, str) else list(labels)
    if isinstance(labels, str) or not all(isinstance(label, str) for label in given):
        raise TypeError(f"expected {what} as a list of strings, but got {labels!r}; pass one string per coordinate")
    if len(given) != len(default):
        raise ValueError(
            f"expected {len(default)} {what}, one per coordinate, but got {len(given)}: {given}; "
            "check the number of columns of the states"
        )
    return tuple(map(str, given))


# Checking: vectorised over all rows; an error names the trajectory and the row.


def _place(index: int, lengths: Lengths) -> str:
    ends = np.cumsum(lengths)
    trajectory = int(np.searchsorted(ends, index, side="right"))
    return f"trajectory {trajectory}, row {index - ends[trajectory] + lengths[trajectory]}"


def _refuse_infinity(rows: Rows, times: Times, lengths: Lengths, names: tuple[str, ...]):
    infinite_time = np.isinf(times)
    if infinite_time.any():
        index = int(infinite_time.argmax())
        raise ValueError(
            f"expected finite times, but got {times[index]} at {_place(index, lengths)}, column time; "
            "correct it, or write nan for a row that was not observed"
        )
    infinite = np.isinf(rows)
    if infinite.any():
        index, column = np.unravel_index(int(infinite.argmax()), rows.shape)
        raise ValueError(
            f"expected finite states, but got {rows[index, column]} at {_place(int(index), lengths)}, "
            f"column {column} ({names[column]}); correct it, or write nan for a row that was not observed"
        )


def _check_order(times: Times, observed: Mask, lengths: Lengths):
    """Times of observed rows increase; whatever stands in the other rows is never used."""
    seen = np.flatnonzero(observed)
    trajectory = np.repeat(np.arange(len(lengths)), lengths)[seen]
    wrong = (np.diff(times[seen]) <= 0) & (np.diff(trajectory) == 0)
    if wrong.any():
        k = int(wrong.argmax())
        i, before, after = trajectory[k], times[seen[k]], times[seen[k + 1]]
        row = seen[k + 1] - lengths[:i].sum()
        raise ValueError(
            f"expected times to increase within a trajectory; trajectory {i} goes from {before} to {after} "
            f"at row {row}; sort the rows or remove duplicates"
        )


def _observed_counts(observed: Mask, lengths: Lengths) -> Lengths:
    return np.add.reduceat(observed, np.cumsum(lengths) - lengths, dtype=np.int64)


def _check_observed(observed: Mask, lengths: Lengths) -> tuple[str, ...]:
    """Refuses data without a single transition; otherwise notes about what is missing."""
    counts = _observed_counts(observed, lengths)
    missing, short = int((~observed).sum()), int((counts < 2).sum())
    if missing == len(observed):
        raise ValueError(
            f"expected observed rows, but each of {_count(missing, 'row')} has a NaN in its states or time; "
            "drop the columns that were never recorded"
        )
    if short == len(counts):
        raise ValueError(
            "expected a trajectory with two observed rows, but the longest of "
            f"{_count(short, 'trajectory')} has {counts.max()}; pass more rows (one trajectory is (N, d))"
        )
    notes = []
    if missing:
        notes.append(
            f"{missing} of {_count(len(observed), 'row')} not observed (NaN); "
            "transitions span the gaps with their true steps"
        )
    if short:
        notes.append(
            f"{short} of {_count(len(counts), 'trajectory')} with fewer than two observed rows, "
            "which give no transition"
        )
    return tuple(notes)


def _count(number: int, noun: str) -> str:
    if number == 1:
        return f"1 {noun}"
    return f"{number} trajectories" if noun == "trajectory" else f"{number} {noun}s"
