"""Figures, colours and labels that all plots share."""

from typing import Any

import numpy as np

from nke.model import Model

# matplotlib is imported only when something is drawn.
Axes = Any
Canvas = Any  # Figure or SubFigure
AxesArray = np.ndarray[Any, Any]

RECORDED, LEARNED, FAINT = "black", "tab:orange", "0.85"
MOST_COORDINATES = 4  # shown of a system with more
PANEL = 3.4  # inches


def grid(figure: Canvas | None, rows: int, columns: int, **options: Any) -> AxesArray:
    """Axes (rows, columns) in the figure, or in a new one that is large enough."""
    if figure is None:
        try:
            import matplotlib.pyplot as plt
        except ModuleNotFoundError as error:
            raise ImportError("plots need matplotlib; install it with: pip install 'nke[plots]'") from error
        figure = plt.figure(layout="constrained")
    if hasattr(figure, "set_size_inches"):
        figure.set_size_inches(max(PANEL * columns, 1.5 * PANEL), PANEL * rows * 0.9)
    return figure.subplots(rows, columns, squeeze=False, **options)


def label(model: Model, coordinate: int) -> str:
    return with_unit(model.names[coordinate], model.units[coordinate])


def with_unit(name: str, unit: str) -> str:
    return f"{name} [{unit}]" if unit else name


def time_label(model: Model) -> str:
    return with_unit("time", model.unit_of_time)


def per_time(model: Model, unit: str) -> str:
    """The unit of a rate of change.

    Without a unit of time it is left open: "mm per time".
    """
    if model.unit_of_time:
        return f"{unit or '1'}/{model.unit_of_time}"
    return f"{unit} per time" if unit else ""


def shown(model: Model) -> range:
    """The coordinates that are drawn."""
    return range(min(model.dimension, MOST_COORDINATES))


def outline(axis: Axes) -> None:
    axis.spines[["top", "right"]].set_visible(False)
