"""A cloud of points as a mixture: cells of neighbouring points, each a Gaussian of their mean and covariance."""

import numpy as np
from jaxtyping import Float

from nke.mixtures.gaussian_mixture import GaussianMixture


def gathered(points: Float[np.ndarray, "n d"], components: int) -> GaussianMixture:
    """Gathers points in cells, the widest of which is cut across its longest axis until there are enough.

    Mean and covariance of the mixture are those of the points.

    Args:
        points: The points.
        components: Most cells.

    Returns:
        The mixture, of as many components as cells; a single point is one of zero width.

    Example:
        >>> from nke.mixtures.gathering import gathered
        >>> mixture = gathered(np.array([[0.0], [0.0], [1.0], [5.0]]), components=2)
        >>> mixture.weights.tolist(), mixture.means.round(2).tolist()
        ([0.75, 0.25], [[0.33], [5.0]])
    """
    cells = [np.arange(len(points))]
    spreads = [_spread(points)]
    while len(cells) < components and max(spreads) > 0:
        widest = int(np.argmax(spreads))
        cell = cells[widest]
        centred = points[cell] - points[cell].mean(axis=0)
        along = centred @ np.linalg.eigh(centred.T @ centred)[1][:, -1]
        left = along < 0
        if left.all() or not left.any():
            left = np.arange(len(cell)) < len(cell) // 2
        parts = cell[left], cell[~left]
        cells[widest], spreads[widest] = parts[0], _spread(points[parts[0]])
        cells.append(parts[1])
        spreads.append(_spread(points[parts[1]]))
    means = np.array([points[cell].mean(axis=0) for cell in cells])
    covariances = np.array([np.cov(points[cell].T, bias=True).reshape(2 * points.shape[1:]) for cell in cells])
    return GaussianMixture(np.array([len(cell) for cell in cells]) / len(points), means, covariances)


def _spread(points: Float[np.ndarray, "n d"]) -> float:
    """Sum of squares about the mean."""
    return float(((points - points.mean(axis=0)) ** 2).sum())
