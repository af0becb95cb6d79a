"""Whether values from a file are of the types that a dataclass states."""

import types
import typing
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

MOST_LEVELS = 16  # of values within values; evidence has three


def conforms(value: Any, kind: Any, levels: int = MOST_LEVELS) -> bool:
    """Tells whether a value is what an annotation says.

    Args:
        value: A value that was built from a file, dataclasses included.
        kind: Its annotation; whatever is not known here is no reason to refuse.
        levels: How many values may be within each other.

    Returns:
        Whether it is.

    Example:
        >>> from nke.fitting.conformity import conforms
        >>> conforms(("a", "b"), tuple[str, ...]), conforms((1, "b"), tuple[str, ...]), conforms(None, float | None)
        (True, False, True)
    """
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if levels == 0:
        return False
    if kind in (Any, object):
        return not isinstance(value, Mapping | list | tuple) or all(
            conforms(part, Any, levels - 1) for part in (value.values() if isinstance(value, Mapping) else value)
        )
    if origin in (typing.Union, types.UnionType):
        return any(conforms(value, each, levels) for each in inner)
    if origin is tuple:
        several = [inner[0]] * len(value) if len(inner) == 2 and inner[1] is ... and isinstance(value, tuple) else inner
        return (
            isinstance(value, tuple)
            and len(value) == len(several)
            and all(conforms(part, each, levels - 1) for part, each in zip(value, several, strict=True))
        )
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return isinstance(value, Mapping) and all(
            conforms(name, inner[0], levels - 1) and conforms(part, inner[1], levels - 1)
            for name, part in value.items()
        )
    if kind is float:
        return type(value) in (int, float)
    if kind is int:
        return type(value) is int
    if not isinstance(kind, type):
        return True
    return isinstance(value, kind) and _fields_conform(value, levels)


def _fields_conform(value: Any, levels: int) -> bool:
    """Whether the fields of a dataclass or a named tuple are what they state."""
    named = is_dataclass(value) or hasattr(value, "_fields")
    if not named:
        return True
    hints = typing.get_type_hints(type(value))
    names = [field.name for field in fields(value)] if is_dataclass(value) else value._fields
    return all(conforms(getattr(value, name), hints[name], levels - 1) for name in names)
