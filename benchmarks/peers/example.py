"""What a documented example consists of, and its table."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from benchmarks.validation.tables import mean_and_error
from nke.data import Trajectories
from nke.fitting import FitResult, fit

Figures = dict[str, float]
SECONDS, COMPILATION = "seconds", "of them compilation"


class Run(NamedTuple):
    """What every example is told."""

    seed: int
    cap: float  # seconds that a peer trained by iterations is given


class Measured(NamedTuple):
    """The same quantities: the truth (of an error: what the true family reaches on this data), ours and the peer's.

    One that a method does not give is left out.
    """

    truth: Figures
    ours: Figures
    peer: Figures
    decisions: dict[str, str] = {}  # noqa: RUF012 - of our fit, for the record


@dataclass(frozen=True)
class Example:
    """A documented example of a peer."""

    peer: str  # its name on PyPI
    problem: str
    measure: Callable[[Run], Measured]
    notes: tuple[str, ...] = ()
    seeds: int = 3


def fit_default(states: np.ndarray, times: Any, seed: int) -> tuple[FitResult, Figures]:
    """``nke.fit`` with nothing said, and its times."""
    result = fit(Trajectories(states, times), seed=seed, progress=False)
    return result, {SECONDS: result.timings["total"], COMPILATION: result.timings["compilation"]}


def table(example: Example, rows: Sequence[Measured]) -> str:
    """Markdown: one line for each quantity, mean ± standard error over the seeds."""
    lines = [
        f"### {example.peer}: {example.problem}",
        "",
        f"| | truth or floor | nke | {example.peer} |",
        "| --- |" + " ---: |" * 3,
    ]
    columns = [[row.truth for row in rows], [row.ours for row in rows], [row.peer for row in rows]]
    for quantity in dict.fromkeys(name for column in columns for figures in column for name in figures):
        cells = [_cell([figures[quantity] for figures in column if quantity in figures]) for column in columns]
        lines.append(f"| {quantity} | {' | '.join(cells)} |")
    seeds = f"{len(rows)} seeds, mean ± standard error." if len(rows) > 1 else "One seed."
    return "\n".join([*lines, "", " ".join([seeds, *example.notes])])


def _cell(values: list[float]) -> str:
    if not values:
        return ""
    if len(set(values)) == 1:
        return f"{values[0]:.4g}"
    return mean_and_error(values) if all(map(math.isfinite, values)) else "--"
