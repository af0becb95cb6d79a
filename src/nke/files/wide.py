"""Wide tables: a row for each time, a column for each coordinate of each trajectory."""

import re

import numpy as np

from nke.data import Trajectories
from nke.errors import InputError
from nke.files.checks import as_trajectories
from nke.files.columns import Choice, Columns
from nke.files.labels import heading, split_heading
from nke.files.table import Clock, Table


def looks_wide(table: Table, columns: Columns) -> bool:
    """Tells whether the headings are those of ``wide_table``, such as ``height [mm]:0``."""
    numbered = re.compile(r".+:\d+", re.DOTALL)
    return columns.trajectory is None and all(numbered.fullmatch(table.headings[i]) for i in columns.states)


def from_wide(table: Table, columns: Columns, choice: Choice) -> Trajectories:
    """Makes trajectories of a wide table.

    Columns without the number of a trajectory in their headings are trajectories of one coordinate x.
    """
    if looks_wide(table, columns):
        labels = [tuple(table.headings[i].rsplit(":", 1)) for i in columns.states]
    else:
        units = {split_heading(table.headings[i])[1] for i in columns.states}
        shared = heading("x", units.pop() if len(units) == 1 else "")
        labels = [(shared, table.headings[i]) for i in columns.states]
    at = dict(zip(labels, columns.states, strict=True))
    coordinates, trajectories = (list(dict.fromkeys(part)) for part in zip(*labels, strict=True))
    for missing in ((c, m) for m in trajectories for c in coordinates if (c, m) not in at):
        raise InputError(
            f"{table.name}: expected every coordinate of every trajectory, but there is no column "
            f"{':'.join(missing)!r}; add it, with empty cells where nothing was observed"
        )
    states = np.array([[table.numbers(at[c, m]) for c in coordinates] for m in trajectories]).swapaxes(1, 2)
    times, clock, notes = choice.step, Clock(choice.time_unit or ""), ()
    if columns.time is not None:
        times, clock = table.times(columns.time, choice)
        notes = clock.notes
        order, note = table.in_order(columns.time, times, np.zeros(len(times), np.int64))
        states, times, notes = states[:, order], times[order], notes + note
    names, units = zip(*map(split_heading, coordinates), strict=True)
    data = as_trajectories(table.name, states, times, names, units, clock.unit, clock.calendar)
    data.notes = notes + data.notes
    return data


def wide_table(data: Trajectories) -> dict[str, np.ndarray]:
    """Returns headings and columns: time, then ``name [unit]:trajectory``."""
    times = np.asarray(data.times[0])
    if data.is_ragged or not all(np.array_equal(other, times, equal_nan=True) for other in data.times):
        raise InputError("expected trajectories at the same times for a wide table; write a long one (wide=False)")
    headings = [heading(name, unit) for name, unit in zip(data.names, data.units, strict=True)]
    columns = {f"{label}:{m}": states[:, i] for m, states in enumerate(data.states) for i, label in enumerate(headings)}
    if data.calendar is not None:
        return {"date": data.calendar.dates(times), **columns}
    return {heading("time", data.unit_of_time): times, **columns}
