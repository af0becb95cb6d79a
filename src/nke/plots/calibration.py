"""Calibration: where recorded motions fall within the law's distribution of them."""

from collections.abc import Sequence
from typing import Any

from nke.data import Trajectories
from nke.evaluation import NormalScores
from nke.model import as_model
from nke.plots.numbers import Calibration
from nke.plots.style import LEARNED, RECORDED, AxesArray, Canvas, clipped, legend_above, outline, panels, plain

MOST_PANELS = 4


def calibration(
    model: Any,
    data: Trajectories,
    *,
    found: Sequence[Calibration] | None = None,
    seed: int = 0,
    figure: Canvas | None = None,
) -> AxesArray:
    """Draws how often recorded motions fall into each twentieth of the law's distribution, over what is right.

    Args:
        model: The model, or the result of a fit.
        data: Recorded trajectories.
        found: Computed before by ``nke.plots.numbers.Calibration.of``, so that it need not be again.
        seed: Of simulated transitions.
        figure: The figure or subfigure to draw into; a new one by default.

    Returns:
        The axes, a panel for each of the first four coordinates that are scored.

    Raises:
        InputError: If the data has another number of coordinates than the model.

    Example:
        >>> from matplotlib.figure import Figure
        >>> nke.plots.calibration(model, data, figure=Figure()).shape
        (1, 1)
    """
    if found is None:
        found = Calibration.of(NormalScores.of(as_model(model), data.transitions(), seed))
    axes = panels(figure, min(len(found), MOST_PANELS))
    for axis, each in zip(axes.flat, found, strict=False):
        axis.fill_between(
            [0, 1],
            each.low[0],
            each.high[0],
            color=LEARNED,
            alpha=0.25,
            linewidth=0,
            label="90 % of data sets of a right law",
        )
        axis.stairs(each.recorded, each.edges, color=RECORDED, baseline=None, label="recorded")
        axis.set(
            xlabel="the law's probability of a smaller motion", ylabel="share over that of a right law", ylim=(0, None)
        )
        axis.set_title(plain(clipped(each.name)), fontsize="small", loc="left")
        outline(axis)
    legend_above(axes[0, 0])
    return axes
