"""pandas frames and trajectories."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from nke.data import Trajectories
from nke.errors import InputError
from nke.files.clock import with_dates_and_clock
from nke.files.columns import COUNTERS, Choice, Columns, choose
from nke.files.labels import split_heading
from nke.files.long import from_long, long_table
from nke.files.table import Table
from nke.files.wide import from_wide, looks_wide, wide_table

if TYPE_CHECKING:
    import pandas as pd


def from_table(table: Table, choice: Choice) -> Trajectories:
    """Makes trajectories of a table, long or wide."""
    columns = choose(table.headings, choice, table.name)
    if len(table.columns[0]) == 0:
        raise InputError(f"{table.name}: expected rows below the header, but there are none; record at least two")
    table, columns = with_dates_and_clock(table, columns, choice)
    columns, notes = without_counters(table, columns, choice)
    wide = looks_wide(table, columns) if choice.wide is None else choice.wide
    if not wide and choice.states is None:
        _refuse_transposed(table, columns)
    data = from_wide(table, columns, choice) if wide else from_long(table, columns, choice)
    data.notes = (*data.notes, *notes)
    return data


def _refuse_transposed(table: Table, columns: Columns) -> None:
    rows, coordinates = len(table.columns[0]), len(columns.states)
    if coordinates > rows:
        raise InputError(
            f"{table.name}: expected a row for each time and a column for each coordinate, but got {rows} rows and "
            f"{coordinates} coordinates; transpose the table, say wide=True if each column is a trajectory, "
            "or name the columns with states= (--states)"
        )


def without_counters(table: Table, columns: Columns, choice: Choice) -> tuple[Columns, tuple[str, ...]]:
    """Leaves out columns that only count the rows, unless the states are named or nothing else is left."""
    names = {i: split_heading(table.headings[i])[0] for i in columns.states}
    counting = [i for i, name in names.items() if name.lower().replace(" ", "_") in COUNTERS and table.counts_rows(i)]
    left = tuple(i for i in columns.states if i not in counting)
    if choice.states is not None or not counting or not left:
        return columns, ()
    words = ", ".join(repr(names[i]) for i in counting)
    return replace(columns, states=left), (
        f"column {words} counts the rows and is no state; states= (--states) names them",
    )


def from_foreign(source: Any, choice: Choice) -> Trajectories:
    """Makes trajectories of a frame of another library, such as polars: by its own way to pandas, or its columns."""
    source = source.collect() if hasattr(source, "collect") else source  # a lazy one
    if hasattr(source, "to_pandas"):
        try:
            return from_pandas(source.to_pandas(), choice)
        except ModuleNotFoundError:  # it needs a package that is not there
            pass
    names = [str(name) for name in source.columns]
    return from_table(Table("the frame", names, [np.asarray(source[name]) for name in names]), choice)


def is_foreign(source: Any) -> bool:
    """Tells whether something is a frame of another library."""
    if hasattr(source, "collect"):  # asked for its columns, a lazy frame of polars warns
        return True
    return hasattr(source, "columns") and (hasattr(source, "to_pandas") or hasattr(source, "__getitem__"))


def from_pandas(frame: "pd.DataFrame", choice: Choice, name: str = "the frame") -> Trajectories:
    """Makes trajectories of a frame; levels of the index that have names are columns like any other."""
    import pandas as pd

    if isinstance(frame.index, pd.PeriodIndex):
        frame = frame.set_axis(frame.index.to_timestamp(), axis=0)
    if isinstance(frame.index, pd.DatetimeIndex) and frame.index.name is None:
        frame = frame.rename_axis("date")
    named = [level for level in frame.index.names if level is not None]
    twice = [str(level) for level in named if level in frame.columns or named.count(level) > 1]
    if twice:
        raise InputError(f"{name}: expected different names, but {twice[0]!r} is in the index and again; rename one")
    frame = frame.reset_index(level=named) if named else frame
    columns = [frame.iloc[:, i].to_numpy() for i in range(frame.shape[1])]
    return from_table(Table(name, [str(label) for label in frame.columns], columns), choice)


def to_pandas(data: Trajectories, wide: bool = False) -> "pd.DataFrame":
    """Converts trajectories to a pandas frame, from which ``nke.read`` gives them back.

    Args:
        data: The trajectories.
        wide: Whether each coordinate of each trajectory is a column (trajectories at the same times only), instead of
            a column of trajectories, one of times, then the states.

    Returns:
        The frame; units stand in brackets after the names.

    Raises:
        InputError: If the trajectories of a wide table have different times, or a coordinate is called ``trajectory``
            or ``time``.

    Example:
        >>> nke.files.to_pandas(nke.Trajectories([1.0, 1.5], 0.5, names=["height"], units=["mm"]))
           trajectory  time  height [mm]
        0           0   0.0          1.0
        1           0   0.5          1.5
    """
    import pandas as pd

    columns: dict[str, np.ndarray] = wide_table(data) if wide else long_table(data)
    return pd.DataFrame(columns)
