"""Parquet: the long table, column by column."""

from pathlib import Path

from nke.data import Trajectories
from nke.files.columns import Choice
from nke.files.frame import from_pandas, to_pandas


def read_parquet(path: Path, choice: Choice) -> Trajectories:
    import pandas as pd

    return from_pandas(pd.read_parquet(path, engine="pyarrow"), choice, str(path))


def write_parquet(data: Trajectories, path: Path) -> None:
    to_pandas(data).to_parquet(path, engine="pyarrow", index=False)
