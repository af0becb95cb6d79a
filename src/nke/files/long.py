"""Long tables: a row for each time of each trajectory."""

from typing import Any

import numpy as np
from jaxtyping import Float64, Int64

from nke.data import Trajectories
from nke.data.validation import count
from nke.errors import InputError
from nke.files.checks import as_trajectories
from nke.files.columns import Choice, Columns
from nke.files.labels import heading, split_heading
from nke.files.table import Clock, Table, by_trajectory


def from_long(table: Table, columns: Columns, choice: Choice) -> Trajectories:
    """Makes trajectories of a long table, in the order in which they first appear."""
    states = np.stack([table.numbers(i) for i in columns.states], axis=1)
    names, units = zip(*(split_heading(table.headings[i]) for i in columns.states), strict=True)
    left_out = 0
    if choice.calendar == "trading":
        table, states, left_out = _observed_rows(table, states)
    trajectory = _codes(table, columns, len(states))
    if columns.time is None:
        order, times, clock, notes = by_trajectory(trajectory), choice.step, Clock(choice.time_unit or ""), ()
    else:
        times, clock = table.times(columns.time, choice)
        notes = clock.notes
        several = "; if there are several trajectories, name their column with trajectory= (--trajectory)"
        order, note = table.in_order(columns.time, times, trajectory, several if columns.trajectory is None else "")
        times, notes = times[order], notes + note
    cut = _cut(states[order], times, np.bincount(trajectory))
    data = as_trajectories(table.name, *cut, names, units, clock.unit, clock.calendar)
    data.notes = notes + data.notes
    if left_out:
        data.notes = (*data.notes, f"{count(left_out, 'row')} without values left out: no trading days")
    return data


def _observed_rows(table: Table, states: Float64[np.ndarray, "R d"]) -> tuple[Table, Float64[np.ndarray, "S d"], int]:
    """Leaves out rows in which nothing was observed, and says how many."""
    kept = np.flatnonzero(~np.isnan(states).all(axis=1))
    columns = [np.asarray(column)[kept] for column in table.columns]
    left = Table(table.name, table.headings, columns, lambda row: table.line(int(kept[row])))
    return left, states[kept], len(states) - len(kept)


def long_table(data: Trajectories) -> dict[str, np.ndarray]:
    """Returns headings and columns: trajectory, time, then the states."""
    for name in ("trajectory", "time" if data.calendar is None else "date"):
        if name in data.names:
            raise InputError(f"expected no coordinate called {name!r}, as a column of the table is; rename it")
    headings = [heading(name, unit) for name, unit in zip(data.names, data.units, strict=True)]
    rows = np.concatenate(list(data.states))
    return {
        "trajectory": np.repeat(np.arange(len(data)), [len(times) for times in data.times]),
        **_time_column(data),
        **dict(zip(headings, rows.T, strict=True)),
    }


def _time_column(data: Trajectories) -> dict[str, np.ndarray]:
    """The times, as dates where they were dates."""
    if data.calendar is not None:
        return {"date": data.calendar.dates(np.concatenate(list(data.times)))}
    return {heading("time", data.unit_of_time): np.concatenate(list(data.times))}


def _codes(table: Table, columns: Columns, rows: int) -> Int64[np.ndarray, " R"]:
    """Numbers the trajectories 0, 1, … in the order in which they appear."""
    if columns.trajectory is None:
        return np.zeros(rows, np.int64)
    import pandas as pd

    try:
        codes, _ = pd.factorize(np.asarray(table.columns[columns.trajectory]))
    except TypeError as error:  # a list in a cell
        name = table.headings[columns.trajectory]
        raise InputError(f"{table.name}: expected numbers or text in the column {name!r} of trajectories") from error
    if (codes < 0).any():
        raise InputError(
            f"{table.place(int((codes < 0).argmax()), columns.trajectory)}: expected the trajectory of the row, "
            "but the cell is empty; fill it in or remove the row"
        )
    return codes.astype(np.int64, copy=False)


def _cut(rows: np.ndarray, times: Any, lengths: np.ndarray) -> tuple[Any, Any]:
    """Cuts states and times by trajectory, in one array where the lengths are equal; a step stays a step."""
    if (lengths == lengths[0]).all():
        shape = (len(lengths), int(lengths[0]))
        return rows.reshape(*shape, -1), times.reshape(shape) if isinstance(times, np.ndarray) else times
    ends = np.cumsum(lengths)[:-1]
    return np.split(rows, ends), np.split(times, ends) if isinstance(times, np.ndarray) else times
