"""Where training begins: a two-Gaussian law of the displacements, the same at every state.

Δx is N(0, s·C) without a jump and N(0, s·C + G) with one; expectation maximisation gives C, G and the share of
steps with a jump. G is read off whole displacements, so it starts too large by s·C; training corrects it.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import expit, logit, softmax

from nke.arrays import log_normal_density, outer
from nke.data import Coordinates
from nke.mixtures import GaussianMixture
from nke.operators import monomials

NEAR_ZERO = 0.05  # share of the median state below which relative noise no longer falls with the state
MOST_COMPONENTS = 4  # Gaussians in the law of a jump that are tried
MOST_JUMPS = 1500  # jumps that the law is fitted to
FEWEST_JUMPS = 20  # for every one of its Gaussians
TELLING = 0.05  # held-out nats per jump that another Gaussian must bring
CLEAR_JUMPS, CLEARLY_TELLING = 6000, 0.01  # the same two where there is no noise to take for a jump
RARE, SMALL = 0.06, 3.0  # share of the jumps, size over the noise below which one is not believed
ITERATIONS, SETTLED = 20, 1e-3  # of expectation maximisation, and change of a chance below which it ends
FOLLOWS = 0.05  # share of the variance of jumps that must depend on the state before their shapes do
BEYOND_CHANCE = 4.0  # standard deviations
FIRST_GUESS = 0.05  # share of the largest displacements taken for jumps at first
RIDGE = 1e-4  # of the least squares, in units of the mean square of a column
ALIKE = 1e-9  # relative difference of steps that is rounding
LEAST = 1e-5  # share of steps with a jump
NOISELESS = 1e-4  # noise of a step, in standard deviations of the data, that counts as none
RESOLUTION = 1e-3  # with which the motion of a coordinate without noise is read, likewise


class Start(NamedTuple):
    """Calm covariance per unit time, jump covariance, jumps per unit time, chance that each step held a jump."""

    spread: Float[np.ndarray, "d d"]
    jump: Float[np.ndarray, "d d"]
    rate: float
    jumped: Float[np.ndarray, " t"]

    def log_prob(self, moved: Float[np.ndarray, "t d"], step: Float[np.ndarray, " t"]) -> Float[np.ndarray, " t"]:
        """Of displacements under the two Gaussians."""
        calm = _density(moved, step, self.spread)
        if self.rate == 0:
            return calm
        chance = np.clip(self.rate * step, LEAST, 0.5)
        jumped = _density(moved, step, self.spread, self.jump)
        return np.logaddexp(np.log1p(-chance) + calm, np.log(chance) + jumped)

    def read_with(self, resolution: Float[np.ndarray, " d"], step: float) -> "Start":
        """The calm noise of coordinates with a resolution replaced by it."""
        noisy = resolution == 0
        return self._replace(spread=self.spread * np.outer(noisy, noisy) + np.diag(resolution**2 / step))


def _density(
    moved: Float[np.ndarray, "t d"],
    step: Float[np.ndarray, " t"],
    spread: Float[np.ndarray, "d d"],
    jump: Float[np.ndarray, "d d"] | float = 0.0,
) -> Float[np.ndarray, " t"]:
    """log G_{0, s·C + G} of displacements; one matrix to factorise where all steps are alike."""
    different = step if np.ptp(step) > ALIKE * step[0] else step[:1]
    return log_normal_density(moved, different[:, None, None] * spread + jump)


def start_without_jumps(
    moved: Float[np.ndarray, "t d"], step: Float[np.ndarray, " t"], least: Float[np.ndarray, " d"] | float = 0.0
) -> Start:
    """``least``: noise of a step below which none is told from it."""
    calm = np.zeros(len(step))
    return Start(*_covariances(moved, step, calm, least), 0.0, calm)


def start_with_jumps(
    moved: Float[np.ndarray, "t d"], step: Float[np.ndarray, " t"], least: Float[np.ndarray, " d"] | float = 0.0
) -> Start:
    jumped = _largest(motion_size(moved, step))
    spread, jump = _covariances(moved, step, jumped, least)
    for _ in range(ITERATIONS):
        chance = np.clip(jumped.mean(), LEAST, 1 - LEAST)
        calm, before = _density(moved, step, spread), jumped
        jumped = expit(logit(chance) + _density(moved, step, spread, jump) - calm)
        spread, jump = _covariances(moved, step, jumped, least)
        if np.abs(jumped - before).max() < SETTLED:
            break
    return Start(spread, jump, max(float(jumped.mean()), LEAST) / float(step.mean()), jumped)


def jump_law(
    start: Start,
    moved: Float[np.ndarray, "t d"],
    step: Float[np.ndarray, " t"],
    components: int | None,
    seed: int,
    clear: bool = False,
) -> GaussianMixture | None:
    """The law of one jump, noise included, from displacements drawn by the chance that they held a jump.

    That chance is read off one wide Gaussian at first, and then off the law found. ``components`` None: as many as
    held-out jumps ask for, without those that are rare or no wider than the noise. None where jumps are too few.
    ``clear``: there is no noise between the jumps.
    """
    rng, jumped = np.random.default_rng(seed), start.jumped
    count, law = components, None
    for _ in range(2):
        drawn = np.flatnonzero(rng.random(len(moved)) < jumped)
        jumps = moved[rng.permutation(drawn)[: CLEAR_JUMPS if clear else MOST_JUMPS]]
        count = count or _count(jumps, seed, CLEARLY_TELLING if clear else TELLING)
        if len(jumps) < FEWEST_JUMPS * count:
            return None
        law = GaussianMixture.fit(jumps, count, seed)
        if count == 1:
            return law
        if components is None:
            law = _telling(law, float(np.median(step)) * start.spread)
            count = law.components
        calm = _density(moved, step, start.spread)
        jumped = expit(logit(np.clip(jumped.mean(), LEAST, 1 - LEAST)) + np.asarray(law.log_prob(moved)) - calm)
    return law


def _count(jumps: Float[np.ndarray, "n d"], seed: int, telling: float) -> int:
    """How many Gaussians half of the jumps need to predict the other half."""
    train, check = jumps[::2], jumps[1::2]
    best, count = -np.inf, 1
    for k in range(1, MOST_COMPONENTS + 1):
        if len(train) < FEWEST_JUMPS * k:
            break
        reached = float(GaussianMixture.fit(train, k, seed).log_prob(check).mean())
        if reached < best + telling:
            break
        best, count = reached, k
    return count


def _telling(law: GaussianMixture, noise: Float[np.ndarray, "d d"]) -> GaussianMixture:
    """Without components that are rare or hardly larger than the noise of a step; all of them if none is left."""
    second = law.covariances + outer(law.means, law.means)
    size = np.sqrt(np.trace(np.linalg.solve(noise, second), axis1=-2, axis2=-1) / len(noise))
    keep = (law.weights > RARE) & (size > SMALL)
    keep = keep if keep.any() else np.ones_like(keep)
    weights = law.weights[keep] / law.weights[keep].sum()
    return GaussianMixture(weights, law.means[keep], law.covariances[keep])


def jumps_follow_the_state(
    law: GaussianMixture,
    moved: Float[np.ndarray, "t r"],
    jumped: Float[np.ndarray, " t"],
    x: Float[np.ndarray, "t d"],
) -> tuple[bool, float]:
    """Whether jumps of one and the same Gaussian of the law differ from state to state, and by what share.

    The share is that of the variance of the jumps, or of their squares, that a quadratic function of the state
    explains; it must be beyond chance as well.
    """
    terms = np.asarray(monomials(x, 2))
    columns = np.concatenate([np.ones((len(x), 1)), terms - terms.mean(axis=0)], axis=1)
    shapes = zip(law.means, law.covariances, strict=True)
    density = np.stack([log_normal_density(moved - mean, covariance[None]) for mean, covariance in shapes])
    members = jumped * softmax(density + np.log(law.weights)[:, None], axis=0)
    shares = []
    for power in (1, 2):
        # Of every Gaussian: the sums of squares that are left, and all.
        sums = [_squares(columns, (moved - member @ moved / member.sum()) ** power, member) for member in members]
        left, total = np.sum(sums, axis=0)
        shares.append(1 - left / total)
    freedom = len(members) * (np.linalg.matrix_rank(columns) - 1)
    chance = (freedom + BEYOND_CHANCE * np.sqrt(2 * freedom)) / members.sum()
    return bool(max(shares) > max(FOLLOWS, chance)), max(shares)


def _squares(
    columns: Float[np.ndarray, "t n"], target: Float[np.ndarray, "t d"], weight: Float[np.ndarray, " t"]
) -> tuple[float, float]:
    """Weighted sums of squares of standardised targets: what a regression on the columns leaves, and all."""
    target = target - weight @ target / weight.sum()
    target = target / np.sqrt(weight @ target**2 / weight.sum())
    root = np.sqrt(weight)[:, None]
    found = np.linalg.lstsq(root * columns, root * target, rcond=1e-6)[0]
    return float(weight @ np.sum((target - columns @ found) ** 2, axis=1)), float(weight.sum() * target.shape[1])


def near_zero(x: Float[np.ndarray, "t d"], coordinates: Coordinates) -> tuple[np.ndarray, np.ndarray]:
    """The user's zero in the coordinates of training, and a size below which a state counts as zero."""
    origin = coordinates.to(np.zeros(x.shape[1]))
    away = np.median(np.abs(x - origin), axis=0)
    return origin, NEAR_ZERO * np.where(away > 0, away, 1.0)


