"""Where a law was learned: how well the data covers a state."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.spatial import KDTree

PREFIX = "region."  # of the names of these arrays in a file
CONSIDERED = 8000  # states of the data, from which those that stand for all of it are taken
KEPT, SPREAD = 500, 500  # of these, at random and as far from each other as they can be: for the bulk and for the tails
NEIGHBOURS = 5  # of a kept state, the farthest of which is at its radius
RESOLUTION = 0.2  # least radius, in standard deviations of the data: narrower gaps are none
INSIDE = 0.98  # share of the data that is inside


@dataclass(frozen=True, eq=False)
class DataRegion:
    """Balls around some states of the data, each as wide as the data is thin there.

    A state is inside if it is no farther from one of the centres, in units of the radius there, than nearly all states
    of the data are. Twice as far out the data covers it by 0.02.

    Attributes:
        centres: States of the data, as the law sees them.
        radii: Distance from each to its neighbours among them.
        usual: Distance, in units of the radius, within which nearly all of the data has a centre.

    Example:
        >>> region = DataRegion.of(np.random.default_rng(0).normal(size=(5000, 2)))
        >>> region.covers(np.array([[0.0, 0.5], [8.0, 0.0]])).round(3).tolist()
        [1.0, 0.0]
    """

    centres: Float[np.ndarray, "n d"]
    radii: Float[np.ndarray, " n"]
    usual: float

    @classmethod
    def of(cls, x: Float[np.ndarray, "n d"], seed: int = 0) -> "DataRegion":
        """Summarises the states of the data.

        Args:
            x: All states, in coordinates in which they are of order one.
            seed: Of the choice of centres.

        Returns:
            Their region.
        """
        rng = np.random.default_rng(seed)
        x = x[rng.permutation(len(x))[:CONSIDERED]]
        checked = x[: (len(x) + 1) // 2]  # by states that are not among those spread out, which would seem unusual
        chosen = x[(len(x) - 1) // 2 :]
        centres = np.concatenate([chosen[:KEPT], far_from_each_other(chosen[KEPT:], SPREAD)])
        kept = len(centres)
        nearest = KDTree(centres).query(centres, min(NEIGHBOURS + 1, kept))[0]
        radii = np.asarray(nearest).reshape(kept, -1)[:, -1]
        # Neither copies of a state, as a ruler that rounds makes them, nor single states far from all others.
        spread = float(np.sqrt(np.mean(np.var(x, axis=0)))) or 1.0
        most = max(float(np.quantile(radii, 0.9)), RESOLUTION * spread)
        radii = np.clip(radii, RESOLUTION * spread, most)
        region = cls(centres.astype(np.float32), radii.astype(np.float32), 1.0)
        usual = np.quantile(region._distance(checked), INSIDE)
        return cls(region.centres, region.radii, float(max(usual, 0.5)))

    def covers(self, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        """Tells how well the data covers states.

        Args:
            x: The states.

        Returns:
            One inside, falling to zero.
        """
        beyond = np.maximum(self._distance(x) / self.usual - 1, 0.0)
        return np.exp(-4 * beyond**2)

    def _distance(self, x: Float[np.ndarray, "n d"], block: int = 1 << 12) -> Float[np.ndarray, " n"]:
        """Distance to the nearest centre, each in units of its radius."""
        centres, radii = self.centres.astype(np.float64), self.radii.astype(np.float64)
        found = np.empty(len(x))
        for begin in range(0, len(x), block):
            part = np.asarray(x[begin : begin + block], np.float64)
            squares = (part**2).sum(1)[:, None] - 2 * part @ centres.T + (centres**2).sum(1)
            found[begin : begin + block] = np.sqrt(np.min(np.maximum(squares, 0.0) / radii**2, axis=1))
        return found

    def tensors(self) -> dict[str, np.ndarray]:
        """Gives the arrays to be stored, by name."""
        parts = {"centres": self.centres, "radii": self.radii, "usual": np.array([self.usual], np.float64)}
        return {PREFIX + name: part for name, part in parts.items()}

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, np.ndarray]) -> "DataRegion | None":
        """Finds what ``tensors`` gave among the arrays of a file; None where there is nothing of it."""
        if PREFIX + "centres" not in tensors:
            return None
        return cls(tensors[PREFIX + "centres"], tensors[PREFIX + "radii"], float(tensors[PREFIX + "usual"][0]))


def far_from_each_other(x: Float[np.ndarray, "n d"], most: int) -> Float[np.ndarray, "m d"]:
    """Takes states, each the farthest from those before it: where the data is thin as many as elsewhere.

    Args:
        x: All states.
        most: How many are taken at most.

    Returns:
        Some of the states.
    """
    if not len(x):
        return x
    taken, distance = [0], np.linalg.norm(x - x[0], axis=1)
    while len(taken) < most and distance.max() > 0:
        taken.append(int(distance.argmax()))
        distance = np.minimum(distance, np.linalg.norm(x - x[taken[-1]], axis=1))
    return x[taken]
