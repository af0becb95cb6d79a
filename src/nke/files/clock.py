"""Times that are written as dates: a column of dates beside one of times of day, and arrays of dates."""

import re
from dataclasses import replace
from datetime import time
from typing import Any

import numpy as np

from nke.data.calendar import SECONDS, TRADING_DAY
from nke.files.columns import Choice, Columns
from nke.files.dates import read_dates
from nke.files.labels import split_heading, split_time_heading
from nke.files.table import Clock, Table

TIME_OF_DAY = re.compile(
    r"^\s*([01]?\d|2[0-4]):([0-5]\d)(?::([0-5]\d(?:[.,]\d+)?))?\s*([ap]\.?m\.?)?\s*$", re.IGNORECASE
)


def with_dates_and_clock(table: Table, columns: Columns, choice: Choice) -> tuple[Table, Columns]:
    """Joins a column of dates and one of times of day to one of times.

    Args:
        table: The table.
        columns: Its columns, of which two may be dates and times of day by their names.
        choice: The options of ``nke.read``.

    Returns:
        Table and columns in which the dates are the times and have times of day. Where the cells are no dates and no
        times of day, one of the columns is a state unless it is the times.
    """
    if not columns.date_and_clock:
        return table, columns
    day, clock = columns.date_and_clock
    dates, hours = read_dates(table, day, choice.dates), _times_of_day(table, columns)
    if dates is None or hours is None:
        asked = choice.states is not None
        free = () if asked else tuple(i for i in (day, clock) if i != (columns.time if choice.step is None else clock))
        return table, replace(columns, states=tuple(sorted((*columns.states, *free))), date_and_clock=())
    cells = [*table.columns]
    cells[day] = dates + hours
    joined = Table(table.name, table.headings, cells, table.line)
    return joined, replace(columns, time=None if columns.time is None else day, date_and_clock=())


def _times_of_day(table: Table, columns: Columns) -> Any:
    """Times of day as ``timedelta64[ns]``; None where the column holds something else."""
    import pandas as pd

    day, clock = columns.date_and_clock
    cells = pd.Series(table.columns[clock])
    if cells.dtype.kind in "fiu":
        named = split_heading(table.headings[clock])[0].lower() in ("hour", "hours")
        keys = [columns.trajectory] if columns.trajectory is not None else []
        together = pd.DataFrame({i: np.asarray(table.columns[i]) for i in (*keys, day)})
        # One number a day may be of anything, such as hours of sunshine.
        whole = named and cells.dropna().between(0, 24).all() and together.duplicated().any()
        seconds = 3600 * cells.to_numpy(np.float64) if whole else None
    else:
        seconds = _seconds(cells)
    return None if seconds is None else pd.to_timedelta(seconds, unit="s").to_numpy().astype("timedelta64[ns]")


def _seconds(cells: Any) -> Any:
    """Seconds since midnight of 12:30, 12:30:15.5, 1:30 pm and times of Python; None where a cell is none of these."""
    if cells.isna().all() or not cells.dropna().map(lambda cell: isinstance(cell, str | time)).all():
        return None
    found = np.full(len(cells), np.nan)
    for row in np.flatnonzero(cells.notna()):
        parts = TIME_OF_DAY.match(str(cells.iloc[row]))
        if parts is None:
            return None
        hours, half = int(parts[1]), (parts[4] or "").lower()[:1]
        hours = hours % 12 + 12 * (half == "p") if half else hours
        found[row] = 3600 * hours + 60 * int(parts[2]) + float((parts[3] or "0").replace(",", "."))
    return found


def array_times(values: Any, heading: str, choice: Choice, where: str, stored_unit: str = "") -> tuple[Any, Clock]:
    """Reads an array of times: dates, also as text, are counted as those of a table are; durations in seconds.

    Args:
        values: The array.
        heading: Its name, which may end in a unit.
        choice: The options of ``nke.read``.
        where: What errors call the file.
        stored_unit: What the file says that times are counted in, taken where the options say nothing.

    Returns:
        The times, of the same shape, and what they are counted in.
    """
    values = np.asarray(values)
    if values.dtype.kind == "m":
        return np.where(np.isnat(values), np.nan, values / np.timedelta64(1, "s")), Clock("s")
    if values.dtype.kind == "S":
        values = np.char.decode(values, "utf-8", "replace")
    if choice.calendar == "all" and choice.time_unit is None:
        if stored_unit == TRADING_DAY:
            choice = replace(choice, calendar="trading")
        elif stored_unit in SECONDS:
            choice = replace(choice, time_unit=stored_unit)
    flat = values.reshape(-1)
    table = Table(where, [heading], [flat.astype("datetime64[ns]") if flat.dtype.kind == "M" else flat])
    if values.dtype.kind in "MUOT" and read_dates(table, 0, choice.dates) is not None:
        times, clock = table.times(0, choice)
        return times.reshape(values.shape), clock
    return values, Clock(choice.time_unit or stored_unit or split_time_heading(heading)[1])
