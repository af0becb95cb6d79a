"""Fewer components, or more, with the moments of the mixture kept: merging, splitting, reduction to a budget.

A slot of weight zero is empty. Shapes depend on the number of slots alone, so that JAX compiles each function once.
"""

import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from nke.arrays import outer, symmetrise
from nke.errors import InputError
from nke.mixtures.gaussian_mixture import GaussianMixture

DIVISIONS = {  # standard deviation of each child, and the weights up to the middle: least L1 error, below 0.006
    3: (0.8, (0.1917, 0.6167)),
    5: (0.65, (0.0328, 0.2342, 0.4660)),
    7: (0.5, (0.0128, 0.0745, 0.2385, 0.3484)),
    9: (0.45, (0.0046, 0.0253, 0.0997, 0.2236, 0.2936)),
}
RIDGE = 1e-3
RESOLVED = 0.02
NARROWEST = 1e-4  # widths are told apart down to this part of the whole mixture's: points can be merged too


Parts = tuple[Array, Array, Array]  # weights, means, covariances


def merge(mixture: GaussianMixture, first: int, second: int) -> GaussianMixture:
    """Merges two components into the Gaussian of the same weight, mean and covariance.

    Args:
        mixture: One mixture.
        first: Slot of one component, which takes the result.
        second: Slot of the other, which becomes empty.

    Returns:
        The mixture, with as many slots and the same mean and covariance.

    Example:
        >>> pair = GaussianMixture([0.5, 0.5], [[-1.0], [1.0]], np.ones((2, 1, 1)))
        >>> merged = nke.mixtures.merge(pair, 0, 1)
        >>> merged.weights.tolist(), merged.covariances[0].tolist()
        ([1.0, 0.0], [[2.0]])
    """
    slots = np.arange(mixture.components)
    partner = np.where(slots == first, second, slots)
    emptied = slots == second
    with _precision_of(mixture):
        return _as_given(_merged(_to_jax(mixture), jnp.asarray(partner), jnp.asarray(emptied)), mixture)


def split(
    mixture: GaussianMixture, component: int, axis: Float[np.ndarray, " d"], children: int = 3
) -> GaussianMixture:
    """Splits a component along an axis into several narrower ones, with the same mean and covariance together.

    Args:
        mixture: One mixture.
        component: Slot of the component.
        axis: A direction; the component is split along it.
        children: How many take its place: 3, 5, 7 or 9.

    Returns:
        The mixture with ``children − 1`` more slots, which are the last.

    Raises:
        InputError: If there is no such number of children, or the component has no width along the axis.

    Example:
        >>> standard = GaussianMixture([1.0], [[0.0]], [[[1.0]]])
        >>> parts = nke.mixtures.split(standard, 0, np.ones(1), children=3)
        >>> parts.components, round(float(parts.covariance[0, 0]), 6), round(float(parts.covariances[0, 0, 0]), 2)
        (3, 1.0, 0.64)
    """
    if children not in DIVISIONS:
        raise InputError(f"expected one of {', '.join(map(str, DIVISIONS))} children, but got {children}")
    covariance, direction = np.asarray(mixture.covariances)[component], np.asarray(axis, np.float64)
    variance = float(direction @ covariance @ direction)
    if not variance > 0:
        raise InputError("expected a component that has a width along the axis, but its variance there is zero")
    along = covariance @ direction / math.sqrt(variance)  # the longest v along which v vᵀ ≤ Σ and nᵀ(Σ − v vᵀ)n = 0
    places = jnp.asarray([[component, *range(mixture.components, mixture.components + children - 1)]])
    with _precision_of(mixture):
        wide = with_empty_slots(_to_jax(mixture), children - 1)
        parts = split_into(wide, jnp.asarray([component]), jnp.asarray(along)[None], jnp.asarray([True]), places)
        return _as_given(parts, mixture)


def reduce(mixture: GaussianMixture, components: int) -> GaussianMixture:
    """Merges components until there are no more than a number, and gives that number of slots.

    In every round all pairs merge that are each other's cheapest, by Runnalls' cost
    ½ [(π_i + π_j) log|Σ_ij| − π_i log|Σ_i| − π_j log|Σ_j|], a bound on what the merging changes in nats
    (Runnalls 2007, IEEE Trans. Aerosp. Electron. Syst. 43, 989).

    Args:
        mixture: One mixture.
        components: How many to keep.

    Returns:
        A mixture of that many slots, some of which may be empty, with the same mean and covariance.

    Raises:
        InputError: If fewer than one component is asked for.

    Example:
        >>> three = GaussianMixture([0.4, 0.4, 0.2], [[0.0], [0.1], [9.0]], np.ones((3, 1, 1)))
        >>> nke.mixtures.reduce(three, 2).means.round(2).tolist()
        [[0.05], [9.0]]
    """
    if components < 1:
        raise InputError(f"expected at least one component, but got {components}")
    with _precision_of(mixture):
        return _as_given(_compiled(_to_jax(mixture), components), mixture)


