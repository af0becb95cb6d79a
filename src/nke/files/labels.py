"""Headings of columns: a name with its unit in brackets, as in ``height [mm]``; for times also as in ``t_hours``."""

import re

HEADING = re.compile(r"^(?P<name>.*\S)\s*\[(?P<unit>[^\[\]]*)\]$", re.DOTALL)
UNITS_OF_TIME = {
    word: words.split()[0]
    for words in (
        "ns nanoseconds",
        "µs us microseconds",
        "ms msec milliseconds",
        "s sec secs second seconds",
        "min mins minute minutes",
        "h hr hrs hour hours",
        "d day days",
        "week weeks",
        "month months",
        "y yr yrs year years",
        "frame frames",
    )
    for word in words.split()
}


def split_heading(heading: str) -> tuple[str, str]:
    """Splits a heading into name and unit.

    >>> split_heading("height [mm]"), split_heading("height")
    (('height', 'mm'), ('height', ''))
    """
    found = HEADING.match(heading.strip())
    return (found["name"], found["unit"].strip()) if found else (heading.strip(), "")


def split_time_heading(heading: str) -> tuple[str, str]:
    """Splits the heading of a column of times into name and unit; the unit may also be its name or the last word of it.

    >>> [split_time_heading(h) for h in ("t [h]", "t_hours", "time (ms)", "days", "t_0", "s")]
    [('t', 'h'), ('t', 'h'), ('time', 'ms'), ('days', 'd'), ('t_0', ''), ('s', '')]
    """
    name, unit = split_heading(heading)
    *before, last = re.findall(r"[^\W_]+", name) or [""]
    found = UNITS_OF_TIME.get(last.lower(), "")
    if unit or not found or len(name) == 1:  # one letter is a symbol
        return name, unit
    return "_".join(before) or name, found


def heading(name: str, unit: str) -> str:
    """Makes the heading that ``split_heading`` takes apart; a name that itself ends in brackets gets empty ones."""
    return f"{name} [{unit}]" if unit or HEADING.match(name) else name
