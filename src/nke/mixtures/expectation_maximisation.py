"""Maximum-likelihood Gaussian mixtures by expectation–maximisation (the paper's Π_K for K > 1)."""

import numpy as np
from jaxtyping import Float

from nke.arrays import log_normal_density, outer


def maximum_likelihood(
    points: Float[np.ndarray, "n d"], components: int, seed: int
) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, "k d"], Float[np.ndarray, "k d d"]]:
    """Fits weights, means and covariances: the most likely of four seeded starts, in order of falling weight."""
    rng = np.random.default_rng(seed)
    spread = points.std(axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    white = (points - points.mean(axis=0)) / scale
    runs = [_climb(white, _k_means_plus_plus(white, components, rng)) for _ in range(4)]
    _, weights, means, covariances = max(runs, key=lambda run: run[0])
    order = np.argsort(-weights)
    return (
        weights[order],
        points.mean(axis=0) + scale * means[order],
        covariances[order] * outer(scale, scale),
    )


def _k_means_plus_plus(
    points: Float[np.ndarray, "n d"], components: int, rng: np.random.Generator
) -> Float[np.ndarray, "k d"]:
    """Draws starting means, each with probability ∝ squared distance to those already chosen."""
    centres = [points[rng.integers(len(points))]]
    distance = np.full(len(points), np.inf)
    for _ in range(components - 1):
        distance = np.minimum(distance, ((points - centres[-1]) ** 2).sum(axis=-1))
        total = distance.sum()
        chance = distance / total if total > 0 else None
        centres.append(points[rng.choice(len(points), p=chance)])
    return np.stack(centres)


def _climb(
    points: Float[np.ndarray, "n d"], means: Float[np.ndarray, "k d"]
) -> tuple[float, Float[np.ndarray, " k"], Float[np.ndarray, "k d"], Float[np.ndarray, "k d d"]]:
    """Alternates expectation and maximisation until the mean log-likelihood, which comes first, stops rising."""
    ridge = 1e-6  # of the total variance: keeps a component from collapsing on one point
    n, d = points.shape
    k = len(means)
    weights = np.full(k, 1.0 / k)
    covariances = np.broadcast_to(np.eye(d), (k, d, d)) * max(points.var(), ridge)
    score = previous = -np.inf
    for _ in range(500):
        joint = np.log(weights) + log_normal_density(points[:, None, :] - means, covariances)
        evidence = np.logaddexp.reduce(joint, axis=1)
        score = float(evidence.mean())
        share = np.exp(joint - evidence[:, None])
        mass = share.sum(axis=0) + 1e-300
        weights = np.maximum(mass / n, 1e-300)
        weights = weights / weights.sum()
        means = share.T @ points / mass[:, None]
        centred = points[:, None, :] - means
        covariances = np.einsum("nk,nki,nkj->kij", share, centred, centred) / mass[:, None, None]
        covariances = covariances + ridge * np.eye(d)
        if score - previous < 1e-8:
            break
        previous = score
    return score, weights, means, covariances
