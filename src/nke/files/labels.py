"""Headings of columns: a name with its unit in brackets, as in ``height [mm]``."""

import re

HEADING = re.compile(r"^(?P<name>.*\S)\s*\[(?P<unit>[^\[\]]*)\]$", re.DOTALL)


def split_heading(heading: str) -> tuple[str, str]:
    """Name and unit.

    >>> split_heading("height [mm]"), split_heading("height")
    (('height', 'mm'), ('height', ''))
    """
    found = HEADING.match(heading.strip())
    return (found["name"], found["unit"].strip()) if found else (heading.strip(), "")


def heading(name: str, unit: str) -> str:
    """The heading that ``split_heading`` takes apart; a name that itself ends in brackets gets empty ones."""
    return f"{name} [{unit}]" if unit or HEADING.match(name) else name
