"""How the training went."""

import numpy as np

from nke.errors import InputError
from nke.fitting import FitResult
from nke.plots.style import LEARNED, RECORDED, AxesArray, Canvas, grid, outline


def history(result: FitResult, *, figure: Canvas | None = None) -> AxesArray:
    """Draws training and held-out loss of every stage of a fit, with a dot at the parameters that were kept.

    Trials, the short runs that only compare candidates, are left out.

    Args:
        result: What ``nke.fit`` returned, or ``nke.FitResult.load`` read.
        figure: The figure or subfigure to draw into; a new one by default.

    Returns:
        The axes, one row with a column for each stage.

    Raises:
        InputError: If the result holds no history, as that of a model which was saved alone.

    Example:
        >>> from matplotlib.figure import Figure
        >>> from nke.fitting import Curve
        >>> curve = Curve(np.array([200, 400]), np.array([1.0, 0.5]), np.array([1.1, 0.7]), best=1, seconds=2.0)
        >>> axes = nke.plots.history(nke.FitResult(model, {"likelihood": curve}, {}), figure=Figure())
        >>> axes[0, 0].get_title()
        'likelihood'
    """
    stages = {name: curve for name, curve in result.history.items() if curve.kind != "trial"}
    if not stages:
        raise InputError("expected a fit with its history; save it with FitResult.save, or nke fit")
    axes = grid(figure, 1, len(stages))
    for axis, (name, curve) in zip(axes.flat, stages.items(), strict=True):
        axis.plot(curve.steps, curve.train, color=RECORDED, alpha=0.5, label="training")
        axis.plot(curve.steps, curve.held_out, color=LEARNED, label="held out")
        if curve.best >= 0:
            axis.plot(curve.steps[curve.best], curve.held_out[curve.best], "o", color=LEARNED, label="kept")
        axis.set(title=name, xlabel="optimisation step", ylim=_range(curve.train, curve.held_out))
        outline(axis)
    axes[0, 0].set_ylabel("loss")
    axes[0, 0].legend(frameon=False)
    return axes


def _range(*curves: np.ndarray) -> tuple[float, float]:
    """Without the first, high values of a long training, which would hide the rest."""
    late = np.concatenate([curve[len(curve) // 10 :] for curve in curves])
    margin = 0.1 * float(np.ptp(late)) or 0.1
    return float(late.min() - margin), float(late.max() + margin)