def state_size(x: Float[np.ndarray, "t d"], coordinates: Coordinates) -> Float[np.ndarray, "t d"]:
    """√(c² + x²), the size of each state as the user measures it, in the coordinates of training."""
    origin, least = near_zero(x, coordinates)
    return np.sqrt(least**2 + (x - origin) ** 2)


def polynomial_drift(
    terms: Float[np.ndarray, "t n"], moved: Float[np.ndarray, "t d"], weights: Float[np.ndarray, "t d"]
) -> tuple[Float[np.ndarray, " d"], Float[np.ndarray, "d n"]]:
    """b and A of moved ≈ b + A·terms by weighted least squares, coordinate by coordinate; a little ridge."""
    columns = np.concatenate([np.ones((len(terms), 1)), terms], axis=1)
    scale = np.sqrt(np.mean(columns**2, axis=0))
    scale = np.where(scale > 0, scale, 1.0)
    columns = columns / scale
    found = []
    for target, weight in zip(moved.T, weights.T, strict=True):
        weight = weight / weight.mean()
        normal = (columns.T * weight) @ columns / len(columns) + RIDGE * np.eye(columns.shape[1])
        found.append(np.linalg.solve(normal, (columns.T * weight) @ target / len(columns)) / scale)
    table = np.array(found)
    return table[:, 0], table[:, 1:]


