"""Trajectories: recorded states and times, checked once where they enter.

Inside, all trajectories lie end to end in one (R, d) array, so that every check and every transition is
one vectorised expression, whether the trajectories have equal lengths or not.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float64, Int64
from numpy.typing import ArrayLike

from nke.data.calendar import Calendar, Dates
from nke.data.transforms import Periodic, Transform
from nke.data.transitions import Transitions
from nke.data.validation import (
    Rows,
    check_observed,
    check_order,
    count,
    labels,
    observed_counts,
    read_states,
    read_times,
    refuse_infinity,
)
from nke.errors import InputError

ROWS_HELD_OUT, MOST_STRETCHES = 30, 10  # of a single trajectory: few rows are lost at the cuts


class Trajectories:
    """M recorded trajectories of a d-dimensional system; trajectories and rows are counted from 0.

    A row with any NaN (in states or time) is a row not observed: it is counted in ``notes``, and the next
    transition spans the gap with its true step. Input is copied; the arrays are read-only.

    Args:
        states: Shape (N,), (N, d) or (M, N, d), or a list of (N_i, d) or (N_i,) arrays, one per trajectory. A plain
            list of lists of numbers is read as NumPy reads it: one trajectory of shape (N, d). Two axes with more
            coordinates than rows are refused, since paths were meant: M paths of one coordinate are (M, N, 1).
        times: The time step, or times of shape (N,) shared by all trajectories, (M, N), or a list of (N_i,).
        names: One name per coordinate; x1 … xd if not given.
        units: One unit per coordinate; empty if not given.
        unit_of_time: The unit of the times, for axes and tables.
        calendar: What the times are in dates; None where they are no dates.

    Attributes:
        states: (M, N, d); a list of (N_i, d) where the trajectories differ in length.
        times: (M, N), or a list of (N_i,).
        observed: Which rows were observed, (M, N), or a list of (N_i,).
        names: Names of the coordinates.
        units: Units of the coordinates.
        unit_of_time: Unit of the times.
        calendar: What the times are in dates, or None.
        notes: What was noticed in the data, a sentence each.

    Raises:
        InputError: If shapes do not match, times do not increase, a number is infinite, or no trajectory has two
            observed rows; the message names the trajectory and the row.
        InputTypeError: If states or times are not real numbers, or labels are not strings.

    Example:
        >>> heights = nke.Trajectories([[0.0, 1.0], [0.1, np.nan], [0.3, 1.2]], 0.5, names=["height", "speed"])
        >>> heights
        Trajectories(1 trajectory × 3 rows, coordinates height, speed, times 0 to 1, 1 row not observed)
        >>> heights.transitions().step
        array([1.])
    """

    states: Float64[np.ndarray, "M N d"] | list[Float64[np.ndarray, "_ d"]]
    times: Float64[np.ndarray, "M N"] | list[Float64[np.ndarray, " _"]]
    observed: Bool[np.ndarray, "M N"] | list[Bool[np.ndarray, " _"]]
    names: tuple[str, ...]
    units: tuple[str, ...]
    unit_of_time: str
    calendar: Calendar | None
    notes: tuple[str, ...]

    def __init__(
        self,
        states: ArrayLike,
        times: ArrayLike,
        names: Iterable[Any] | None = None,
        units: Iterable[Any] | None = None,
        unit_of_time: str = "",
        calendar: Calendar | None = None,
    ):
        rows, lengths, reading = read_states(states)
        self._rows, self._lengths = rows, lengths
        self._times = read_times(times, lengths, rows.shape[1])
        self.names = labels(names, "names", [f"x{i + 1}" for i in range(self.dimension)])
        self.units = labels(units, "units", [""] * self.dimension)
        self.unit_of_time = unit_of_time or ("" if calendar is None else calendar.unit)
        self.calendar = calendar
        if len(set(self.names)) < self.dimension:
            raise InputError(f"expected different names, but got {self.names}; rename the duplicates")
        refuse_infinity(rows, self._times, lengths, self.names)
        self._observed = ~(np.isnan(rows).any(axis=1) | np.isnan(self._times))
        check_order(self._times, self._observed, lengths)
        self.notes = (*reading, *check_observed(self._observed, lengths))
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
        """The number of coordinates d.

        Example:
            >>> nke.Trajectories([[0.0, 1.0], [0.1, 1.1]], 0.5).dimension
            2
        """
        return self._rows.shape[1]

    @property
    def is_ragged(self) -> bool:
        """Whether trajectories differ in length; ``states``, ``times`` and ``observed`` are then lists.

        Example:
            >>> nke.Trajectories([np.zeros((3, 1)), np.zeros((2, 1))], 0.5).is_ragged
            True
        """
        return bool((self._lengths != self._lengths[0]).any())

    @property
    def dates(self) -> Dates | list[Dates] | None:
        """The times as dates, (M, N) or a list of (N_i,); None where they are no dates.

        Example:
            >>> calendar = nke.data.Calendar(np.datetime64("2024-03-01", "ns"), "d")
            >>> nke.Trajectories([1.0, 2.0], 1.0, calendar=calendar).dates.astype("datetime64[D]").tolist()
            [[datetime.date(2024, 3, 1), datetime.date(2024, 3, 2)]]
        """
        if self.calendar is None:
            return None
        return [self.calendar.dates(t) for t in self.times] if self.is_ragged else self.calendar.dates(self.times)

    @property
    def observed_states(self) -> Rows:
        """All observed rows of all trajectories, end to end, shape (R, d).

        Example:
            >>> nke.Trajectories([0.0, np.nan, 0.3], 0.5).observed_states
            array([[0. ], [0.3]])
        """
        return self._rows if self._observed.all() else self._rows[self._observed]

    @property
    def initial(self) -> Float64[np.ndarray, "M d"]:
        """The first observed row of each trajectory, shape (M, d); NaN where a trajectory has none.

        Example:
            >>> nke.Trajectories([np.nan, 0.1, 0.3], 0.5).initial
            array([[0.1]])
        """
        seen = np.flatnonzero(self._observed)
        trajectory = np.repeat(np.arange(len(self)), self._lengths)[seen]
        present, first = np.unique(trajectory, return_index=True)
        initial = np.full((len(self), self.dimension), np.nan)
        initial[present] = self._rows[seen[first]]
        return initial

    def transitions(self) -> Transitions:
        """Pairs each observed row with the next observed row of its trajectory.

        Returns:
            The transitions, each with its own step.

        Example:
            >>> nke.Trajectories([0.0, np.nan, 0.3, 0.4], 0.5).transitions().step
            array([1. , 0.5])
        """
        return Transitions.between_rows(self._rows, self._times, self._observed, self._lengths)

    def select(self, indices: ArrayLike | slice) -> "Trajectories":
        """Picks some of the trajectories.

        Args:
            indices: An index, a list of indices, a boolean mask or a slice.

        Returns:
            The trajectories in the order of the indices.

        Raises:
            InputError: If none is picked.

        Example:
            >>> len(nke.Trajectories(np.zeros((5, 3, 1)), 0.5).select([0, 4]))
            2
        """
        picked: Any = indices  # whatever NumPy can index with
        chosen = np.atleast_1d(np.arange(len(self))[picked])
        if len(chosen) == 0:
            raise InputError(f"expected to select at least one of {len(self)} trajectories, but got none")
        if self.is_ragged:
            states, times = [self.states[i] for i in chosen], [self.times[i] for i in chosen]
        else:
            states, times = np.asarray(self.states)[chosen], np.asarray(self.times)[chosen]
        return type(self)(states, times, self.names, self.units, self.unit_of_time, self.calendar)

    def split(self, fraction: float, seed: int) -> tuple["Trajectories", "Trajectories"]:
        """Holds out a random fraction of the trajectories, at least one.

        A single trajectory is cut in time instead: into ten stretches, or fewer where there are few rows, each of
        which gives its last ``fraction`` of rows, so that a change of the law with time is in both parts.
        Trajectories that give no transition stay in the training part.

        Args:
            fraction: The share to hold out, between 0 and 1.
            seed: Seed of the random choice.

        Returns:
            The trajectories to train on, and those held out.

        Raises:
            InputError: If one of the parts would have no transition.

        Example:
            >>> train, held_out = nke.Trajectories(np.zeros((5, 3, 1)), 0.5).split(0.2, seed=0)
            >>> len(train), len(held_out)
            (4, 1)
        """
        if not 0 < fraction < 1:
            raise InputError(f"expected a fraction between 0 and 1, but got {fraction}; use 0.2 to hold out 20 %")
        if len(self) == 1:
            return self._cut(fraction)
        usable = np.flatnonzero(observed_counts(self._observed, self._lengths) >= 2)
        if len(usable) == 1:
            raise InputError(
                "expected two trajectories with two observed rows to split by trajectory, but only "
                f"trajectory {usable[0]} has them; use data.select({usable[0]}).split(...) to cut it in time"
            )
        count = min(max(round(fraction * len(usable)), 1), len(usable) - 1)
        chosen = np.random.default_rng(seed).permutation(usable)[:count]
        held_out = np.isin(np.arange(len(self)), chosen)
        return self.select(~held_out), self.select(held_out)

    def hold_out(self, fraction: float, seed: int) -> tuple["Trajectories", "Trajectories"]:
        """Holds out about a fraction of the rows, to compare laws on: what ``nke.fit`` does.

        By trajectory like ``split``; but of so few trajectories that one of them is far more than the fraction, each
        is cut in time as a single one is.

        Args:
            fraction: The share to hold out, between 0 and 1.
            seed: Seed of the random choice.

        Returns:
            The trajectories to train on, and those held out.

        Raises:
            InputError: If one of the parts would have no transition.

        Example:
            >>> train, held_out = nke.Trajectories(np.zeros((2, 100, 1)), 0.5).hold_out(0.1, seed=0)
            >>> len(train.transitions()), len(held_out.transitions())
            (178, 18)
        """
        usable = np.flatnonzero(observed_counts(self._observed, self._lengths) >= 2).tolist()
        if len(self) == 1 or round(fraction * len(usable)) >= 1:
            return self.split(fraction, seed)
        cut = [i for i in usable if min(self._held(i, fraction)) >= 2]
        if not cut:
            return self.split(fraction, seed)
        parts = [self.select(i)._cut(fraction) for i in cut]
        whole = [self.select(i) for i in usable if i not in cut]
        labels = self.names, self.units, self.unit_of_time, self.calendar

        def together(chosen: list["Trajectories"]) -> "Trajectories":
            starts = [np.cumsum(one._lengths)[:-1] for one in chosen]
            rows = [part for one, at in zip(chosen, starts, strict=True) for part in np.split(one._rows, at)]
            times = [part for one, at in zip(chosen, starts, strict=True) for part in np.split(one._times, at)]
            return type(self)(rows, times, *labels)

        return together([*(first for first, _ in parts), *whole]), together([second for _, second in parts])

    def _held(self, i: int, fraction: float) -> tuple[int, int]:
        """Observed rows of a trajectory before and after a cut."""
        ends = np.cumsum(self._lengths)
        seen = int(self._observed[ends[i] - self._lengths[i] : ends[i]].sum())
        after = round(fraction * seen)
        return seen - after, after

    def split_last(self, fraction: float) -> tuple["Trajectories", "Trajectories"]:
        """Holds out the last rows of every trajectory: what is to be predicted from what came before.

        Args:
            fraction: The share of the observed rows of each trajectory, between 0 and 1.

        Returns:
            The rows before, and the last ones; trajectories too short to be cut are in the first part alone.

        Raises:
            InputError: If no trajectory has two observed rows on each side.

        Example:
            >>> before, last = nke.Trajectories(np.zeros((1, 10, 1)), 0.5).split_last(0.2)
            >>> len(before.times[0]), last.times.tolist()
            (8, [[4.0, 4.5]])
        """
        if not 0 < fraction < 1:
            raise InputError(f"expected a fraction between 0 and 1, but got {fraction}; use 0.2 to hold out 20 %")
        ends = np.cumsum(self._lengths)
        parts: tuple[list[slice], list[slice]] = ([], [])
        for start, end in zip(ends - self._lengths, ends, strict=True):
            seen = start + np.flatnonzero(self._observed[start:end])
            after = round(fraction * len(seen))
            if min(after, len(seen) - after) < 2:
                parts[0].append(slice(start, end))
                continue
            parts[0].append(slice(start, seen[-after - 1] + 1))
            parts[1].append(slice(seen[-after], end))
        if not parts[1]:
            raise InputError(
                f"expected two observed rows on each side of a cut in time, but fraction {fraction} leaves fewer in "
                "every trajectory; choose another fraction or hold out trajectories"
            )
        labels = self.names, self.units, self.unit_of_time, self.calendar
        before, last = (
            type(self)([self._rows[part] for part in chosen], [self._times[part] for part in chosen], *labels)
            for chosen in parts
        )
        return before, last

    def _cut(self, fraction: float) -> tuple["Trajectories", "Trajectories"]:
        seen = np.flatnonzero(self._observed)
        after = round(fraction * len(seen))
        before, stretches = len(seen) - after, int(np.clip(after // ROWS_HELD_OUT, 1, MOST_STRETCHES))
        if min(before, after) < 2:
            raise InputError(
                f"expected two observed rows on each side of a cut in time, but fraction {fraction} leaves "
                f"{before} to train and {after} held out; choose another fraction or record more rows"
            )
        ends = np.linspace(0, len(seen), stretches + 1).round().astype(int)
        cuts = ends[1:] - np.round(np.arange(1, stretches + 1) * after / stretches).astype(int)
        cuts += np.round(np.arange(stretches) * after / stretches).astype(int)
        return self._stretches(seen, ends[:-1], cuts), self._stretches(seen, cuts, ends[1:])

    def _stretches(
        self, seen: Int64[np.ndarray, " n"], starts: Int64[np.ndarray, " k"], ends: Int64[np.ndarray, " k"]
    ) -> "Trajectories":
        """Stretches of a single trajectory, from one observed row to the one before another."""
        parts = [slice(seen[a], seen[b - 1] + 1) for a, b in zip(starts, ends, strict=True)]
        rows, times = ([array[part] for part in parts] for array in (self._rows, self._times))
        return type(self)(rows, times, self.names, self.units, self.unit_of_time, self.calendar)

    def transformed(self, transforms: Sequence[Transform]) -> "Trajectories":
        """Transforms every column, as ``nke.fit`` does before it learns.

        Angles that are wrapped are unwrapped within each trajectory, to the nearest turn.

        Args:
            transforms: One of ``nke.transforms`` for each coordinate.

        Returns:
            Trajectories of the transformed columns, with names such as "log x".

        Raises:
            InputError: If a value is not in the domain of its transform; the message names the trajectory and the row.

        Example:
            >>> prices = nke.Trajectories([1.0, np.e], 0.1, names=["price"], units=["EUR"])
            >>> prices.transformed([nke.transforms.Log()]).names
            ('log price',)
        """
        rows = np.where(self._observed[:, None], self._rows, np.nan)
        for i, transform in enumerate(transforms):
            if not (inside := transform.inside(rows[:, i])).all():
                raise InputError(self._outside(int(np.argmin(inside)), i, transform))
            if not isinstance(transform, Periodic):
                rows[:, i] = transform.to(rows[:, i])
            elif transform.start is not None:
                rows[:, i] = self._unwrapped(rows[:, i], transform.period)
        names = [transform.name(name) for transform, name in zip(transforms, self.names, strict=True)]
        units = [u if t.affine else "" for u, t in zip(self.units, transforms, strict=True)]
        parts = (self._by_trajectory(rows), self._by_trajectory(self._times))
        return type(self)(*parts, names, units, self.unit_of_time, self.calendar)

    def _outside(self, row: int, column: int, transform: Transform) -> str:
        trajectory = int(np.searchsorted(np.cumsum(self._lengths), row, side="right"))
        first = int(self._lengths[:trajectory].sum())
        return (
            f"expected {self.names[column]!r} {transform.domain} in every row, but trajectory {trajectory} has "
            f"{self._rows[row, column]:g} at row {row - first}; leave the row out, or say nothing of this column"
        )

    def _unwrapped(self, angle: Float64[np.ndarray, " R"], period: float) -> Float64[np.ndarray, " R"]:
        """The angle with whole turns added, so that it moves by less than half a turn between observed rows."""
        seen = np.flatnonzero(self._observed)
        trajectory = np.repeat(np.arange(len(self)), self._lengths)[seen]
        turns = np.concatenate([[0.0], -np.round(np.diff(angle[seen]) / period)])
        first = np.concatenate([[True], trajectory[1:] != trajectory[:-1]])
        total = np.cumsum(turns)
        total -= np.repeat(total[first], np.diff(np.append(np.flatnonzero(first), len(seen))))
        unwrapped = angle.copy()
        unwrapped[seen] += period * total
        return unwrapped

    def __repr__(self) -> str:
        shortest, longest = self._lengths.min(), self._lengths.max()
        rows = f"{shortest} to {longest}" if self.is_ragged else f"{longest}"
        labels = [f"{name} [{unit}]" if unit else name for name, unit in zip(self.names, self.units, strict=True)]
        shown = ", ".join(labels[:6]) + (f", … ({self.dimension} in all)" if self.dimension > 6 else "")
        seen = self._times[self._observed]
        missing = int((~self._observed).sum())
        gaps = f", {count(missing, 'row')} not observed" if missing else ""
        unit = f" {self.unit_of_time}" if self.unit_of_time else ""
        span = f"{seen.min():g} to {seen.max():g}{unit}"
        if self.calendar is not None:
            first, last = (np.datetime_as_string(d, unit="D") for d in self.calendar.dates([seen.min(), seen.max()]))
            span += f", {first} to {last}"
        return f"Trajectories({count(len(self), 'trajectory')} × {rows} rows, coordinates {shown}, times {span}{gaps})"
