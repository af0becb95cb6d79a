"""Columns that stay between two usual bounds: shares, percentages, correlations."""

import numpy as np
from jaxtyping import Float

USUAL_BOUNDS = ((0.0, 1.0), (-1.0, 1.0), (0.0, 100.0))  # of shares, correlations and polarisations, percentages
NEAR = 0.05  # share of the way between two bounds that may be missing at each end


def usual_bounds(values: Float[np.ndarray, " n"]) -> tuple[float, float] | None:
    """Finds two usual bounds that values reach from near one to near the other, and never touch.

    Args:
        values: Of a column, in the user's units.

    Returns:
        The bounds; None where there are none.

    Example:
        >>> from nke.fitting.usual_bounds import usual_bounds
        >>> usual_bounds(np.array([0.02, 0.7, 0.99])), usual_bounds(np.array([0.02, 0.7]))
        ((0.0, 1.0), None)
    """
    low, high = float(values.min()), float(values.max())
    for lower, upper in USUAL_BOUNDS:
        margin = NEAR * (upper - lower)
        if lower < low < lower + margin and upper - margin < high < upper:
            return lower, upper
    return None
