"""Parquet: cells that are not numbers."""

import pandas as pd
import pytest

import nke


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"t": [0, 1], "x": [[1, 2], [3, 4]]}, r"row 0, column 2 \(x\): expected a number"),
        ({"t": [[0], [1]], "x": [1.0, 2.0]}, r"row 0, column 1 \(t\): expected a number"),
        ({"cell": [[1], [2]], "t": [0, 1], "x": [1.0, 2.0]}, "numbers or text in the column 'cell'"),
    ],
)
def test_lists_in_cells_are_refused(columns, message, tmp_path):
    pd.DataFrame(columns).to_parquet(tmp_path / "own.parquet")
    with pytest.raises(nke.errors.InputError, match=message):
        nke.read(tmp_path / "own.parquet")
