"""Mean, variance and large motions of the data in bins, beside what the law expects of the same motions."""

from typing import Any

import numpy as np

from nke.data import Trajectories
from nke.evaluation import Motions
from nke.model import as_model
from nke.plots.style import AxesArray, Canvas, bins, clipped, grid, label, legend_above, limits, outline, plain, shown


def motions(model: Any, data: Trajectories, *, found: Motions | None = None, figure: Canvas | None = None) -> AxesArray:
    """Draws motions of each coordinate over its own states: their mean, their variance, and how often large ones come.

    Large ones are those farther than four standard deviations of the noise from the drift.

    Args:
        model: The model, or the result of a fit.
        data: Recorded trajectories.
        found: Computed before by ``nke.evaluation.Motions.of``, so that they need not be again.
        figure: The figure or subfigure to draw into; a new one by default.

    Returns:
        The axes: rows for mean, variance and, where there are jumps, large motions; a column for each coordinate.

    Raises:
        InputError: If the data has another number of coordinates than the model.

    Example:
        >>> from matplotlib.figure import Figure
        >>> nke.plots.motions(model, data, figure=Figure()).shape
        (2, 1)
    """
    model = as_model(model)
    found = Motions.of(model, data) if found is None else found
    axes = grid(figure, 3 if model.has_jumps else 2, len(shown(model)), sharex="col")
    for i, column in zip(shown(model), axes.T, strict=True):
        binned = found.binned(i)
        rows = [
            ("mean motion per unit time", binned.mean, binned.mean_error, binned.expected_mean),
            ("variance of motions per unit time", binned.variance, binned.variance_error, binned.expected_variance),
        ]
        if model.has_jumps:
            rates = found.rates(i)
            rows.append(("large motions per unit time", rates.rate, rates.error, rates.expected))
        for axis, (words, value, error, expected) in zip(column, rows, strict=True):
            bins(axis, binned.centre, value, error, expected, "data")
            limits(axis, np.concatenate([value, expected]))
            if words != rows[0][0]:
                axis.set_ylim(bottom=0)
            axis.set_ylabel(words if i == 0 else "")
            outline(axis)
        column[0].set_title(plain(clipped(model.names[i])), fontsize="small", loc="left")
        column[-1].set_xlabel(label(model, i))
    legend_above(axes[0, 0])
    return axes
