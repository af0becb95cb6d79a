"""How long ``nke.read`` takes beside pandas' own reader, and how it names a broken row."""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.validation.tables import console
from nke.files import read

TRAJECTORIES, ROWS, REPEATS = 1000, 1000, 5
TARGET = 2.0


def main() -> None:
    """Reads a table of a million rows both ways in turns, then a broken one."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "table.csv"
        _table().to_csv(file, index=False)
        pairs = np.array([[_seconds(pd.read_csv, file), _seconds(read, file)] for _ in range(REPEATS)])
        pandas, ours = pairs.min(axis=0)
        console.print(
            f"csv of {TRAJECTORIES * ROWS:.0e} rows: pandas {pandas:.3f} s, nke {ours:.3f} s", highlight=False
        )
        console.print(f"ratio {ours / pandas:.2f}, to be at most {TARGET:g} (best of {REPEATS}, taken in turns)")
        lines = file.read_text().splitlines(keepends=True)
        middle = len(lines) // 2
        file.write_text("".join([*lines[:middle], lines[middle].replace(".", ".x", 1), *lines[middle + 1 :]]))
        try:
            read(file)
        except ValueError as error:
            console.print(f"line {middle + 1} broken: {str(error).removeprefix(str(file))}", highlight=False)


def _table() -> pd.DataFrame:
    states = np.random.default_rng(0).standard_normal((TRAJECTORIES * ROWS, 3))
    index, time = np.repeat(np.arange(TRAJECTORIES), ROWS), np.tile(0.1 * np.arange(ROWS), TRAJECTORIES)
    return pd.DataFrame({"trajectory": index, "time": time} | dict(zip("xyz", states.T, strict=True)))


def _seconds(reader: Callable[[Path], object], file: Path) -> float:
    began = time.perf_counter()
    reader(file)
    return time.perf_counter() - began