def split_into(
    mixture: GaussianMixture,
    chosen: Int[Array, " n"],
    axes: Float[Array, "n d"],
    wanted: Bool[Array, " n"],
    places: Int[Array, "n children"],
) -> GaussianMixture:
    """Splits several components at once, each along its own axis v, where v vᵀ ≤ Σ.

    Args:
        mixture: One mixture with empty slots.
        chosen: Slots of the components.
        axes: The vector v of each; children lie along it at distances in units of v.
        wanted: Which of them are split; the others stay as they are.
        places: Slots of the children of each; their contents are replaced.

    Returns:
        The mixture, with as many slots and the same mean and covariance.
    """
    weights, means, variance = (jnp.asarray(part, mixture.means.dtype) for part in division(places.shape[1]))
    taken = jnp.where(wanted[:, None], places, mixture.components)  # beyond the end: dropped
    parent = jax.tree.map(lambda leaf: leaf[chosen], mixture)
    narrow = parent.covariances - (1 - variance) * outer(axes, axes)
    children = (
        parent.weights[:, None] * weights,
        parent.means[:, None] + means[:, None] * axes[:, None],
        jnp.broadcast_to(narrow[:, None], (*places.shape, *narrow.shape[1:])),
    )
    leaves = (mixture.weights, mixture.means, mixture.covariances)
    pairs = zip(leaves, children, strict=True)
    return GaussianMixture(*(leaf.at[taken].set(child, mode="drop") for leaf, child in pairs))


def division(children: int) -> tuple[np.ndarray, np.ndarray, float]:
    """The standard normal law as several narrower ones at even distances.

    Args:
        children: How many: one of ``DIVISIONS``.

    Returns:
        Weights, means and the common variance; mean zero and variance one together.
    """
    deviation, half = DIVISIONS[children]
    weights = np.array([*half, *half[-2::-1]])
    weights /= weights.sum()
    places = np.arange(children) - (children - 1) / 2
    return weights, places * np.sqrt((1 - deviation**2) / (weights @ places**2)), deviation**2


def merge_down(mixture: GaussianMixture, components: int | Int[Array, ""]) -> GaussianMixture:
    """Rounds of disjoint merges until no more than so many slots have weight."""

    def crowded(state):
        rounds, mixture = state
        return (jnp.sum(mixture.weights > 0) > components) & (rounds < mixture.components)

    def merge_round(state):
        rounds, mixture = state
        excess = jnp.sum(mixture.weights > 0) - components
        return rounds + 1, _merged(mixture, *_cheapest_pairs(mixture, excess))

    return jax.lax.while_loop(crowded, merge_round, (0, mixture))[1]


def reduced(mixture: GaussianMixture, components: int) -> GaussianMixture:
    """Rounds of disjoint merges until the budget is kept, then the slots that are left."""
    merged = merge_down(mixture, components)
    kept = jnp.argsort(-merged.weights)[:components]
    found = jax.tree.map(lambda leaf: leaf[kept], merged)
    if components >= mixture.components:
        return with_empty_slots(found, components - mixture.components)
    return reweighted(found, mixture)


_compiled = jax.jit(reduced, static_argnums=1)


