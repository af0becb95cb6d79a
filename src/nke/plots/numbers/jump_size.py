"""The density of the size of one jump."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.stats import norm

from nke.mixtures import GaussianMixture
from nke.model import Model
from nke.plots.view import View


class JumpSizes(NamedTuple):
    """How far a coordinate jumps, in the middle of the data and around.

    Attributes:
        size: Of a jump.
        middle: Its density in the middle of the data.
        around: Its density in other states, a row each.
        jumps: Whether the coordinate jumps at all.
    """

    size: Float[np.ndarray, " n"]
    middle: Float[np.ndarray, " n"]
    around: Float[np.ndarray, "s n"]
    jumps: bool

    @classmethod
    def of(cls, model: Model, view: View, points: int = 1001) -> list["JumpSizes"]:
        """Computes the densities.

        Args:
            model: A model with jumps.
            view: Says where the data is.
            points: Sizes at which the densities are taken.

        Returns:
            Those of each coordinate.
        """
        law, around = model.jump_law(view.centre), model.jump_law(view.states[:30])
        found = []
        for i in range(model.dimension):
            size = sizes(around, i, 0.25 * float(model.coordinates.size[i]), points)
            jumps = bool(np.asarray(around.covariances)[..., i, i].any())
            found.append(cls(size, size_density(law, i, size), size_density(around, i, size), jumps))
        return found


def sizes(law: GaussianMixture, i: int, least: float, points: int) -> Float[np.ndarray, " n"]:
    """A range that holds the law with its tails; components of little weight do not widen it."""
    means, variances = np.asarray(law.means)[..., i], np.asarray(law.covariances)[..., i, i]
    reach = (np.abs(means) + 3.5 * np.sqrt(variances))[np.asarray(law.weights) > 0.02].max()
    return np.linspace(-max(reach, least), max(reach, least), points)


def size_density(law: GaussianMixture, i: int, size: Float[np.ndarray, " n"]) -> Float[np.ndarray, "*batch n"]:
    """The density of one coordinate of a mixture, or of each of a batch; components that are points are left out."""
    means, variances = np.asarray(law.means)[..., i], np.asarray(law.covariances)[..., i, i]
    deviation = np.sqrt(np.where(variances > 0, variances, np.nan))[..., None]
    parts = norm.pdf(size, means[..., None], deviation)
    return np.einsum("...k,...kn->...n", np.asarray(law.weights), np.nan_to_num(parts))
