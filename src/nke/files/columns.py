"""Which columns of a table are trajectory, time and states: as told, otherwise by their names."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from nke.data.calendar import require_calendar
from nke.errors import InputError
from nke.files.labels import split_heading, split_time_heading
from nke.progress import Progress, silent

# Names in the order in which they are looked for, in upper or lower case.
TRAJECTORY_NAMES = [
    "trajectory", "traj", "trajectory_id", "track", "track_id", "path", "path_id", "run", "run_id", "particle",
    "particle_id", "cell", "cell_id", "trial", "episode", "replicate", "sample", "subject", "series", "id",
]  # fmt: skip
TIME_NAMES = [
    "time", "t", "times", "timestamp", "datetime", "date", "dates", "observation_date", "datum", "seconds", "sec",
    "minutes", "hours", "days", "day", "weeks", "week", "years", "year", "month", "frame", "zeit", "index",
]  # fmt: skip
DATE_NAMES = ["date", "dates", "day", "observation_date", "datum"]  # beside which a column of times of day may stand
CLOCK_NAMES = ["time", "times", "time_of_day", "clock", "hour", "hours", "zeit", "uhrzeit"]
COUNTERS = {"index", "frame", "row", "row_number", "record", "number", "no", "n", "#"}  # of rows, where they count


@dataclass(frozen=True)
class Choice:
    """The options of ``nke.read``; None leaves it to the names."""

    trajectory: str | None = None
    time: str | None = None
    states: Sequence[str] | None = None
    step: float | None = None
    wide: bool | None = None
    delimiter: str | None = None
    decimal: str = "."
    time_unit: str | None = None
    calendar: str = "all"
    dates: str | None = None
    progress: Progress = silent

    def __post_init__(self):
        require_calendar(self.calendar)


@dataclass(frozen=True)
class Columns:
    """Positions of the columns in a table; no trajectory column: one trajectory; no time column: a step.

    ``date_and_clock`` are two columns that by their names may be dates and times of day, neither of them a state.
    """

    trajectory: int | None
    time: int | None
    states: tuple[int, ...]
    date_and_clock: tuple[int, ...] = ()


def choose(headings: Sequence[str], choice: Choice, where: str) -> Columns:
    """Chooses the columns of the table that errors call ``where``."""
    names = [split_heading(h)[0] for h in headings]
    _refuse_duplicates(names, where)
    trajectory = _column(names, choice.trajectory, _guess(names, TRAJECTORY_NAMES), "trajectory", where)
    clock = _guess(names, TIME_NAMES)
    clock = _guess([_without_unit(name) for name in names], TIME_NAMES) if clock is None else clock
    time = None if choice.step is not None else _column(names, choice.time, clock, "time", where)
    if choice.step is not None and choice.time is not None:
        raise InputError(
            f"{where}: expected a time column or a step, but got both: {choice.time!r} and {choice.step:g}; drop one"
        )
    if time is None and choice.step is None:
        raise InputError(
            f"{where}: expected a column of times, such as 'time' or 't', among {_listed(names)}; "
            "name it with time= (--time), or give the time between rows with step= (--step)"
        )
    # With a step no column is read as times; a recorded one is no state either.
    taken, pair = {trajectory, time if choice.step is None else clock}, _date_and_clock(names, choice)
    if choice.states is None:
        states = tuple(i for i, name in enumerate(names) if i not in taken and name)
        if not (left := tuple(i for i in states if i not in pair)):
            pair = ()
        states = left or states
    else:
        at = {name: i for i, name in reversed(list(enumerate(names)))}
        named = [(name, at.get(split_heading(name)[0])) for name in choice.states]
        states = tuple(_named(names, name, "states", where) if i is None else i for name, i in named)
    if not states:
        raise InputError(f"{where}: expected columns of states besides {_listed(names)}; there are none")
    return Columns(trajectory, time, states, () if {trajectory, *states} & {*pair} else pair)


def _date_and_clock(names: list[str], choice: Choice) -> tuple[int, ...]:
    """Two columns that may together be the times, unless the user named one; empty where there are none."""
    pair = (_guess(names, DATE_NAMES), _guess(names, CLOCK_NAMES))
    return () if choice.time is not None else tuple(i for i in pair if i is not None) if None not in pair else ()


def _column(names: list[str], told: str | None, guess: int | None, role: str, where: str) -> int | None:
    return guess if told is None else _named(names, told, role, where)


def _guess(names: list[str], usual: list[str]) -> int | None:
    plain = [name.lower().replace(" ", "_") for name in names]
    return next((plain.index(name) for name in usual if name in plain), None)


def _without_unit(name: str) -> str:
    """Takes the unit off: ``t_hours`` and ``time_ms`` are times, but ``t_s`` and ``t_min`` may be temperatures."""
    return name if re.fullmatch(r"t[_ ]\w{1,3}", name.lower()) else split_time_heading(name)[0]


def _named(names: list[str], told: str, role: str, where: str) -> int:
    wanted = split_heading(told)[0]
    if wanted not in names:
        raise InputError(
            f"{where}: expected a column {wanted!r} for the {role}, but the columns are {_listed(names)}; "
            f"choose one of them with {role}= (--{role})"
        )
    return names.index(wanted)


def _refuse_duplicates(names: list[str], where: str) -> None:
    first: dict[str, int] = {}
    for i, name in enumerate(names):
        if name and first.setdefault(name, i) < i:
            raise InputError(
                f"{where}: expected different names, but columns {first[name] + 1} and {i + 1} are both "
                f"called {name!r}; rename one"
            )


def _listed(names: list[str]) -> str:
    shown = [name for name in names if name]
    return ", ".join(shown[:8]) + (f", … ({len(shown)} in all)" if len(shown) > 8 else "")
