"""Parquet: the long table, column by column."""

from pathlib import Path

from nke.data import Trajectories
from nke.files.checks import opened_by_library
from nke.files.columns import Choice
from nke.files.frame import from_pandas, to_pandas
from nke.files.sizes import require_plausible


def read_parquet(path: Path, choice: Choice) -> Trajectories:
    """Reads a Parquet file."""
    import pandas as pd
    import pyarrow.parquet

    with opened_by_library(path, "parquet"):
        told = pyarrow.parquet.read_metadata(path)
        require_plausible(path, 8 * told.num_rows * told.num_columns, "its table")
        frame = pd.read_parquet(path, engine="pyarrow")
    return from_pandas(frame, choice, str(path))


def write_parquet(data: Trajectories, path: Path) -> None:
    """Writes a Parquet file."""
    to_pandas(data).to_parquet(path, engine="pyarrow", index=False)
