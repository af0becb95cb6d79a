"""Features for smooth laws: powers of the state, and kernels over one, two or all coordinates at several lengths.

The functions of a physical law rarely depend on all coordinates together. So there is a group of features for each
coordinate alone, for each pair, and for all of them, at a few length scales each; the evidence says which groups are
needed. In each group the kernels around some states of the data are turned into their principal functions over the data
(Nyström's method), so that few of them do.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from nke.operators import Curve, SmoothBasis, monomial_degrees, monomials

EXAMINED = 3000  # states over which principal functions are taken
LEAST_VARIANCE = 1e-5  # share of a kernel's variance below which a principal function is left out
LEAST_RATIO = 2.0  # largest over smallest value of a column from which on its logarithm differs much from a line


class KernelGroup(NamedTuple):
    """Principal functions of one kernel.

    Attributes:
        columns: Coordinates that the kernel looks at.
        length: Its length scale in standard deviations.
        centres: Of the kernels.
        precisions: One over the squared lengths, zero for the other coordinates.
        projection: From kernels to principal functions, a column each.
    """

    columns: tuple[int, ...]
    length: float
    centres: Float[np.ndarray, "m d"]
    precisions: Float[np.ndarray, "m d"]
    projection: Float[np.ndarray, "m k"]

    def features(self, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n k"]:
        """Computes the principal functions of states."""
        columns = list(self.columns)
        root = np.sqrt(self.precisions[0, columns])
        at, centres = (x[:, columns] * root).astype(x.dtype), (self.centres[:, columns] * root).astype(x.dtype)
        return _kernel(at, centres) @ self.projection.astype(x.dtype)


class GroupSize(NamedTuple):
    """One kind of kernels: over how many coordinates, of which lengths, how many centres and functions at most."""

    coordinates: int
    lengths: tuple[float, ...]
    centres: int
    functions: int


def group_sizes(dimension: int) -> list[GroupSize]:
    """Chooses the kinds of kernels for a number of coordinates, so that there are some hundreds of features in all.

    Args:
        dimension: Number of coordinates.

    Returns:
        The kinds.
    """
    if dimension == 1:
        return [GroupSize(1, (0.1, 0.3, 1.0, 3.0), 100, 60)]
    single = GroupSize(1, (0.3, 1.0, 3.0), 40, 24)
    if dimension == 2:
        return [single, GroupSize(2, (0.5, 1.0, 3.0), 100, 70)]
    if dimension == 3:
        return [single, GroupSize(2, (1.0, 3.0), 80, 40), GroupSize(3, (1.5,), 150, 100)]
    if dimension <= 6:
        return [single, GroupSize(2, (1.5,), 50, 24), GroupSize(dimension, (2.5,), 120, 60)]
    return [single, GroupSize(2, (2.0,), 30, 12)]


def jump_group_sizes(dimension: int) -> list[GroupSize]:
    """Chooses fewer kernels for rate and shares of jumps, of which the data says less than of drift and noise.

    Args:
        dimension: Number of coordinates.

    Returns:
        The kinds.
    """
    if dimension == 1:
        return [GroupSize(1, (0.3, 1.0), 40, 24)]
    pairs = [GroupSize(2, (1.5,), 40, 20)] if dimension <= 3 else []
    return [GroupSize(1, (0.7,), 20, 10), *pairs]


@dataclass(frozen=True)
class FeatureSet:
    """All features of one or several functions: 1, powers of the state, and kernels.

    Attributes:
        inputs: Number of coordinates of the state.
        degree: Highest power; each degree from two on is a group of its own.
        kernels: Groups of kernels.
        pairs: Coordinates that are cosine and sine of one angle.
        curves: Logarithms or exponentials of single columns; like 1 and x they belong to no group.
    """

    inputs: int
    degree: int
    kernels: tuple[KernelGroup, ...]
    pairs: tuple[tuple[int, int], ...] = ()
    curves: tuple[Curve, ...] = ()

    @classmethod
    def of(
        cls,
        x: Float[np.ndarray, "n d"],
        degree: int,
        sizes: Callable[[int], list[GroupSize]],
        seed: int,
        pairs: tuple[tuple[int, int], ...] = (),
        most_powers: int = 120,
    ) -> "FeatureSet":
        """Builds features for states like these.

        Args:
            x: States of the data; coordinates that do not vary have no kernels.
            degree: Highest power.
            sizes: Gives the kinds of kernels for a number of coordinates; an angle is one of them.
            seed: Of the choice of centres.
            pairs: Columns that are cosine and sine of one angle.
            most_powers: Powers of one degree, at most; a degree with more of them is left out.

        Returns:
            The features.
        """
        rng = np.random.default_rng(seed)
        some = x[rng.permutation(len(x))[:EXAMINED]]
        units = coordinates_of(some, pairs)
        kernels = [
            _group(some, sum(chosen, ()), length, size)
            for size in (sizes(len(units)) if units else [])
            for chosen in combinations(units, min(size.coordinates, len(units)))
            for length in size.lengths
        ]
        counts = np.bincount(monomial_degrees(x.shape[1], degree, pairs))
        while degree > 1 and counts[degree] > most_powers:
            degree -= 1
        return cls(x.shape[1], degree, tuple(kernels), pairs)

    @property
    def groups(self) -> Int[np.ndarray, " f"]:
        """Group of each feature: −1 for 1, x and curves, then the higher powers by their degree, then the kernels."""
        powers = monomial_degrees(self.inputs, self.degree, self.pairs) - 2
        kernels = [np.full(k.projection.shape[1], self.degree - 1 + i) for i, k in enumerate(self.kernels)]
        return np.concatenate([[-1], powers, *kernels, np.full(len(self.curves), -1)]).astype(int)

    @property
    def count(self) -> int:
        """Number of groups."""
        return self.degree - 1 + len(self.kernels)

    def design(self, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n f"]:
        """Computes all features of states, in their precision."""
        columns = [
            np.ones((len(x), 1), x.dtype),
            np.asarray(monomials(x, self.degree, self.pairs)),
            *(k.features(x) for k in self.kernels),
        ]
        return self.with_curves(np.concatenate(columns, axis=1), x)

    def with_curves(self, design: Float[np.ndarray, "n g"], x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n f"]:
        """Adds the curves to features that lack them."""
        return np.concatenate([design, *(curve(x)[:, None].astype(design.dtype) for curve in self.curves)], axis=1)

    def used(self, groups: Bool[np.ndarray, " g"]) -> tuple["FeatureSet", Bool[np.ndarray, " f"]]:
        """Leaves out kernels that are not used, and powers above the highest that is.

        Args:
            groups: Which groups are used.

        Returns:
            The smaller set, and which of the features it has.
        """
        powers, kernels = groups[: self.degree - 1], groups[self.degree - 1 :]
        degree = 1 + int(max(np.flatnonzero(powers) + 1, default=0))
        smaller = replace(
            self, degree=degree, kernels=tuple(k for k, on in zip(self.kernels, kernels, strict=True) if on)
        )
        kept = np.concatenate([np.arange(self.degree - 1) < degree - 1, kernels, [True]])  # the last is for −1
        return smaller, kept[self.groups]

    def basis(self) -> SmoothBasis:
        """The same features as a function that is differentiated and stored."""
        nothing = np.zeros((0, self.inputs))
        centres, precisions = (np.concatenate([nothing, *(k[i] for k in self.kernels)]) for i in (2, 3))
        projections = [k.projection for k in self.kernels]
        return SmoothBasis(self.degree, centres, precisions, projections, self.pairs, self.curves)


def logarithms(x: Float[np.ndarray, "n d"], bounds: Float[np.ndarray, "d 2"]) -> tuple[Curve, ...]:
    """Finds the columns whose logarithms may matter: noise in proportion to a power of a positive column is common.

    So is noise in proportion to powers of a share and of what it lacks to one.

    Args:
        x: States of the data.
        bounds: Below and above which no column is by nature; NaN where there are none.

    Returns:
        Logarithms of the distances from each bound that vary by more than a factor of two.
    """
    found = []
    for column, ends in enumerate(bounds):
        for side, bound in zip((1, -1), ends, strict=True):
            distance = side * (x[:, column] - bound)
            if distance.min() > 0 and distance.max() > LEAST_RATIO * distance.min():
                least, size = float(distance.min()) / 2, float(np.exp(np.mean(np.log(distance))))
                found.append(Curve(column, False, float(bound), side * size, least / size))
    return tuple(found)


def exponentials(x: Float[np.ndarray, "n d"], factor: Float[np.ndarray, " d"]) -> tuple[Curve, ...]:
    """Gives columns that are logarithms their own values back, and one over these, as features.

    The growth rate of a population is linear in its size, and what flows in counts by one over it.

    Args:
        x: States of the data.
        factor: The size of a factor e in columns that are logarithms; zero for the others.

    Returns:
        Exponentials, one in the middle of the data, of the columns that vary by more than a factor of two.
    """
    found = []
    for column in np.flatnonzero(factor > 0):
        values = x[:, column]
        if np.ptp(values) > factor[column] * np.log(LEAST_RATIO):
            middle, limit = float(np.median(values)), float(np.ptp(values) / factor[column])
            found += [Curve(int(column), True, middle, side * float(factor[column]), limit) for side in (1, -1)]
    return tuple(found)


def coordinates_of(x: Float[np.ndarray, "n d"], pairs: tuple[tuple[int, int], ...]) -> list[tuple[int, ...]]:
    """Finds the columns of each coordinate that varies; an angle has two.

    Args:
        x: States.
        pairs: Columns that are cosine and sine of one angle.

    Returns:
        The columns, coordinate by coordinate.
    """
    angles, varying = {i for pair in pairs for i in pair}, x.std(axis=0) > 0
    single = [(int(i),) for i in np.flatnonzero(varying) if i not in angles]
    return [*single, *(pair for pair in pairs if varying[list(pair)].all())]


def _group(some: Float[np.ndarray, "n d"], columns: tuple[int, ...], length: float, size: GroupSize) -> KernelGroup:
    """The principal functions of a Gaussian kernel over some coordinates."""
    at, deviation = some[:, columns], some.std(axis=0)[list(columns)]
    scaled, chosen = at / (length * deviation), _spread(at / deviation, size.centres)
    projection = _principal_functions(scaled, scaled[chosen], size.functions)
    if 2 * projection.shape[1] < len(chosen):  # fewer centres span as many functions
        chosen = chosen[: 2 * projection.shape[1]]
        projection = _principal_functions(scaled, scaled[chosen], size.functions)
    centres = np.zeros((len(chosen), some.shape[1]))
    centres[:, columns] = at[chosen]
    precisions = np.zeros_like(centres)
    precisions[:, columns] = 1 / (length * deviation) ** 2
    return KernelGroup(columns, length, centres, precisions, projection)


def _principal_functions(
    scaled: Float[np.ndarray, "n k"], centres: Float[np.ndarray, "m k"], most: int
) -> Float[np.ndarray, "m f"]:
    """From kernels to functions of unit prior variance along the principal axes over the data."""
    outer, root = _kernel(scaled, centres), _inverse_root(_kernel(centres, centres))
    values, vectors = np.linalg.eigh(root.T @ (outer.T @ outer / len(scaled)) @ root)
    keep = np.argsort(-values)[:most]
    return root @ vectors[:, keep[values[keep] > LEAST_VARIANCE]]


def _kernel(x: Float[np.ndarray, "n k"], centres: Float[np.ndarray, "m k"]) -> Float[np.ndarray, "n m"]:
    with np.errstate(over="ignore"):  # so far away it is zero
        square = sum((x[:, i, None] - centres[:, i]) ** 2 for i in range(x.shape[1]))  # exact also far from zero
    return np.exp(square / -2)


def _inverse_root(kernel: Float[np.ndarray, "m m"], rounding: float = 1e-6) -> Float[np.ndarray, "m k"]:
    values, vectors = np.linalg.eigh(kernel)
    keep = values > rounding * values[-1]
    return vectors[:, keep] / np.sqrt(values[keep])


def _spread(x: Float[np.ndarray, "n k"], count: int) -> Int[np.ndarray, " m"]:
    """States that are far from each other: each one the farthest from those before."""
    chosen, gap = [int(np.argmin(np.sum((x - x.mean(axis=0)) ** 2, axis=1)))], np.full(len(x), np.inf)
    for _ in range(min(count, len(x)) - 1):
        gap = np.minimum(gap, np.sum((x - x[chosen[-1]]) ** 2, axis=1))
        if gap.max() <= 0:
            break
        chosen.append(int(np.argmax(gap)))
    return np.array(chosen)
