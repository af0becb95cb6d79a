"""Strengths of penalties by evidence: how much of each group of parameters the data asks for.

Near its maximum a log likelihood is bᵀθ − θᵀHθ/2 + constant. With independent Gaussian priors of precision λ_g for the
parameters of each group g, Λ = diag(λ), the evidence (marginal likelihood) of the λ is

    log ∫ e^{bᵀθ − θᵀHθ/2} p(θ | λ) dθ = ½ bᵀθ̂ − ½ log |I + Λ^{−½} H Λ^{−½}|,   θ̂ = (H + Λ)⁻¹ b.

It is the scale on which all laws are compared: a group that explains nothing costs evidence, so its λ goes to infinity
and the group is dropped (MacKay 1992; Wood's restricted likelihood is the same quantity).
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.linalg import cho_factor, cho_solve, get_lapack_funcs

from nke.errors import DivergenceError

WEAK = 1e-3  # precision of parameters that belong to no group, which are of order one


class Penalised(NamedTuple):
    """Parameters under penalties that maximise the evidence.

    Attributes:
        values: θ̂; zero for the parameters of dropped groups.
        precisions: λ of every group; infinite for dropped ones.
        evidence: Log evidence over that of θ = 0.
        effective: Effective number of parameters of every group, Σ (1 − [(I + Λ^{−½}HΛ^{−½})⁻¹]_ii).
        cost: Log likelihood at θ̂, over that at zero, less the evidence.
    """

    values: Float[np.ndarray, " p"]
    precisions: Float[np.ndarray, " g"]
    evidence: float
    effective: Float[np.ndarray, " g"]
    cost: float


def maximise_evidence(
    information: Float[np.ndarray, "p p"],
    linear: Float[np.ndarray, " p"],
    groups: Int[np.ndarray, " p"],
    precisions: Float[np.ndarray, " g"],
    iterations: int = 50,
    tolerance: float = 0.03,
    least_effective: float = 0.1,
    weak: Float[np.ndarray, " p"] | float = WEAK,
) -> Penalised:
    """Finds the penalties of the largest evidence by MacKay's fixed point λ ← γ/|θ|², the best iterate kept.

    Args:
        information: The matrix H.
        linear: The vector b.
        groups: Group of each parameter; −1 for those with a weak prior only.
        precisions: λ to start with; an infinite one says that the group is not used.
        iterations: How many at most.
        tolerance: Nats of evidence by which the last iterations may differ.
        least_effective: Effective parameters below which a group is dropped.
        weak: Precisions of the parameters without a group; infinite for those that are not used.

    Returns:
        Parameters, penalties and evidence.

    Example:
        >>> H, b = np.diag([100.0, 100.0]), np.array([100.0, 0.1])  # a parameter of 1 ± 0.1, and one of 0.001 ± 0.1
        >>> found = nke.fitting.maximise_evidence(H, b, np.array([0, 1]), np.ones(2))
        >>> found.values.round(2).tolist(), found.precisions.round(1).tolist()
        ([0.99, 0.0], [1.0, inf])
    """
    precisions = np.array(precisions, float)
    best, before = None, -np.inf
    for _ in range(iterations):
        found, norms = _at(information, linear, groups, precisions, weak)
        if best is None or found.evidence > best.evidence:
            best = found
        if abs(found.evidence - before) < tolerance:
            break
        before = found.evidence
        # A group that is dropped comes back only if the search is started anew.
        on = np.isfinite(precisions) & (found.effective > least_effective)
        precisions = np.where(on, found.effective / np.maximum(norms, 1e-300), np.inf)
    assert best is not None
    return best


def without_useless_groups(
    found: Penalised,
    information: Float[np.ndarray, "p p"],
    linear: Float[np.ndarray, " p"],
    groups: Int[np.ndarray, " p"],
    most_effective: float = np.inf,
    most_loss: float = 2.0,
    weak: Float[np.ndarray, " p"] | float = WEAK,
) -> Penalised:
    """Drops groups one by one, the cheapest first, as long as all of that costs little evidence.

    The evidence has its maximum at a finite λ for about every second group of pure noise; it gains little there. What
    dropping group g loses, the other λ as they are, is the ratio of Savage and Dickey, p(θ_g = 0) / p(θ_g = 0 | data).

    Args:
        found: What ``maximise_evidence`` found.
        information: The matrix H.
        linear: The vector b.
        groups: Group of each parameter.
        most_effective: Effective parameters above which a group is not dropped.
        most_loss: Nats of evidence that dropping them may cost, all together.
        weak: Precisions of the parameters without a group.

    Returns:
        The smaller law, or the same.
    """
    precisions, lost = found.precisions, 0.0
    while (open_groups := np.isfinite(precisions) & (found.effective < most_effective)).any():
        losses = np.where(open_groups, _losses(information, linear, groups, precisions, weak), np.inf)
        cheapest = int(np.argmin(losses))
        lost += losses[cheapest]
        if lost > most_loss:
            break
        precisions = np.where(np.arange(len(precisions)) == cheapest, np.inf, precisions)
    if np.array_equal(precisions, found.precisions):
        return found
    return maximise_evidence(information, linear, groups, precisions, weak=weak)


def best_subset(
    information: Float[np.ndarray, "p p"], linear: Float[np.ndarray, " p"], cost: float, most: int = 12
) -> Bool[np.ndarray, " p"]:
    """Finds which parameters to use if each costs as much: of all subsets the best.

    Dropping one after the other may end elsewhere: where terms are much alike, two may stand for a third. With more
    than ``most`` parameters those whose absence costs least go first, one by one.

    Args:
        information: The matrix H.
        linear: The vector b.
        cost: Nats that a parameter must gain.
        most: Parameters of which all subsets are tried.

    Returns:
        Whether each is used.

    Example:
        >>> terms = np.array([[1.0, 0.9, 0.8], [0.9, 1.0, 0.9], [0.8, 0.9, 1.0]]) * 1000
        >>> nke.fitting.best_subset(terms, terms @ np.array([0.0, 1.0, 0.0]), cost=3.0).tolist()
        [False, True, False]
    """
    scale = np.sqrt(np.maximum(np.diag(information), 1e-300))
    whole = information / np.outer(scale, scale) + 1e-10 * np.eye(len(scale))
    right, on = linear / scale, np.diag(information) > 0
    while on.sum() > most:
        left = np.flatnonzero(on)
        inverse = np.linalg.inv(whole[np.ix_(left, left)])
        on[left[np.argmin((inverse @ right[left]) ** 2 / np.diag(inverse))]] = False
    left = np.flatnonzero(on)
    subsets = np.arange(2 ** len(left))[:, None] >> np.arange(len(left)) & 1 == 1
    parts = np.where(subsets[:, :, None] & subsets[:, None, :], whole[np.ix_(left, left)], np.eye(len(left)))
    values = np.linalg.solve(parts, np.where(subsets, right[left], 0.0)[..., None])[..., 0]
    on[left] = subsets[np.argmax(values @ right[left] / 2 - cost * subsets.sum(axis=1))]
    return on


def _losses(
    information: Float[np.ndarray, "p p"],
    linear: Float[np.ndarray, " p"],
    groups: Int[np.ndarray, " p"],
    precisions: Float[np.ndarray, " g"],
    weak: Float[np.ndarray, " p"] | float = WEAK,
) -> Float[np.ndarray, " g"]:
    """Nats that dropping each group would lose; infinite for those that are dropped already."""
    scale, factor, values = _solve(information, linear, groups, precisions, weak)
    on = np.isfinite(parameter_precisions(groups, precisions, weak))
    inverse, whitened = cho_solve(factor, np.eye(len(scale)), check_finite=False), values[on] / scale
    losses = np.full(len(precisions), np.inf)
    for group in np.flatnonzero(np.isfinite(precisions)):
        at = np.flatnonzero(groups[on] == group)
        try:
            lower = np.linalg.cholesky(inverse[np.ix_(at, at)])
        except np.linalg.LinAlgError:  # so certain that its covariance is lost to rounding
            continue
        losses[group] = np.log(np.diag(lower)).sum() + np.sum(np.linalg.solve(lower, whitened[at]) ** 2) / 2
    return losses


def _at(
    information: Float[np.ndarray, "p p"],
    linear: Float[np.ndarray, " p"],
    groups: Int[np.ndarray, " p"],
    precisions: Float[np.ndarray, " g"],
    weak: Float[np.ndarray, " p"] | float = WEAK,
) -> tuple[Penalised, Float[np.ndarray, " g"]]:
    """Parameters and evidence for given penalties, and Σθ² of every group."""
    _, factor, values = _solve(information, linear, groups, precisions, weak)
    on = np.isfinite(parameter_precisions(groups, precisions, weak))
    (invert,) = get_lapack_funcs(("trtri",), (factor[0],))
    left = np.sum(np.tril(invert(factor[0], lower=1)[0]) ** 2, axis=0)  # the diagonal of the inverse
    evidence = linear @ values / 2 - np.log(np.diag(factor[0])).sum()
    grouped, count = groups[on], len(precisions)
    free = grouped >= 0
    effective, norms = (
        np.bincount(grouped[free], each, count).astype(float)  # without any group it would count
        for each in (1 - left[free], values[on][free] ** 2)
    )
    cost = linear @ values - values @ information @ values / 2 - evidence
    return Penalised(values, precisions, float(evidence), effective, float(cost)), norms


def _solve(
    information: Float[np.ndarray, "p p"],
    linear: Float[np.ndarray, " p"],
    groups: Int[np.ndarray, " p"],
    precisions: Float[np.ndarray, " g"],
    weak: Float[np.ndarray, " p"] | float = WEAK,
) -> tuple[Float[np.ndarray, " n"], tuple[Float[np.ndarray, "n n"], bool], Float[np.ndarray, " p"]]:
    """Λ^{−½} of the parameters that are used, the factor of I + Λ^{−½}HΛ^{−½}, and θ̂."""
    each = parameter_precisions(groups, precisions, weak)
    on = np.isfinite(each)
    scale = 1 / np.sqrt(each[on])
    whole = scale[:, None] * information[np.ix_(on, on)] * scale
    whole[np.diag_indices_from(whole)] += 1
    factor = _factor(whole)
    values = np.zeros(len(linear))
    values[on] = scale * cho_solve(factor, scale * linear[on], check_finite=False)
    return scale, factor, values


def _factor(whole: Float[np.ndarray, "p p"]) -> tuple[Float[np.ndarray, "p p"], bool]:
    """The Cholesky factor; sums in single precision may leave negative eigenvalues, which a small ridge lifts."""
    for ridge in (0.0, 1e-9, 1e-7, 1e-6, 1e-5, 1e-4):
        try:
            return cho_factor(whole + ridge * np.diag(np.diag(whole)), lower=True, check_finite=False)
        except np.linalg.LinAlgError:
            continue
    raise DivergenceError("the information about the parameters is not positive definite")


def parameter_precisions(
    groups: Int[np.ndarray, " p"],
    precisions: Float[np.ndarray, " g"],
    weak: Float[np.ndarray, " p"] | float = WEAK,
) -> Float[np.ndarray, " p"]:
    """Gives every parameter the precision of its prior.

    Args:
        groups: Group of each parameter; −1 for those with a weak prior only.
        precisions: λ of every group.
        weak: Of parameters without a group.

    Returns:
        One number for each parameter; infinite for those that are not used.
    """
    return np.where(groups < 0, weak, np.append(precisions, 0.0)[groups])  # −1 is the last
