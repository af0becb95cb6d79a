"""Printing of measurements: mean ± standard error over seeds."""

from collections.abc import Sequence

import numpy as np
from rich.console import Console
from rich.table import Table

console = Console(width=120)


def mean_and_error(values: Sequence[float]) -> str:
    """Writes the mean of some values ± its standard error."""
    array = np.asarray(values)
    error = array.std(ddof=1) / np.sqrt(len(array)) if len(array) > 1 else float("nan")
    return f"{array.mean():.4g} ± {error:.2g}"


def print_rows(title: str, rows: list[dict[str, float]], targets: dict[str, str] | None = None) -> None:
    """One line per figure: its mean, its value for each seed, and what it is to be."""
    table = Table(title=f"{title}, {len(rows)} seeds")
    for heading in ("figure", "mean ± s.e.", "each seed", "target"):
        table.add_column(heading)
    for figure in rows[0]:
        values = [row[figure] for row in rows]
        table.add_row(
            figure, mean_and_error(values), "  ".join(f"{v:.3g}" for v in values), (targets or {}).get(figure, "")
        )
    console.print(table)
