"""Reading a configuration from a file: each entry by its name, its type and its bounds; nothing is guessed."""

import math
from collections.abc import Callable
from typing import Any

from nke.errors import DamagedFileError, InputError

MISSING = object()


class Entries:
    """One object of a configuration, whose entries are taken one by one; whatever is left at the end is refused.

    Args:
        values: What a file says.
        place: Where it stands in the file, for errors.

    Raises:
        DamagedFileError: If it is no object; likewise by all methods, where an entry is not what it must be.

    Example:
        >>> from nke.model.entries import Entries
        >>> Entries({"width": 65536}, "generator.drift").whole("width", 1, 4096)
        Traceback (most recent call last):
        nke.errors.DamagedFileError: expected generator.drift.width as a whole number from 1 to 4096, but got 65536
    """

    def __init__(self, values: Any, place: str = ""):
        self.place = place
        if not isinstance(values, dict):
            raise self._refusal("", "an object", values)
        self._left = dict(values)

    def _take(self, name: str, default: Any) -> Any:
        if name not in self._left and default is MISSING:
            raise DamagedFileError(f"expected {self._named(name)}, but it is missing")
        return self._left.pop(name, default)

    def _named(self, name: str) -> str:
        return ".".join(part for part in (self.place, name) if part) or "the configuration"

    def _refusal(self, name: str, expected: str, value: Any) -> DamagedFileError:
        return DamagedFileError(f"expected {self._named(name)} as {expected}, but got {shown(value)}")

    def _checked(self, name: str, default: Any, right: Callable[[Any], bool], expected: str) -> Any:
        value = self._take(name, default)
        if value is default and default is not MISSING:
            return value
        if not right(value):
            raise self._refusal(name, expected, value)
        return value

    def whole(self, name: str, least: int, most: int, default: Any = MISSING) -> int:
        """Takes a whole number between two bounds."""
        return self._checked(
            name, default, lambda v: is_whole(v, least, most), f"a whole number from {least} to {most}"
        )

    def number(self, name: str, positive: bool = False, default: Any = MISSING) -> float:
        """Takes a finite number, which may have to be positive."""
        right = lambda v: is_number(v) and (v > 0 or not positive)  # noqa: E731
        return self._checked(name, default, right, f"a {'positive ' * positive}finite number")

    def text(self, name: str, default: Any = MISSING) -> str:
        """Takes a text that can be printed and written."""
        return self._checked(name, default, is_text, "a text")

    def texts(self, name: str) -> list[str]:
        """Takes a list of texts."""
        return self._checked(name, MISSING, lambda v: isinstance(v, list) and all(map(is_text, v)), "a list of texts")

    def flag(self, name: str) -> bool:
        """Takes true or false."""
        return self._checked(name, MISSING, lambda v: isinstance(v, bool), "true or false")

    def indices(self, name: str, below: int, default: Any = MISSING, different: bool = True) -> list[int]:
        """Takes a list of whole numbers from 0 to a bound, which is left out; they may have to be different."""
        right = lambda v: (  # noqa: E731
            isinstance(v, list)
            and all(is_whole(i, 0, below - 1) for i in v)
            and not (different and len(set(v)) < len(v))
        )
        return self._checked(name, default, right, f"a list of {'different ' * different}whole numbers below {below}")

    def pairs(self, name: str, right: Callable[[Any, Any], bool], expected: str, default: Any = MISSING) -> list[list]:
        """Takes a list of pairs, each of which a function accepts."""
        return self.rows(name, 2, right, expected, default)

    def rows(
        self, name: str, length: int, right: Callable[..., Any], expected: str, default: Any = MISSING
    ) -> list[list]:
        """Takes a list of lists of one length, each of which a function accepts."""

        def fits(value: Any) -> bool:
            lists = isinstance(value, list) and all(isinstance(row, list) and len(row) == length for row in value)
            return lists and all(right(*row) for row in value)

        return self._checked(name, default, fits, f"a list of {expected}")

    def numbers(self, name: str, count: int) -> list[float]:
        """Takes a list of finite numbers, of a given length."""
        right = lambda v: isinstance(v, list) and len(v) == count and all(map(is_number, v))  # noqa: E731
        return self._checked(name, MISSING, right, f"a list of {count} finite numbers")

    def rising(self, name: str, rows: int, count: int) -> list[list[float]]:
        """Takes rows of finite numbers, none of which falls within its row."""

        def fits(value: Any) -> bool:
            lists = isinstance(value, list) and len(value) == rows and all(isinstance(row, list) for row in value)
            return lists and all(len(row) == count and all(map(is_number, row)) and sorted(row) == row for row in value)

        return self._checked(name, MISSING, fits, f"{rows} lists of {count} numbers that do not fall")

    def word(self, name: str, known: Any, role: str) -> str:
        """Takes a word that must be known; an unknown one may be of a newer version."""
        word = self.text(name)
        if word not in known:
            words = ", ".join(map(repr, sorted(known)))
            raise InputError(
                f"expected a {role} of kind {words}, but got {shown(word)}; install a newer version of nke"
            )
        return word

    def part(self, name: str) -> "Entries":
        """Takes an object within this one."""
        return Entries(self._take(name, MISSING), self._named(name))

    def parts(self, name: str) -> list["Entries"]:
        """Takes a list of objects."""
        values = self._checked(name, MISSING, lambda v: isinstance(v, list), "a list")
        return [Entries(value, f"{self._named(name)}[{i}]") for i, value in enumerate(values)]

    def has(self, name: str, needed: bool = False) -> bool:
        """Tells whether there is an entry that is not null; null is taken, and may have to be written."""
        if needed and name not in self._left:
            raise DamagedFileError(f"expected {self._named(name)}, but it is missing")
        if self._left.get(name) is None:
            self._left.pop(name, None)
            return False
        return True

    def end(self) -> None:
        """Refuses entries that nobody took."""
        for name, value in self._left.items():
            place = f" in {self.place}" if self.place else ""
            raise DamagedFileError(f"expected no entry {shown(name)}{place}, but got {shown(value)}")


def is_whole(value: Any, least: int, most: int) -> bool:
    """Whether a value is a whole number between two bounds; true and false are none."""
    return type(value) is int and least <= value <= most


def is_number(value: Any) -> bool:
    """Whether a value is a finite number; true and false are none."""
    try:
        return type(value) in (int, float) and math.isfinite(value)
    except OverflowError:
        return False


def is_text(value: Any) -> bool:
    """Whether a value is a text that can be written as UTF-8."""
    return isinstance(value, str) and not any("\ud800" <= letter <= "\udfff" for letter in value)


def shown(value: Any) -> str:
    """A value in an error: cut where it is long."""
    try:
        words = repr(value)
    except (RecursionError, ValueError):  # a number of more digits than Python prints
        return f"a {type(value).__name__} that cannot be shown"
    return words if len(words) <= 60 else f"{words[:57]}..."
