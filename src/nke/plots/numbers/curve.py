"""A coefficient along a line of states: its values, its interval, and where there was data."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from nke.model import Model

SEEN = 0.5  # how well the data must cover a state for the curve to be drawn in full


class Curve(NamedTuple):
    """Drift, diffusion or jump rate in states along a line.

    Attributes:
        values: Of the coefficient, in the order of the states.
        seen: Where the data was; everywhere, if the model does not know it.
        lower: Lower end of its 90 % interval; None where the model does not know its errors.
        upper: Upper end.

    Example:
        >>> curve = nke.plots.numbers.Curve.of(model, "drift", np.array([[0.0], [0.5]]))
        >>> curve.values.shape, bool((curve.lower < curve.values).all())
        ((2, 1), True)
    """

    values: Float[np.ndarray, "n ..."]
    seen: Bool[np.ndarray, " n"]
    lower: Float[np.ndarray, "n ..."] | None
    upper: Float[np.ndarray, "n ..."] | None

    @classmethod
    def of(cls, model: Model, quantity: str, states: Float[np.ndarray, "n d"]) -> "Curve":
        """Takes a coefficient in states.

        Args:
            model: The model.
            quantity: Name of the method that gives the coefficient.
            states: In the order of the curve.

        Returns:
            The curve, in the shape of the coefficient.
        """
        values = getattr(model, quantity)(states)
        seen = np.ones(len(states), bool) if model.region is None else model.seen(states) > SEEN
        lower, upper = (None, None) if model.uncertainty is None else model.interval(quantity, states)
        return cls(values, seen, lower, upper)
