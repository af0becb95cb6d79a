"""Checks of a system's parameters, made once at construction."""

import math
from numbers import Integral, Real
from typing import Any

from nke.errors import InputError

MOST = 10**7  # coordinates or particles: more fits no memory


def require_numbers(system: Any, *names: str, above: float = -math.inf, at_least: float = -math.inf):
    """Refuses fields that are not finite numbers in the range; stores the others as floats."""
    for name in names:
        value = getattr(system, name)
        if not isinstance(value, Real) or not math.isfinite(value) or value <= above or value < at_least:
            raise InputError(
                f"expected {_label(system, name)} to be a finite number{_range(above, at_least)}, "
                f"but got {value!r}; pass {name}=<such a number>"
            )
        object.__setattr__(system, name, float(value))


def require_dimension(system: Any):
    """Refuses a dimension that is not a whole number ≥ 1."""
    require_count(system, "dimension", "the number of coordinates of one state")


def require_count(system: Any, name: str, meaning: str):
    """Refuses a field that is not a whole number ≥ 1; stores it as an int."""
    value = getattr(system, name)
    if not isinstance(value, Integral) or not 1 <= int(value) <= MOST:
        limit = "≥ 1" if not isinstance(value, Integral) or value < 1 else f"≤ {MOST}"
        raise InputError(
            f"expected {_label(system, name)} to be a whole number {limit}, but got {value!r:.40}; pass {meaning}"
        )
    object.__setattr__(system, name, int(value))


def require_grid(system: Any):
    """Refuses a recording grid, ``duration`` and ``interval``, that is not a whole number of intervals."""
    require_numbers(system, "duration", "interval", above=0)
    steps = system.duration / system.interval
    if round(steps) < 1 or abs(steps - round(steps)) > 1e-9 * steps:
        raise InputError(
            f"expected {_label(system, 'duration')} to be a whole number of intervals, but {system.duration:g} is "
            f"{steps:g} times {system.interval:g}; change one of them"
        )


def _label(system: Any, name: str) -> str:
    """Names a field in an error, as in "rate of DoubleWell"."""
    return f"{name} of {type(system).__name__}"


def _range(above: float, at_least: float) -> str:
    """Words for the allowed range in an error."""
    if above > -math.inf:
        return f" > {above:g}"
    return f" ≥ {at_least:g}" if at_least > -math.inf else ""
