"""Excel files: a table on the first sheet."""

from pathlib import Path

from nke.data import Trajectories
from nke.files.checks import opened_by_library
from nke.files.columns import Choice
from nke.files.frame import from_pandas, to_pandas


def read_excel(path: Path, choice: Choice) -> Trajectories:
    """Reads the first sheet."""
    import pandas as pd

    with opened_by_library(path, "excel"):
        frame = pd.read_excel(path, engine="openpyxl")
    return from_pandas(frame, choice, str(path))


def write_excel(data: Trajectories, path: Path) -> None:
    """Writes a long table to the first sheet."""
    to_pandas(data).to_excel(path, engine="openpyxl", index=False)
