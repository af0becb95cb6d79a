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
    """Makes trajectories of a table, long or wide."""
    columns = choose(table.headings, choice, table.name)
    if len(table.columns[0]) == 0:
        raise InputError(f"{table.name}: expected rows below the header, but there are none; record at least two")
    wide = looks_wide(table, columns) if choice.wide is None else choice.wide
    return from_wide(table, columns, choice) if wide else from_long(table, columns, choice)


def from_pandas(frame: "pd.DataFrame", choice: Choice, name: str = "the frame") -> Trajectories:
    """Makes trajectories of a frame; levels of the index that have names are columns like any other."""
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