def reweighted(mixture: GaussianMixture, target: GaussianMixture) -> GaussianMixture:
    """Changes weights so that the density comes nearest to a target in squared difference; the moments stay.

    With H_ij = ⟨G_i, G_j⟩ and b_i = ⟨G_i, p⟩ it minimises δᵀHδ − 2δᵀ(b − Hπ) + ridge, with Σδ = 0, Σδμ = 0 and
    Σδ(Σ + μμᵀ) = 0, and goes as far along the way as all weights stay positive.

    Args:
        mixture: The mixture whose weights change.
        target: The mixture to come near to, of the same moments.

    Returns:
        The mixture with other weights.
    """
    mean, scale = target.mean, jnp.sqrt(jnp.diagonal(target.covariance))
    scale = jnp.where(scale > 0, scale, 1.0)
    own, whole = (
        (part.weights, (part.means - mean) / scale, part.covariances / outer(scale, scale))
        for part in (mixture, target)
    )
    weights, means, covariances = own
    used = weights > 0
    overlap = jnp.where(outer(used, used), _overlaps(own, own), 0.0)
    residual = jnp.where(used, _overlaps(own, whole) @ whole[0] - overlap @ weights, 0.0)
    typical = jnp.sum(weights * jnp.diagonal(overlap)) / jnp.sum(weights)
    size = jnp.diagonal(overlap) + RIDGE * typical / jnp.where(used, weights * mixture.components, 1.0)
    matrix = overlap + jnp.diag(jnp.where(used, size - jnp.diagonal(overlap), typical))
    lower = np.tril_indices(mixture.dimension)
    second = (covariances + outer(means, means))[:, *lower]
    kept = jnp.where(used[:, None], jnp.concatenate([jnp.ones_like(means[:, :1]), means, second], axis=1), 0.0)
    free, held = jnp.split(_solve(matrix, jnp.concatenate([residual[:, None], kept], axis=1)), [1], axis=1)
    inner = kept.T @ held
    inner = inner + 1e-12 * jnp.trace(inner) * jnp.eye(len(inner), dtype=inner.dtype)
    change = free[:, 0] - held @ jnp.linalg.solve(inner, kept.T @ free[:, 0])
    room = jnp.min(jnp.where(change < 0, weights / jnp.where(change < 0, -change, 1.0), jnp.inf))
    change = jnp.where(used & jnp.isfinite(room), change, 0.0) * jnp.minimum(room, 1.0)
    return GaussianMixture(jnp.maximum(weights + jnp.nan_to_num(change), 0.0), mixture.means, mixture.covariances)


def squared_difference(one: GaussianMixture, other: GaussianMixture) -> Float[Array, ""]:
    """∫(p − q)² over ∫p² + ∫q², both smoothed a little: 0 for equal densities, 1 for disjoint ones.

    Args:
        one: One mixture p.
        other: Another mixture q.

    Returns:
        The relative squared difference.
    """
    scale = jnp.sqrt(jnp.diagonal(one.covariance + other.covariance) / 2)
    scale = jnp.where(scale > 0, scale, 1.0)
    p, q = ((m.weights, m.means / scale, m.covariances / outer(scale, scale)) for m in (one, other))
    pp, pq, qq = (a[0] @ _overlaps(a, b) @ b[0] for a, b in ((p, p), (p, q), (q, q)))
    return (pp - 2 * pq + qq) / (pp + qq)


def _solve(matrix, columns):
    factor = jax.scipy.linalg.cho_factor(matrix, lower=True)
    return jax.scipy.linalg.cho_solve(factor, columns)


def _overlaps(one: Parts, other: Parts) -> Float[Array, "k n"]:
    """⟨G_i, G_j⟩ of the components of two mixtures, smoothed a little, without building matrices."""
    d = one[1].shape[1]
    gap = [one[1][:, None, i] - other[1][None, :, i] for i in range(d)]
    rows: list[list[Any]] = [[None] * d for _ in range(d)]
    white: list[Any] = []
    squares: Any = 0.0
    volume: Any = 1.0
    for j in range(d):
        for i in range(j, d):
            shared = one[2][:, None, i, j] + other[2][None, :, i, j]
            rows[i][j] = shared - sum(rows[i][k] * rows[j][k] for k in range(j))
        pivot = jnp.sqrt(jnp.maximum(rows[j][j], 0.0) + RESOLVED**2)
        for i in range(j + 1, d):
            rows[i][j] = rows[i][j] / pivot
        white.append((gap[j] - sum(rows[j][k] * white[k] for k in range(j))) / pivot)
        squares, volume = squares + white[j] ** 2, volume * pivot
    return jnp.exp(-0.5 * squares) / volume


def _cheapest_pairs(mixture: GaussianMixture, most: Int[Array, ""]) -> tuple[Int[Array, " k"], Bool[Array, " k"]]:
    """A partner for each slot (itself where it stays alone), and which slots are emptied by the merging."""
    slots = jnp.arange(mixture.components)
    cost = merging_costs(mixture)
    least = jnp.min(cost, axis=1)
    best = jnp.min(jnp.where(cost == least[:, None], slots, mixture.components), axis=1)  # quicker than argmin
    best = jnp.minimum(best, mixture.components - 1)
    first = jnp.argmin(least)  # rounding may tell a cost from its mirror image: the cheapest pair always merges
    best = best.at[best[first]].set(first)
    mutual = (best[best] == slots) & (best != slots) & jnp.isfinite(least)
    leading = jnp.where(mutual & (slots < best), least, jnp.inf)
    rank = jnp.argsort(jnp.argsort(leading))
    chosen = jnp.isfinite(leading) & (rank < most)
    emptied = mutual & chosen[best] & (slots > best)
    return jnp.where(chosen, best, slots), emptied