def _largest(size: Float[np.ndarray, " t"]) -> Float[np.ndarray, " t"]:
    """1 for about ``FIRST_GUESS`` of the largest, with ties unless half of all tie."""
    threshold = np.quantile(size, 1 - FIRST_GUESS)
    tied = size >= threshold
    return (tied if tied.mean() < 0.5 else size > threshold).astype(float)


def motion_size(moved: Float[np.ndarray, "t d"], step: Float[np.ndarray, " t"]) -> Float[np.ndarray, " t"]:
    """Length of each displacement over √step, coordinates in units of their typical motion."""
    scale = np.median(np.abs(moved), axis=0)
    return np.sqrt(np.sum((moved / np.where(scale > 0, scale, 1.0)) ** 2, axis=1) / step)


def _covariances(moved, step, jumped, least) -> tuple[Float[np.ndarray, "d d"], Float[np.ndarray, "d d"]]:
    """Of the calm motion per unit time, and of the jumps; positive definite also where nothing moves."""
    calm = 1 - jumped
    spread = (moved.T * (calm / step)) @ moved / max(calm.sum(), 1.0)
    spread = _positive(spread + np.diag(np.maximum(least**2 / np.median(step) - np.diag(spread), 0.0)))
    total = (moved.T * jumped) @ moved / max(jumped.sum(), 1.0)
    return spread, _positive(total)


def _positive(covariance: Float[np.ndarray, "d d"]) -> Float[np.ndarray, "d d"]:
    diagonal = np.diag(covariance)
    floor = np.maximum(1e-6 * diagonal, 1e-12 * diagonal.max() if diagonal.any() else 1.0)
    return covariance + np.diag(floor)
