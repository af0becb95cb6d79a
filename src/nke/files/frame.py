"""pandas frames and trajectories."""

from typing import TYPE_CHECKING

import numpy as np

from nke.data import Trajectories
from nke.errors import InputError
from nke.files.columns import Choice, choose
from nke.files.long import from_long, long_table
from nke.files.table import Table
from nke.files.wide import from_wide, looks_wide, wide_table

if TYPE_CHECKING:
    import pandas as pd


def from_table(table: Table, choice: Choice) -> Trajectories:
    columns = choose(table.headings, choice, table.name)
    if len(table.columns[0]) == 0:
        raise InputError(f"{table.name}: expected rows below the header, but there are none; record at least two")
    wide = looks_wide(table, columns) if choice.wide is None else choice.wide
    return from_wide(table, columns, choice) if wide else from_long(table, columns, choice)


def from_pandas(frame: "pd.DataFrame", choice: Choice, name: str = "the frame") -> Trajectories:
    """Levels of the index that have names are columns like any other."""
    named = [level for level in frame.index.names if level is not None]
    frame = frame.reset_index(level=named) if named else frame
    columns = [frame.iloc[:, i].to_numpy() for i in range(frame.shape[1])]
    return from_table(Table(name, [str(label) for label in frame.columns], columns), choice)


def to_pandas(data: Trajectories, wide: bool = False) -> "pd.DataFrame":
    """A table with a column of trajectories, one of times, then the states; units in brackets after the names."""
    import pandas as pd

    columns: dict[str, np.ndarray] = wide_table(data) if wide else long_table(data)
    return pd.DataFrame(columns)
