"""Dates in a column: ISO, US or German order, with names of months, or as eight digits; whether 3/4 is asked about."""

import re
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np

from nke.errors import InputError

if TYPE_CHECKING:
    from nke.files.table import Table

ORDERS = {"dmy": "day first", "mdy": "month first"}
NUMERIC = re.compile(r"^\s*(\d{1,2})([./-])(\d{1,2})\2(\d{4}|\d{2})(?!\d)")
WITH_A_NAME = re.compile(r"(?i)(?<![a-z])(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)")


def read_dates(table: "Table", column: int, order: str | None = None) -> Any:
    """Reads the dates in a column.

    Args:
        table: Of which.
        column: Its number.
        order: "dmy" or "mdy" for dates such as 3/4/2024; None: as the dates themselves tell.

    Returns:
        Dates as ``datetime64[ns]``, NaT where a cell is empty; None where the column holds no dates.

    Raises:
        InputError: If the order is not known, or the dates do not tell which of two it is.
    """
    import pandas as pd

    if order is not None and order not in ORDERS:
        raise InputError(f"{table.name}: expected dates {' or '.join(map(repr, ORDERS))}, but got {order!r}")
    cells = pd.Series(table.columns[column])
    if pd.api.types.is_datetime64_any_dtype(cells):
        return _plain(cells)
    if cells.dtype.kind in "fiu":
        return _eight_digits(table.headings[column], cells)
    if cells.dtype.kind == "b" or cells.isna().all():
        return None
    if not cells.dropna().map(lambda cell: isinstance(cell, str | date)).all():
        return None
    text = cells.dropna().astype(str)
    numeric = text.str.extract(NUMERIC)
    if numeric[0].notna().all():
        return _in_order(table, column, cells, numeric, order)
    try:
        return _plain(pd.to_datetime(cells, format="ISO8601", utc=True))
    except (ValueError, TypeError, OverflowError):
        pass
    if text.str.contains(WITH_A_NAME).all():
        try:
            return _plain(pd.to_datetime(cells, format="mixed", utc=True, dayfirst=order == "dmy"))
        except (ValueError, TypeError, OverflowError):
            pass
    return None


def _in_order(table: "Table", column: int, cells: Any, numeric: Any, order: str | None) -> Any:
    """Dates such as 3/4/2024: one of the numbers tells by being larger than 12, or points do."""
    import pandas as pd

    first, second = (numeric[k].astype(int) for k in (0, 2))
    can = [name for name, month in (("dmy", second), ("mdy", first)) if (month <= 12).all()]
    if order is None and set(numeric[1]) == {"."} and "dmy" in can:
        order = "dmy"  # points are written where the day stands first
    if order is None and len(can) == 2:
        example = str(cells.dropna().iloc[int(np.argmax((first != second).to_numpy()))])
        raise InputError(
            f"{table.name}: expected dates that tell day from month, but {example!r} may be either in every row of "
            f"column {column + 1}; say dates='dmy' where the day stands first, or dates='mdy' where the month does"
        )
    chosen = can[0] if order is None and can else order
    if chosen not in can:
        months = second if chosen == "dmy" else first
        row = int(cells.notna().to_numpy().nonzero()[0][int((months > 12).to_numpy().argmax())])
        wanted = "a date" if chosen is None else f"a date with the {ORDERS[chosen]}"
        raise InputError(
            f"{table.place(row, column)}: expected {wanted}, but got {str(cells.iloc[row])!r}; correct it, or say the "
            "other order with dates= (--dates)"
        )
    try:
        return _plain(pd.to_datetime(cells, format="mixed", dayfirst=chosen == "dmy"))
    except (ValueError, TypeError, OverflowError) as error:
        raise InputError(f"{table.name}: expected dates in column {column + 1}, but {error}; correct them") from error


def _eight_digits(heading: str, cells: Any) -> Any:
    """Dates such as 20240301, in a column that is called one."""
    import pandas as pd

    if "date" not in heading.lower():
        return None
    whole = cells.dropna()
    if not ((whole >= 1e7) & (whole < 1e8) & (whole % 1 == 0)).all() or not len(whole):
        return None
    found = pd.to_datetime(whole.astype(int).astype(str), format="%Y%m%d", errors="coerce")
    return None if found.isna().any() else _plain(found.reindex(cells.index))


def _plain(dates: Any) -> np.ndarray:
    if getattr(dates.dt, "tz", None) is not None:
        dates = dates.dt.tz_convert("UTC").dt.tz_localize(None)
    return dates.to_numpy().astype("datetime64[ns]")
