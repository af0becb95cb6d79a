"""The first law of a jump: how many Gaussians, and whether their shapes depend on the state."""

import numpy as np
from jaxtyping import Float
from scipy.special import expit, logit, softmax
from scipy.stats import poisson

from nke.arrays import log_normal_density, outer
from nke.fitting.initial_moments import LEAST_PROBABILITY, DisplacementMoments, displacement_density
from nke.fitting.rules import SelectionRules
from nke.mixtures import GaussianMixture
from nke.operators import monomials


def initial_jump_law(
    moments: DisplacementMoments,
    displacement: Float[np.ndarray, "t d"],
    step: Float[np.ndarray, " t"],
    components: int | None,
    seed: int,
    rules: SelectionRules,
    without_noise: bool = False,
) -> GaussianMixture | None:
    """Fits the law of one jump, noise included, to displacements drawn by the probability that they held a jump.

    That probability is read off one wide Gaussian at first, and then off the law found.

    Args:
        moments: Of the displacements.
        displacement: The displacements.
        step: Their times.
        components: Number of Gaussians; None: as many as held-out jumps support, without those that are rare or hardly
            larger than the noise.
        seed: Of the draw.
        rules: What another Gaussian must gain, and which ones are dropped.
        without_noise: Whether there is no noise between the jumps.

    Returns:
        The law; None where there are too few jumps.
    """
    rng, jumped = np.random.default_rng(seed), moments.jumped
    most = rules.jump_sample_without_noise if without_noise else rules.jump_sample
    gain = rules.component_gain_without_noise if without_noise else rules.component_gain
    count, law = components, None
    for _ in range(2):
        drawn = np.flatnonzero(rng.random(len(displacement)) < jumped)
        jumps = displacement[rng.permutation(drawn)[:most]]
        count = count or _count(jumps, seed, gain, rules)
        if len(jumps) < rules.jumps_per_component * count:
            return None
        law = GaussianMixture.fit(jumps, count, seed)
        if count == 1:
            return law
        if components is None:
            law = _distinct(law, float(np.median(step)) * moments.noise, rules)
            count = law.components
        calm = displacement_density(displacement, step, moments.noise)
        probability = np.clip(jumped.mean(), LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
        jumped = expit(logit(probability) + np.asarray(law.log_prob(displacement)) - calm)
    return law


def _count(jumps: Float[np.ndarray, "n d"], seed: int, gain: float, rules: SelectionRules) -> int:
    """How many Gaussians half of the jumps need to predict the other half."""
    train, check = jumps[::2], jumps[1::2]
    best, count = -np.inf, 1
    for k in range(1, rules.most_jump_components + 1):
        if len(train) < rules.jumps_per_component * k:
            break
        reached = float(GaussianMixture.fit(train, k, seed).log_prob(check).mean())
        if reached < best + gain:
            break
        best, count = reached, k
    return count


def _distinct(law: GaussianMixture, noise: Float[np.ndarray, "d d"], rules: SelectionRules) -> GaussianMixture:
    """Without components that are rare or hardly larger than the noise of a step; all of them if none is left."""
    second = law.covariances + outer(law.means, law.means)
    size = np.sqrt(np.trace(np.linalg.solve(noise, second), axis1=-2, axis2=-1) / len(noise))
    keep = (law.weights > rules.least_component_weight) & (size > rules.least_component_size)
    keep = keep if keep.any() else np.ones_like(keep)
    weights = law.weights[keep] / law.weights[keep].sum()
    return GaussianMixture(weights, law.means[keep], law.covariances[keep])


def share_explained_by_state(
    law: GaussianMixture,
    displacement: Float[np.ndarray, "t r"],
    jumped: Float[np.ndarray, " t"],
    x: Float[np.ndarray, "t d"],
    deviations: float,
) -> tuple[float, float]:
    """Computes how much of the jumps of one and the same Gaussian the state explains.

    Args:
        law: Of one jump.
        displacement: The displacements without the drift.
        jumped: Probability that each held a jump.
        x: Their states.
        deviations: Standard deviations that count as chance.

    Returns:
        The share of the variance of the jumps, or of their squares, that a quadratic function of the state explains;
        and the share that chance alone explains.
    """
    terms = np.asarray(monomials(x, 2))
    columns = np.concatenate([np.ones((len(x), 1)), terms - terms.mean(axis=0)], axis=1)
    shapes = zip(law.means, law.covariances, strict=True)
    density = np.stack([log_normal_density(displacement - mean, covariance[None]) for mean, covariance in shapes])
    members = jumped * softmax(density + np.log(law.weights)[:, None], axis=0)
    shares = []
    for power in (1, 2):
        # Of every Gaussian: the sums of squares that are left, and all.
        sums = [
            _squares(columns, (displacement - member @ displacement / member.sum()) ** power, member)
            for member in members
        ]
        left, total = np.sum(sums, axis=0)
        shares.append(1 - left / total)
    freedom = len(members) * (np.linalg.matrix_rank(columns) - 1)
    return float(max(shares)), float((freedom + deviations * np.sqrt(2 * freedom)) / members.sum())


def _squares(
    columns: Float[np.ndarray, "t n"], target: Float[np.ndarray, "t d"], weight: Float[np.ndarray, " t"]
) -> tuple[float, float]:
    """Weighted sums of squares of standardised targets: what a regression on the columns leaves, and all."""
    target = target - weight @ target / weight.sum()
    target = target / np.sqrt(weight @ target**2 / weight.sum())
    root = np.sqrt(weight)[:, None]
    found = np.linalg.lstsq(root * columns, root * target, rcond=1e-6)[0]
    return float(weight @ np.sum((target - columns @ found) ** 2, axis=1)), float(weight.sum() * target.shape[1])


def series_order(expected: float, components: int, rules: SelectionRules) -> int:
    """Chooses how many jumps per step the Poisson series tells apart: at least one, at most four.

    Args:
        expected: Jumps per step.
        components: Gaussians in the law of one jump.
        rules: The probability of more that is neglected, and the most components for any number of jumps.

    Returns:
        The order of the series.
    """
    order = 1
    while (
        order < 4
        and components ** (order + 1) <= rules.most_series_components
        and poisson.sf(order, expected) > rules.neglected_jumps
    ):
        order += 1
    return order
