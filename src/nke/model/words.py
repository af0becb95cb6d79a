"""A law in words: what ``print(model)`` shows, and the parts that ``FitResult.summary`` shares with it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from nke.data.transforms import Log, Logit, Periodic
from nke.model.coefficients import Coefficients, same

if TYPE_CHECKING:
    from nke.model.model import Model

Row = tuple[str, str]  # a topic and its words
MOST_COORDINATES = 4  # that tables and lines show
MOST_COLUMNS = 7  # of a table that shows every coordinate's drift and volatility in every row
MOST_LETTERS = 8  # of a name that is a part of a heading
LEAST_CORRELATION = 0.02  # that is worth a word
LEAST_SHIFT = 0.01  # of the drift, by which jumps must move the mean to be told
DAYS_A_YEAR = {"d": 365.25, "trading day": 252.0}  # to quote a volatility per year, by the unit of time
SPOKEN = {"d": "day", "h": "hour", "min": "minute", "s": "second", "y": "year"}


def describe(model: "Model") -> list[str]:
    """Describes a law for a reader who knows the field and not this library.

    Args:
        model: The law.

    Returns:
        Its lines: coordinates, noise, jumps, total drift, and a table of what depends on the state.
    """
    found = model.coefficients()
    rows = [("law", title(model)), *column_rows(model), *noise_rows(found), *jump_rows(found), *shift_rows(found)]
    return [*(f"{topic:<14}{words}" for topic, words in rows), *(f"  {line}" for line in table(found))]


def title(model: "Model") -> str:
    """Says what the law is of and what it is made of."""
    names = ", ".join(f"{n} [{u}]" if u else n for n, u in zip(model.names, model.units, strict=True))
    parts = "drift, diffusion and jumps" if model.has_jumps else "drift and diffusion, no jumps,"
    unit = f" {model.unit_of_time}" if model.unit_of_time else ""
    return f"{parts} of {names}; step {model.step:g}{unit}"


def column_rows(model: "Model") -> Iterator[Row]:
    """Says which columns were learned as something else."""
    words = []
    for name, transform in zip(model.names, model.coordinates.transforms, strict=True):
        if isinstance(transform, Log):
            words.append(f"log {name} (so {name} stays positive)")
        elif isinstance(transform, Logit):
            words.append(f"logit of {name} (so it stays between {transform.lower:g} and {transform.upper:g})")
        elif isinstance(transform, Periodic):
            words.append(f"{name} as an angle of period {figure(transform.period, 4)}")
    if words:
        yield "learned as", ", ".join(words)


def noise_rows(found: Coefficients, errors: Mapping[int, float] | None = None) -> Iterator[Row]:
    """Says how strong the noise is: its standard deviation after a unit of time, coordinate by coordinate.

    Args:
        found: The coefficients.
        errors: Relative standard errors of the volatilities that have one.

    Yields:
        A topic and its words.
    """
    errors = errors or {}
    for k, i in enumerate(found.noisy[:MOST_COORDINATES]):
        yield "" if k else "volatility", f"{_of(found, i, ': ')}{_volatility(found, i, errors.get(i, 0.0))}"
    correlations = list(_correlations(found))
    if correlations:
        yield "", f"correlation of {', '.join(correlations)}"


def jump_rows(
    found: Coefficients,
    rate_error: float = 0.0,
    errors: Sequence[tuple[Sequence[float], Sequence[float]]] = (),
) -> Iterator[Row]:
    """Says how often it jumps and how far, component by component, in the middle of the data.

    Args:
        found: The coefficients.
        rate_error: Standard error of the rate.
        errors: Standard errors of mean and deviation of each component, where they have any.

    Yields:
        A topic and its words.
    """
    if not found.has_jumps:
        return
    per = f"a {spoken(found.unit_of_time)}" if found.unit_of_time else "per unit time"
    rate = found.jump_rate[found.middle]
    often = f"{figure(rate)}{_error(rate_error)} {per}"
    if not same(found.jump_rate):
        often = f"{figure(found.jump_rate.min())} to {figure(found.jump_rate.max())} {per}"
    shown = [i for i in range(len(found.names)) if any(m[i] or s[i] for _, m, s in found.jumps)][:MOST_COORDINATES]
    middle = found.states[found.middle]
    place = ", ".join(f"{found.names[i]} {figure(middle[i])}" for i in shown)
    place = "" if found.jumps_are_the_same else f"; of the size, at {place},"
    parts = []
    for k, (weight, mean, deviation) in enumerate(found.jumps):
        more = errors[k] if errors else (np.zeros(len(mean)), np.zeros(len(mean)))
        sizes = [
            f"{_of(found, i)}mean {figure(mean[i])}{_error(more[0][i])}, sd {figure(deviation[i])}{_error(more[1][i])}"
            f"{_unit(found.units[i])}"
            for i in shown
        ]
        parts.append((f"{weight:.0%}: " if len(found.jumps) > 1 else "") + "; ".join(sizes))
    if len(parts) == 1:
        yield "jumps", f"{often}{place or ';'} {parts[0]}"
        return
    yield "jumps", f"{often}{place}"
    for words in parts:
        yield "", f"  {words}"


def shift_rows(found: Coefficients) -> Iterator[Row]:
    """Says by how much the jumps move the mean, where that is the same in every state."""
    if not found.has_jumps or not found.jumps_are_the_same:
        return
    shift = found.jump_rate[found.middle] * found.jump_mean[found.middle]
    parts = [
        f"{_of(found, i)}f {'+' if shift[i] > 0 else '−'} {figure(abs(shift[i]))}"
        f"{_unit(_per(found.units[i], found.unit_of_time))}"
        for i in range(min(len(found.names), MOST_COORDINATES))
        if abs(shift[i]) > LEAST_SHIFT * np.abs(found.drift[:, i]).max()
    ]
    if parts:
        yield "total drift", f"{'; '.join(parts)} (drift and rate × mean jump: the mean motion)"


def table(found: Coefficients) -> list[str]:
    """Writes what depends on the state as a small table over the range of the data.

    Args:
        found: The coefficients.

    Returns:
        The lines, the first one the heading.
    """
    wanted, several = range(len(found.names))[:MOST_COORDINATES], len(found.names) > 1
    if several and (lines := _table_of_all(found)):
        return lines
    shift = np.abs(found.total_drift - found.drift).max()
    total = bool(shift > LEAST_SHIFT * np.abs(found.drift).max())
    varying = [found.noise(i) == "state-dependent" for i in wanted]
    positive = [bool((found.states[:, i] > 0).all()) for i in wanted]
    share = any(v and p for v, p in zip(varying, positive, strict=True))
    often = found.has_jumps and not same(found.jump_rate)
    headings = ["state" if several else _label(found, 0), "drift f"] + ["total drift"] * total
    short = not several and len(found.names[0]) <= MOST_LETTERS
    headings += ["volatility g"] * any(varying) + [f"g/{found.names[0]}" if short else "g/state"] * share
    headings += [f"jumps a {spoken(found.unit_of_time)}" if found.unit_of_time else "jumps per time"] * often
    lines = [headings]
    for n, i in enumerate(found.along if (found.along >= 0).all() else np.zeros(len(found.states), int)):
        if i not in wanted:
            continue
        x, f, g = found.states[n, i], found.drift[n, i], found.volatility[n, i]
        cells = [f"{found.names[i]} {figure(x)}" if several else figure(x), figure(f)]
        cells += [figure(found.total_drift[n, i])] * total + [figure(g)] * any(varying)
        cells += [f"{figure(100 * g / x)} %" if positive[i] else ""] * share + [figure(found.jump_rate[n])] * often
        lines.append(cells)
    middle = ", ".join(f"{found.names[i]} {figure(found.states[found.middle, i])}" for i in wanted)
    return [f"along each coordinate, with the others at {middle}:"] * several + _aligned(lines)


def _table_of_all(found: Coefficients) -> list[str]:
    """What each coordinate does as each of them moves; nothing where that would be too wide."""
    names, shift = found.names, np.abs(found.total_drift - found.drift).max(axis=0)
    columns = [(f"f {name}", found.drift[:, i]) for i, name in enumerate(names)]
    columns += [
        (f"total {name}", found.total_drift[:, i])
        for i, name in enumerate(names)
        if shift[i] > LEAST_SHIFT * np.abs(found.drift[:, i]).max()
    ]
    columns += [
        (f"g {name}", found.volatility[:, i]) for i, name in enumerate(names) if found.noise(i) == "state-dependent"
    ]
    if found.has_jumps and not same(found.jump_rate):
        columns.append((f"jumps a {spoken(found.unit_of_time)}" if found.unit_of_time else "jumps", found.jump_rate))
    if len(columns) > MOST_COLUMNS or max(map(len, names)) > MOST_LETTERS or (found.along < 0).any():
        return []
    states = found.states[np.arange(len(found.along)), found.along]
    lines = [["state", *(heading for heading, _ in columns)]]
    for n, (i, x) in enumerate(zip(found.along, states, strict=True)):
        lines.append([f"{names[i]} {figure(x)}", *(figure(values[n]) for _, values in columns)])
    middle = ", ".join(f"{name} {figure(x)}" for name, x in zip(names, found.states[found.middle], strict=True))
    what = "drift f" + (", volatility g" if any(heading.startswith("g ") for heading, _ in columns) else "")
    return [f"{what} along each coordinate, with the others at {middle}:", *_aligned(lines)]


def _aligned(lines: list[list[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return ["   ".join(cell.rjust(w) for cell, w in zip(row, widths, strict=True)) for row in lines]


def figure(value: float, digits: int = 3) -> str:
    """Writes a number with some digits, without an exponent unless it is very large or small.

    Args:
        value: The number.
        digits: How many.

    Returns:
        The text, with a proper minus.

    Example:
        >>> [nke.model.words.figure(x) for x in (-1234.5, 0.04567, 1e-9, 0.0)]
        ['−1230', '0.0457', '1e-09', '0']
    """
    value = float(f"{value:.{digits}g}")
    if value == 0 or not np.isfinite(value):
        return f"{value + 0.0:g}"
    if 1e-4 <= abs(value) < 1e6:
        words = np.format_float_positional(abs(value), trim="-")
    else:
        words = f"{abs(value):.{digits}g}"
    return f"−{words}" if value < 0 else words


def spoken(unit_of_time: str) -> str:
    """Writes a unit of time as one says it."""
    return SPOKEN.get(unit_of_time, unit_of_time)


def per_time(unit: str, unit_of_time: str) -> str:
    """Writes the unit of a rate of change; empty where the unit of time is not known."""
    return f"{_one_word(unit) or '1'}/{_one_word(unit_of_time)}" if unit_of_time else ""


def _volatility(found: Coefficients, i: int, error: float) -> str:
    """How strong the noise of one coordinate is; with a relative standard error, if it has one."""
    name, kind, volatility, time = found.names[i], found.noise(i), found.volatility[:, i], found.unit_of_time
    unit = f"{found.units[i]} per √{spoken(time) or 'time'}".strip()
    if kind == "constant":
        return f"{figure(volatility[0])}{_error(error * volatility[0])} {unit}, the same in every state"
    if kind == "relative":
        share = float(100 * volatility[0] / found.states[0, i])
        days = DAYS_A_YEAR.get(time)
        year = "" if days is None else f" ({figure(share * np.sqrt(days))} % a year)"
        return f"{figure(share)}{_error(error * share)} % of {name} per √{spoken(time) or 'time'}{year}"
    # Along the coordinate with which it changes most; its own where that is one of them.
    spans = {
        j: np.ptp(volatility[found.along == j]) for j in sorted({*found.along.tolist()} - {-1}, key=lambda j: j != i)
    }
    along = max(spans, key=lambda j: spans[j]) if spans else i
    rows = np.flatnonzero(found.along == along) if spans else np.arange(len(volatility))
    states, volatility, by = found.states[rows, along], volatility[rows], found.names[along]
    if not ((np.diff(volatility) > 0).all() or (np.diff(volatility) < 0).all()):
        return f"between {figure(volatility.min())} and {figure(volatility.max())} {unit}, depends on the state"
    words = f"{figure(volatility[0])} at {by} {figure(states[0])}, {figure(volatility[-1])} at {figure(states[-1])}"
    if along == i and (states > 0).all():
        shares = 100 * volatility / states
        return f"{words} {unit} ({figure(shares[0])} % and {figure(shares[-1])} % of it)"
    return f"{words} {unit}"


def _correlations(found: Coefficients) -> Iterator[str]:
    a, volatility = found.diffusion[found.middle], found.volatility[found.middle]
    noisy = found.noisy[:MOST_COORDINATES]
    for j in noisy:
        for i in noisy[: noisy.index(j)]:
            value = a[i, j] / (volatility[i] * volatility[j]) if volatility[i] * volatility[j] > 0 else 0.0
            if abs(value) > LEAST_CORRELATION:
                yield f"{found.names[i]} and {found.names[j]} {figure(value, 2)}"


def _error(error: float) -> str:
    return f" ({figure(error, 1)})" if error else ""


def _per(unit: str, unit_of_time: str) -> str:
    """The unit of a speed, as one says it where states have none."""
    return per_time(unit, unit_of_time) if unit else f"a {spoken(unit_of_time)}" if unit_of_time else ""


def _one_word(unit: str) -> str:
    return f"({unit})" if any(sign in unit for sign in "/ ·*") else unit


def _unit(unit: str) -> str:
    return f" {unit}" if unit else ""


def _of(found: Coefficients, i: int, end: str = " ") -> str:
    return f"{found.names[i]}{end}" if len(found.names) > 1 else ""


def _label(found: Coefficients, i: int) -> str:
    return f"{found.names[i]} [{found.units[i]}]" if found.units[i] else found.names[i]
