"""Names, units and times as they stand in charts: short enough, and kept apart where they are read from the right."""

import unicodedata
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from nke.data import Trajectories
from nke.data.calendar import TRADING_DAY
from nke.model import Model
from nke.model.words import SPOKEN, spoken
from nke.plots.style import clipped, one_word, per_time, squared

START, END = "\u2068", "\u2069"  # first strong isolate: text inside does not turn what stands around it


@dataclass(frozen=True)
class Labels:
    """What stands on axes and in lists of choices, as plain text.

    Attributes:
        model: The law with short names.
        data: Recorded trajectories, which know their dates.

    Example:
        >>> from nke.reporting.labels import Labels
        >>> Labels.of(model, data).axis(0)
        'x'
    """

    model: Model
    data: Trajectories

    @classmethod
    def of(cls, model: Model, data: Trajectories) -> "Labels":
        """Shortens the names of a law."""
        names, units = shortened(model.names), tuple(isolated(clipped(unit)) for unit in model.units)
        return cls(replace(model, names=names, units=units, unit_of_time=clipped(model.unit_of_time)), data)

    def name(self, i: int) -> str:
        """Name of a coordinate."""
        return self.model.names[i]

    def axis(self, i: int) -> str:
        """Name and unit of a coordinate."""
        return with_unit(self.name(i), self.model.units[i])

    def pair(self, i: int, j: int) -> str:
        """Names of two coordinates."""
        return f"{self.name(i)} and {self.name(j)}"

    def along(self, i: int, j: int) -> str:
        """One coordinate as a function of another."""
        return self.name(i) if self.model.dimension == 1 else f"{self.name(i)} along {self.name(j)}"

    def drift(self, i: int) -> str:
        """Drift of a coordinate with its unit."""
        return with_unit(f"drift of {self.name(i)}", per_time(self.model, self.model.units[i]))

    def diffusion(self, i: int) -> str:
        """Diffusion of a coordinate with its unit."""
        unit = self.model.units[i]
        return with_unit(f"diffusion of {self.name(i)}", per_time(self.model, squared(unit) if unit else ""))

    def rate(self, words: str) -> str:
        """A rate with its unit."""
        return with_unit(words, per_time(self.model, ""))

    def density(self, i: int) -> str:
        """A density over a coordinate with its unit."""
        unit = self.model.units[i]
        return with_unit("probability density", f"1/{one_word(unit)}" if unit else "")

    def time(self, words: str = "time") -> str:
        """Time with its unit; empty where dates stand on the axis."""
        return "" if self.data.calendar is not None else with_unit(words, self.model.unit_of_time)

    def dates(self, times: ArrayLike) -> Any:
        """Times as dates, where they are some."""
        return np.asarray(times) if self.data.calendar is None else self.data.calendar.dates(times)

    def when(self, time: float, since: float) -> str:
        """A time in words: how long after the start, and the date if there is one."""
        unit = spoken(self.model.unit_of_time)
        after = f"{time - since:.4g} {unit}{'s' if unit in (*SPOKEN.values(), TRADING_DAY) else ''}".rstrip()
        if self.data.calendar is None:
            return after
        date = str(np.datetime_as_string(self.data.calendar.dates(time), unit="m"))
        date = date.replace("T", " ").removesuffix(" 00:00")
        return f"{date} ({after} later)"


def shortened(names: tuple[str, ...]) -> tuple[str, ...]:
    """Cuts names to what fits on an axis; those that become the same are numbered.

    Args:
        names: Of columns.

    Returns:
        As many different names.

    Example:
        >>> from nke.reporting.labels import shortened
        >>> shortened(("x", "a name that is much too long to stand beside an axis"))
        ('x', 'a name that is much…')
    """
    short = [isolated(clipped(name)) for name in names]
    return tuple(name if short.count(name) == 1 else f"{name} ({k + 1})" for k, name in enumerate(short))


def with_unit(name: str, unit: str) -> str:
    """A name with its unit in brackets, if it has one."""
    return f"{name} [{unit}]" if unit else name


def isolated(words: str) -> str:
    """Words that are read from the right, set apart from those around them."""
    turned = any(unicodedata.bidirectional(c) in ("R", "AL", "RLE", "RLO", "RLI", "LRO", "LRE") for c in words)
    return f"{START}{words}{END}" if turned else words