def merging_costs(mixture: GaussianMixture) -> Float[Array, "k k"]:
    """Runnalls' cost of merging each pair, infinite on the diagonal and for empty slots."""
    slots = jnp.arange(mixture.components)
    scale = jnp.sqrt(jnp.diagonal(mixture.covariance))
    scale = jnp.where(scale > 0, scale, 1.0)
    parts = (mixture.weights, (mixture.means - mixture.mean) / scale, mixture.covariances / outer(scale, scale))
    weights, means, covariances = (part.astype(jnp.float32) for part in parts)  # enough for a choice
    total = weights[:, None] + weights
    share = weights[:, None] / jnp.where(total > 0, total, 1.0)
    apart = [means[:, None, i] - means[None, :, i] for i in range(mixture.dimension)]
    both = share * (1 - share)

    def together(i: int, j: int) -> Float[Array, "k k"]:
        one, other = covariances[:, None, i, j], covariances[None, :, i, j]
        return share * one + (1 - share) * other + both * apart[i] * apart[j]

    alone = weights * _log_volume(lambda i, j: covariances[:, i, j], mixture.dimension)
    cost = total * _log_volume(together, mixture.dimension) - (alone[:, None] + alone)
    empty = weights <= 0
    cost = jnp.where(empty[:, None] | empty | (slots[:, None] == slots), jnp.inf, cost)
    return jnp.where(slots[:, None] < slots, cost, cost.T)  # symmetric to the last digit


def _log_volume(entry: Callable[[int, int], Float[Array, "*batch"]], d: int) -> Float[Array, "*batch"]:
    """½ log det of covariances given entry by entry: many thousands of pairs in one pass, without matrices."""
    rows: list[list[Any]] = [[None] * d for _ in range(d)]
    total: Any = 0.0
    for j in range(d):
        pivot = entry(j, j) - sum(rows[j][k] ** 2 for k in range(j))
        pivot = jnp.maximum(pivot, 0.0) + NARROWEST**2
        total = total + jnp.log(pivot) / 2
        for i in range(j + 1, d):
            rows[i][j] = (entry(i, j) - sum(rows[i][k] * rows[j][k] for k in range(j))) / jnp.sqrt(pivot)
    return total


def _merged(mixture: GaussianMixture, partner: Int[Array, " k"], emptied: Bool[Array, " k"]) -> GaussianMixture:
    """Each slot merged with its partner; the slots that are emptied lose their weight."""
    alone = partner == jnp.arange(mixture.components)
    weights, other = mixture.weights, jnp.where(alone, 0.0, mixture.weights[partner])
    total = weights + other
    share = (other / jnp.where(total > 0, total, 1.0))[:, None]
    apart = mixture.means[partner] - mixture.means
    means = mixture.means + share * apart
    within = mixture.covariances + share[..., None] * (mixture.covariances[partner] - mixture.covariances)
    covariances = within + (share * (1 - share))[..., None] * outer(apart, apart)
    return GaussianMixture(jnp.where(emptied, 0.0, total), means, symmetrise(covariances))


def with_empty_slots(mixture: GaussianMixture, count: int) -> GaussianMixture:
    """Appends slots of weight zero."""
    return GaussianMixture(
        *(jnp.concatenate([leaf, jnp.zeros((count, *leaf.shape[1:]), leaf.dtype)]) for leaf in jax.tree.leaves(mixture))
    )


def _precision_of(mixture: GaussianMixture) -> AbstractContextManager:
    """Double precision for NumPy, what JAX is set to for its own arrays."""
    return jax.enable_x64(True) if isinstance(mixture.weights, np.ndarray) else nullcontext()


def side_by_side(*mixtures: GaussianMixture) -> GaussianMixture:
    """Joins the slots of several mixtures; their weights stay as they are."""
    return GaussianMixture(*map(jnp.concatenate, zip(*map(jax.tree.leaves, mixtures), strict=True)))


def _to_jax(mixture: GaussianMixture) -> GaussianMixture:
    return GaussianMixture(*map(jnp.asarray, jax.tree.leaves(mixture)))


def _as_given(result: GaussianMixture, given: GaussianMixture) -> GaussianMixture:
    return result.numpy() if isinstance(given.weights, np.ndarray) else result
