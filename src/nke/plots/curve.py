"""A coefficient in one dimension as a curve: with its interval, and faint where there was no data."""

import numpy as np
from jaxtyping import Float

from nke.model import Model
from nke.plots.style import LEARNED, Axes

SEEN = 0.5  # how well the data must cover a state for the curve to be drawn in full
FADED = 0.3  # opacity elsewhere


def learned_curve(axis: Axes, model: Model, quantity: str, states: Float[np.ndarray, "n 1"]) -> None:
    """Draws drift, diffusion or jump rate of a one-dimensional model along its coordinate.

    Args:
        axis: Where to draw.
        model: The model; what it does not know of its errors and its data is not drawn.
        quantity: Name of the method that gives the coefficient.
        states: States in the order of the curve.
    """
    x, values = states[:, 0], getattr(model, quantity)(states).reshape(len(states))
    seen = np.ones(len(x), bool) if model.region is None else model.seen(states) > SEEN
    # The whole curve lies under the part with data, so that it has no gaps.
    axis.plot(x, values, color=LEARNED, alpha=1.0 if seen.all() else FADED, label="model" if seen.all() else None)
    if not seen.all():
        axis.plot(x, np.where(seen, values, np.nan), color=LEARNED, label="model")
    if model.uncertainty is not None:
        lower, upper = (end.reshape(len(states)) for end in model.interval(quantity, states))
        band = {"color": LEARNED, "linewidth": 0.0}
        axis.fill_between(x, lower, upper, where=seen, alpha=0.25, label="90 % interval", **band)
