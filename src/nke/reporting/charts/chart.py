"""What a chart is: panels of Plotly's data and layout, a choice of what to show, and a slider over times.

Colours are named by custom properties of the page, such as ``--law``, so that they suit light and dark. Text of the
user is escaped here, since Plotly takes some HTML for formatting.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from html import escape
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

DIGITS = 5  # significant ones, of every number on the page

Trace = dict[str, Any]


@dataclass(frozen=True)
class Panel:
    """One plot.

    Attributes:
        data: Traces of Plotly.
        layout: Layout of Plotly, beside what all plots share.
        frames: For each place of the slider, traces that are added there.
    """

    data: list[Trace]
    layout: dict[str, Any] = field(default_factory=dict)
    frames: list[list[Trace]] = field(default_factory=list)


@dataclass(frozen=True)
class Choice:
    """What is shown at once: the panels for a coordinate, or for a pair of them.

    Attributes:
        label: Plain text in the list of choices.
        panels: The plots.
    """

    label: str
    panels: list[Panel]


@dataclass(frozen=True)
class Chart:
    """A figure of the report.

    Attributes:
        name: By which the page finds it.
        title: What is shown.
        caption: How to read it.
        choices: What may be chosen, at least one.
        chooser: What is chosen, such as "coordinates".
        slider: Words for each place of the slider; none where there is none.
    """

    name: str
    title: str
    caption: str
    choices: list[Choice]
    chooser: str = "coordinate"
    slider: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Gives the chart as plain values, ready for JSON."""
        return asdict(self)


def numbers(values: ArrayLike) -> list[Any]:
    """Rounds numbers and makes None of what is not finite, as JSON wants it; dates become text.

    Args:
        values: In any shape.

    Returns:
        Lists of the same shape.

    Example:
        >>> from nke.reporting.charts.chart import numbers
        >>> numbers([1.23456789, np.nan])
        [1.2346, None]
    """
    values = np.asarray(values)
    if values.dtype.kind == "M":
        return np.datetime_as_string(values.astype("datetime64[s]")).tolist()
    if values.ndim > 1:
        return [numbers(row) for row in values]
    return [float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None for value in values.tolist()]


def text(words: str) -> str:
    """Escapes text for Plotly, which reads some HTML in titles and names."""
    return escape(words, quote=False)


def line(x: ArrayLike, y: ArrayLike, name: str = "", colour: str = "--law", **more: Any) -> Trace:
    """A line; without a name it is not in the legend."""
    style = {"color": colour, "width": more.pop("width", 2)} | ({"dash": more.pop("dash")} if "dash" in more else {})
    return {
        "type": "scatter", "mode": "lines", "x": numbers(x), "y": numbers(y), "line": style, **_named(name), **more,
    }  # fmt: skip


def lines(parts: Sequence[tuple[ArrayLike, ArrayLike]], name: str = "", colour: str = "--law", **more: Any) -> Trace:
    """Many lines as one trace, with gaps between them."""
    found = line([], [], name, colour, hoverinfo="skip", **more)
    found["x"] = [value for x, _ in parts for value in [*numbers(x), None]]
    found["y"] = [value for _, y in parts for value in [*numbers(y), None]]
    return found


def band(x: ArrayLike, low: ArrayLike, high: ArrayLike, name: str = "", colour: str = "--law-band") -> list[Trace]:
    """The area between two lines."""
    edge = {"width": 0, "hoverinfo": "skip"}
    return [
        line(x, low, "", colour, **edge),
        line(x, high, name, colour, fill="tonexty", fillcolor=colour, **edge),
    ]


def dots(x: ArrayLike, y: ArrayLike, name: str = "", error: ArrayLike | None = None, **more: Any) -> Trace:
    """Points, with standard errors if there are any."""
    found = {
        "type": "scatter", "mode": "markers", "x": numbers(x), "y": numbers(y),
        "marker": {"color": "--recorded", "size": 6}, **_named(name), **more,
    }  # fmt: skip
    if error is not None:
        found["error_y"] = {"type": "data", "array": numbers(error), "color": "--recorded", "thickness": 1, "width": 0}
    return found


def steps(edges: ArrayLike, heights: ArrayLike, name: str, colour: str, **more: Any) -> Trace:
    """A histogram as an outline."""
    heights = np.asarray(heights)
    return line(edges, np.append(heights, heights[-1]), name, colour, **more) | {
        "line": {"color": colour, "width": more.get("width", 2), "shape": "hv"}
    }


def filled_steps(edges: ArrayLike, heights: ArrayLike) -> Trace:
    """A histogram of recorded numbers as an area."""
    return steps(edges, heights, "recorded", "--recorded", fill="tozeroy", fillcolor="--recorded-area")


def cloud(x: ArrayLike, y: ArrayLike) -> Trace:
    """The data behind everything else."""
    return {
        "type": "scatter", "mode": "markers", "x": numbers(x), "y": numbers(y), "hoverinfo": "skip",
        "marker": {"color": "--cloud", "size": 3}, **_named(""),
    }  # fmt: skip


def axes(x: str, y: str, title: str = "", **more: Mapping[str, Any]) -> dict[str, Any]:
    """The layout of a panel: titles of its axes, and a title above.

    Args:
        x: Plain text at the axis across.
        y: Plain text at the axis upwards.
        title: Plain text above.
        **more: Further properties of ``xaxis`` and ``yaxis``.

    Returns:
        Layout of Plotly.
    """
    found: dict[str, Any] = {
        "xaxis": {"title": {"text": text(x)}} | dict(more.get("xaxis", {})),
        "yaxis": {"title": {"text": text(y)}} | dict(more.get("yaxis", {})),
    }
    return found | ({"title": {"text": text(title)}} if title else {})


def _named(name: str) -> dict[str, Any]:
    return {"name": text(name), "showlegend": bool(name)} if name else {"name": "", "showlegend": False}
