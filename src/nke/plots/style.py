"""Figures, colours and labels that all plots share."""

import unicodedata
from typing import Any

import numpy as np

from nke.errors import MissingPackageError
from nke.model import Model

# matplotlib is imported only when something is drawn.
Axes = Any
Canvas = Any  # Figure or SubFigure
AxesArray = np.ndarray

MOST_LETTERS = 20  # of a name on an axis
RECORDED, LEARNED, FAINT = "black", "tab:orange", "0.85"


def grid(figure: Canvas | None, rows: int, columns: int, panel: float = 3.4, **options: Any) -> AxesArray:
    """Makes axes (rows, columns) in the figure, or in a new one; ``panel`` is the width of one in inches."""
    if figure is None:
        try:
            import matplotlib.pyplot as plt
        except ModuleNotFoundError as error:
            raise MissingPackageError("plots need matplotlib; install it with: pip install 'nke[plots]'") from error
        figure = plt.figure(layout="constrained")
    if hasattr(figure, "set_size_inches"):
        size = panel if columns > 1 else 1.6 * panel
        figure.set_size_inches(size * columns, (0.9 if columns > 1 else 0.75) * size * rows)
    return figure.subplots(rows, columns, squeeze=False, **options)


def panels(figure: Canvas | None, count: int) -> AxesArray:
    """Makes a grid for ``count`` panels; places that are left over stay empty."""
    columns = count if count <= 3 else 2 if count == 4 else 3
    axes = grid(figure, -(-count // columns), columns)
    for axis in axes.flat[count:]:
        axis.set_axis_off()
    return axes


def label(model: Model, coordinate: int) -> str:
    """Name and unit of a coordinate."""
    return with_unit(clipped(model.names[coordinate]), clipped(model.units[coordinate]))


def with_unit(name: str, unit: str) -> str:
    """A name with its unit in brackets, if it has one."""
    return plain(f"{name} [{unit}]" if unit else name)


def clipped(words: str) -> str:
    """Words that fit beside an axis: with an ellipsis where they are too long, without characters for control.

    Example:
        >>> nke.plots.style.clipped("a name that is much too long")
        'a name that is much…'
    """
    shown = "".join(" " if unicodedata.category(c) == "Cc" else c for c in words)
    return shown if len(shown) <= MOST_LETTERS else shown[: MOST_LETTERS - 1].rstrip() + "…"


def plain(words: str) -> str:
    r"""Text that Matplotlib shows as it is: a dollar would begin a formula.

    Example:
        >>> print(nke.plots.style.plain("a $ or two $"))
        a \$ or two \$
    """
    return words.replace("$", r"\$")


def time_label(model: Model) -> str:
    """What stands on an axis of time."""
    return with_unit("time", model.unit_of_time)


def per_time(model: Model, unit: str) -> str:
    """The unit of a rate of change.

    Without a unit of time it is left open: "mm per time".
    """
    if model.unit_of_time:
        return f"{one_word(unit) or '1'}/{one_word(model.unit_of_time)}"
    return f"{unit} per time" if unit else ""


def one_word(unit: str) -> str:
    """A compound unit in brackets, so that it can be divided by another."""
    return f"({unit})" if any(sign in unit for sign in "/ ·*") else unit


def squared(unit: str) -> str:
    """The square of a unit."""
    return f"{unit}²" if unit.isalpha() else f"({unit})²"


def shown(model: Model, most: int = 4) -> range:
    """The coordinates that are drawn: the first few."""
    return range(min(model.dimension, most))


def legend_beside(axes: AxesArray) -> None:
    """Puts the legend of the first panel right of the last one in its row, where it hides nothing."""
    handles, labels = axes[0, 0].get_legend_handles_labels()
    axes[0, -1].legend(handles, labels, loc="upper left", bbox_to_anchor=(1, 1), frameon=False)


def legend_above(axis: Axes) -> None:
    """Puts the legend above a panel, where it neither hides nor narrows anything."""
    axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False, fontsize="small")


def bins(axis: Axes, centre: np.ndarray, value: np.ndarray, error: np.ndarray, expected: np.ndarray, name: str) -> None:
    """Draws binned estimates from the data with standard errors, and what the model expects of them."""
    style: dict[str, Any] = {"color": RECORDED, "markersize": 3.5, "linewidth": 0.8, "zorder": 3}
    axis.errorbar(centre, value, error, fmt="o", label=f"{name} ± standard error", **style)
    axis.plot(centre, expected, ":", color=LEARNED, linewidth=1.2, label="the same of the model")


def limits(axis: Axes, values: np.ndarray) -> None:
    """Shows all of the values with a margin, and not how far the error bars of rare states go."""
    low, high = float(np.min(values)), float(np.max(values))
    margin = 0.15 * (high - low) or 1.0
    axis.set_ylim(low - margin, high + margin)


def outline(axis: Axes) -> None:
    """Takes away the upper and the right border."""
    axis.spines[["top", "right"]].set_visible(False)
