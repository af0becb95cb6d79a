"""A coefficient in one dimension as a curve: with its interval, and faint where there was no data."""

import numpy as np
from jaxtyping import Float

from nke.model import Model
from nke.plots.numbers import Curve
from nke.plots.style import LEARNED, Axes

FADED = 0.3  # opacity where there was no data


def learned_curve(axis: Axes, model: Model, quantity: str, states: Float[np.ndarray, "n 1"]) -> None:
    """Draws drift, diffusion or jump rate of a one-dimensional model along its coordinate.

    Args:
        axis: Where to draw.
        model: The model; what it does not know of its errors and its data is not drawn.
        quantity: Name of the method that gives the coefficient.
        states: States in the order of the curve.
    """
    curve, x = Curve.of(model, quantity, states), states[:, 0]
    values, seen = curve.values.reshape(len(x)), curve.seen
    # The whole curve lies under the part with data, so that it has no gaps.
    axis.plot(x, values, color=LEARNED, alpha=1.0 if seen.all() else FADED, label="model" if seen.all() else None)
    if not seen.all():
        axis.plot(x, np.where(seen, values, np.nan), color=LEARNED, label="model")
    if curve.lower is not None and curve.upper is not None:
        lower, upper = curve.lower.reshape(len(x)), curve.upper.reshape(len(x))
        band = {"color": LEARNED, "linewidth": 0.0}
        axis.fill_between(x, lower, upper, where=seen, alpha=0.25, label="90 % interval", **band)
