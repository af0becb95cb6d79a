"""Tables in memory: columns with headings, read as numbers and times; the first wrong cell is named."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float64, Int64

from nke.data import Calendar
from nke.data.calendar import SPELLED, TRADING_DAY
from nke.errors import InputError
from nke.files.columns import Choice
from nke.files.dates import read_dates
from nke.files.labels import split_heading, split_time_heading

IN_WORDS = {short: word for word, short in SPELLED.items() if word.endswith("s")}
MISSING = "."  # as the Federal Reserve's tables write it
Rows = Int64[np.ndarray, " R"] | slice  # a slice for rows that stand in order already


@dataclass(frozen=True)
class Clock:
    """What times are counted in.

    Args:
        unit: Of the times.
        calendar: What they are in dates, if they were.
        notes: What was done to them.
    """

    unit: str = ""
    calendar: Calendar | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Table:
    """Columns with headings.

    Args:
        name: What errors call the table.
        headings: One heading for each column, with its unit.
        columns: The cells.
        line: Says in words where a row stands.
    """

    name: str
    headings: Sequence[str]
    columns: Sequence[Any]
    line: Callable[[int], str] = lambda row: f"row {row}"

    def place(self, row: int, column: int) -> str:
        """Says in words where a cell stands."""
        name = split_heading(self.headings[column])[0]
        return f"{self.name}, {self.line(row)}, column {column + 1} ({name})"

    def numbers(self, column: int) -> Float64[np.ndarray, " R"]:
        """Reads a column as float64, empty cells as NaN."""
        cells = np.asarray(self.columns[column])
        if cells.dtype.kind not in "fiub":
            cells = np.array([self._number(cell, row, column) for row, cell in enumerate(cells)], np.float64)
        cells = cells.astype(np.float64, copy=False)
        infinite = np.isinf(cells)
        if infinite.any():
            row = int(infinite.argmax())
            raise InputError(
                f"{self.place(row, column)}: expected a finite number, but got {cells[row]}; "
                "correct it, or leave the cell empty for a row that was not observed"
            )
        return cells

    def counts_rows(self, column: int) -> bool:
        """Tells whether a column grows by one from row to row; it may begin anew with a trajectory."""
        cells = np.asarray(self.columns[column])
        if cells.dtype.kind not in "fiu" or len(cells) < 3:
            return False
        moved = np.diff(cells.astype(np.float64))
        return bool((np.abs(moved - 1) < 1e-9).mean() > 0.5 and ((moved == 1) | (moved <= 0)).all())

    def _number(self, cell: Any, row: int, column: int) -> float:
        import pandas as pd

        if pd.api.types.is_scalar(cell) and (pd.isna(cell) or cell == MISSING):
            return np.nan
        try:
            return float(cell)
        except (TypeError, ValueError, OverflowError) as error:
            raise not_a_number(self.place(row, column), cell) from error

    def times(self, column: int, choice: Choice) -> tuple[Float64[np.ndarray, " R"], "Clock"]:
        """Reads times and what they are counted in; dates become numbers by a calendar."""
        dates = read_dates(self, column, choice.dates)
        if dates is None:
            self._refuse_bad_date(column)
            times = self.numbers(column)
            if choice.calendar == "all":
                return times, Clock(choice.time_unit or split_time_heading(self.headings[column])[1])
            counted = np.searchsorted(np.unique(times[~np.isnan(times)]), times).astype(np.float64)
            return np.where(np.isnan(times), np.nan, counted), Clock(TRADING_DAY)
        if np.isnat(dates).all():
            raise InputError(f"{self.name}: expected dates in {self.headings[column]!r}, but every one is missing")
        calendar = Calendar.of(dates, choice.time_unit, choice.calendar)
        first = np.datetime_as_string(calendar.origin, unit="auto")
        note = f"dates are counted in {IN_WORDS.get(calendar.unit, calendar.unit + 's')} since {first}"
        return calendar.times(dates), Clock(calendar.unit, calendar, (note,))

    def _refuse_bad_date(self, column: int) -> None:
        """Blames the one bad date of a column of dates, not the good ones before it."""
        cells = np.asarray(self.columns[column])
        row = None if cells.dtype.kind in "fiub" else _bad_date(cells)
        if row is not None and not _is_number(cells[row]):
            raise InputError(
                f"{self.place(row, column)}: expected a date as in the other rows, but got {str(cells[row])[:40]!r}; "
                "correct it, or leave the cell empty for a row that was not observed"
            )

    def in_order(
        self,
        time: int,
        times: Float64[np.ndarray, " R"],
        trajectory: Int64[np.ndarray, " R"],
        advice: str = "",
    ) -> tuple[Rows, tuple[str, ...]]:
        """Orders rows by trajectory and time, with a note if they had to be sorted; refuses a time that is repeated."""
        order = by_trajectory(trajectory)
        seen = np.arange(len(times))[order]
        missing = np.isnan(times[order])
        timed = seen[~missing] if missing.any() else seen
        back = np.flatnonzero(np.diff(times[timed] if timed is not seen else times[order]) <= 0)
        wrong = back[trajectory[timed[back]] == trajectory[timed[back + 1]]]
        if not len(wrong):
            return order, ()
        row = int(timed[wrong[0] + 1])
        order = np.lexsort((times, trajectory))
        repeated = (np.diff(times[order]) == 0) & (np.diff(trajectory[order]) == 0)
        if repeated.any():
            k = int(repeated.argmax())
            first, second = sorted(map(int, order[k : k + 2]))
            raise InputError(
                f"{self.place(second, time)}: expected every time once in a trajectory, but {times[second]:g} is "
                f"already in {self.line(first)}; remove one of the rows{advice}"
            )
        return order, (f"rows sorted by time ({self.line(row)} was the first out of order)",)


def by_trajectory(trajectory: Int64[np.ndarray, " R"]) -> Rows:
    """Orders rows by trajectory, each in the order in which its rows stand."""
    return slice(None) if (np.diff(trajectory) >= 0).all() else np.argsort(trajectory, kind="stable")


def not_a_number(place: str, cell: Any) -> InputError:
    """Makes the error of a cell that is no number."""
    return InputError(
        f"{place}: expected a number, but got {str(cell)[:40]!r}; correct it, leave the cell empty, "
        "or choose the columns of the states with states= (--states)"
    )


def _is_number(cell: Any) -> bool:
    try:
        float(cell)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def _bad_date(cells: Any) -> int | None:
    """The first cell that is no date among cells of which most are."""
    import pandas as pd

    read = pd.to_datetime(pd.Series(cells), format="ISO8601", utc=True, errors="coerce")
    wrong = np.flatnonzero(read.isna() & ~pd.isna(pd.Series(cells)))
    return int(wrong[0]) if 0 < len(wrong) < len(cells) / 2 else None
