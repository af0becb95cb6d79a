"""Dates and the numbers that stand for them: how recorded dates become times, and simulated times dates again."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64
from numpy.typing import ArrayLike

from nke.errors import InputError

Dates = np.ndarray  # of datetime64[ns]
SECONDS = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "week": 604800.0, "y": 365.25 * 86400.0}
SPELLED = {
    "milliseconds": "ms", "seconds": "s", "minutes": "min", "hours": "h", "days": "d", "day": "d", "weeks": "week",
    "years": "y", "year": "y", "hour": "h", "minute": "min", "second": "s",
}  # fmt: skip
SUITED = ("s", "min", "h", "d", "y")  # units that are chosen, the longest that steps are about as long as
CALENDARS = ("all", "trading")
TRADING_DAY = "trading day"


@dataclass(frozen=True, eq=False)
class Calendar:
    """What the times of trajectories are in dates.

    Attributes:
        origin: The date of time zero.
        unit: Of the times; "trading day" where observations are counted.
        days: Where observations are counted, their dates: that of time 0, 1, 2, …

    Example:
        >>> calendar = nke.data.Calendar(np.datetime64("2024-03-01", "ns"), "d")
        >>> calendar.dates([0.0, 2.5]).astype("datetime64[h]").tolist()[1].isoformat()
        '2024-03-03T12:00:00'
    """

    origin: np.datetime64
    unit: str
    days: Dates | None = None

    @classmethod
    def of(cls, dates: Dates, unit: str | None = None, calendar: str = "all") -> "Calendar":
        """Chooses how dates are counted.

        Args:
            dates: As they were recorded, ``datetime64``; NaT where one is missing.
            unit: Of the times, such as "d" or "days"; None: the longest of second, minute, hour, day and year that the
                typical step is at least about as long as.
            calendar: "all" counts time; "trading" counts observations, so that a weekend is one step.

        Returns:
            The calendar, whose time zero is the first date.

        Raises:
            InputError: If unit or calendar are not known, or there is no date.

        Example:
            >>> daily = np.array(["2024-03-01", "2024-03-04", "2024-03-05"], "datetime64[ns]")
            >>> nke.data.Calendar.of(daily).times(daily).tolist()
            [0.0, 3.0, 4.0]
            >>> nke.data.Calendar.of(daily, calendar="trading").times(daily).tolist()
            [0.0, 1.0, 2.0]
        """
        seen = np.unique(dates[~np.isnat(dates)])
        require_calendar(calendar)
        if not len(seen):
            raise InputError("expected dates, but every one of them is missing")
        if calendar != "all" and unit is not None:
            raise InputError(
                f"expected either a unit of time or calendar={calendar!r}, which counts days; leave one out"
            )
        if calendar == "trading":
            return cls(seen[0], TRADING_DAY, seen)
        return cls(seen[0], _suited(seen) if unit is None else known_unit(unit))

    def times(self, dates: Dates) -> Float64[np.ndarray, "..."]:
        """Counts from the origin; NaN where a date is missing.

        Args:
            dates: As ``datetime64``.

        Returns:
            The times.
        """
        missing = np.isnat(dates)
        if self.days is not None:
            found = np.searchsorted(self.days, dates).astype(np.float64)
        else:
            found = (dates - self.origin) / np.timedelta64(1, "ns") / (1e9 * SECONDS[self.unit])
        return np.where(missing, np.nan, found)

    def dates(self, times: ArrayLike) -> Dates:
        """Turns times back into dates; NaT where a time is NaN.

        Args:
            times: Any shape.

        Returns:
            Dates to the nearest second, or millisecond where times are counted in less; beyond the recorded trading
            days, days from Monday to Friday are counted.
        """
        counted = np.asarray(times, np.float64)
        missing = np.isnan(counted)
        counted = np.where(missing, 0.0, counted)
        if self.days is not None:
            last = len(self.days) - 1
            place = np.clip(np.round(counted), 0, last).astype(int)
            beyond = np.round(counted).astype(int) - place
            found = self.days[place]
            if beyond.any():
                day = found.astype("datetime64[D]")
                further = np.busday_offset(day, beyond, roll="forward").astype("datetime64[ns]") + (found - day)
                found = np.where(beyond == 0, found, further)
        else:
            kind, per = ("ms", 1e3) if self.unit in ("ms", "s") else ("s", 1.0)
            found = self.origin + np.round(counted * SECONDS[self.unit] * per).astype(f"timedelta64[{kind}]")
        return np.where(missing, np.datetime64("NaT", "ns"), found.astype("datetime64[ns]"))


def require_calendar(calendar: str) -> None:
    """Refuses a calendar that is not known.

    Args:
        calendar: Its name.

    Raises:
        InputError: If there is no such calendar.
    """
    if calendar not in CALENDARS:
        raise InputError(f"expected calendar {' or '.join(map(repr, CALENDARS))}, but got {calendar!r}")


def known_unit(unit: str) -> str:
    """Finds the short name of a unit of time that dates can be counted in.

    Args:
        unit: Such as "days" or "h".

    Returns:
        The short name.

    Raises:
        InputError: If there is no such unit.
    """
    short = SPELLED.get(unit.lower(), unit)
    if short not in SECONDS:
        raise InputError(f"expected a unit of time for dates, one of {', '.join(SECONDS)}, but got {unit!r}")
    return short


def _suited(dates: Dates) -> str:
    """The longest unit that the typical step is at least about as long as."""
    if len(dates) < 2:
        return "d"
    step = float(np.median(np.diff(dates)) / np.timedelta64(1, "s"))
    return next((unit for unit in reversed(SUITED) if step >= 0.9 * SECONDS[unit]), "s")
