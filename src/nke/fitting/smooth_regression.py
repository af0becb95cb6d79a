"""Smooth drift and noise by penalised regression: closed forms, the penalties by evidence.

The velocity of a step is regressed on features of the state half a step ahead, what is left of it gives the noise, and
the noise gives the weights of the next regression. It is the start of a smooth law, it chooses the features that the
law needs, and what is left of the motion shows the jumps more clearly than what a polynomial leaves.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from threadpoolctl import threadpool_limits

from nke.evaluation import independent_share
from nke.fitting.evidence import (
    WEAK,
    Penalised,
    best_subset,
    maximise_evidence,
    parameter_precisions,
    without_useless_groups,
)
from nke.fitting.initial_moments import TransitionSample, displacement_density, moments_with_jumps
from nke.fitting.packet_scores import lower_factors
from nke.fitting.smooth_basis import FeatureSet, GroupSize, exponentials, group_sizes, logarithms

CLEARLY = 3.0  # nats of evidence by which anything else must be ahead of a constant: odds of 20 to 1
MOST_LOG_NOISE = 8.0  # |entry| of a noise factor in a simulation, far from the data


class Functions(NamedTuple):
    """Several functions on the same features.

    Attributes:
        features: The features.
        weights: A row for each function.
        precisions: λ of every group for each function; infinite where it does not use the group.
        cost: Nats of evidence by which each is less than its likelihood: what its parameters cost.
    """

    features: FeatureSet
    weights: Float[np.ndarray, "o f"]
    precisions: Float[np.ndarray, "o g"]
    cost: Float[np.ndarray, " o"]

    @classmethod
    def of(cls, features: FeatureSet, found: list[Penalised]) -> "Functions":
        """Collects regressions on the same features."""
        columns = ([f.values for f in found], [f.precisions for f in found], [f.cost for f in found])
        return cls(features, *map(np.array, columns))

    def trimmed(self) -> "Functions":
        """Leaves out features that no function uses."""
        used = np.asarray(np.isfinite(self.precisions).any(axis=0))
        features, kept = self.features.used(used)
        groups = np.concatenate([np.arange(self.features.degree - 1) < features.degree - 1, used[self._powers :]])
        return Functions(features, self.weights[:, kept], self.precisions[:, groups], self.cost)

    @property
    def _powers(self) -> int:
        return self.features.degree - 1

    def __call__(self, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n o"]:
        """Computes the functions at states."""
        return self.features.design(x) @ self.weights.T


class Straightened(NamedTuple):
    """What a smooth drift leaves of displacements.

    Attributes:
        residual: The residuals, of covariance step·a.
        white: The same in units of the noise.
        log_densities: Gaussian log densities of the residuals.
        log_stretch: Logarithms by which the densities of the displacements themselves are larger.
    """

    residual: Float[np.ndarray, "t r"]
    white: Float[np.ndarray, "t r"]
    log_densities: Float[np.ndarray, " t"]
    log_stretch: Float[np.ndarray, " t"]

    @property
    def jumped(self) -> Float[np.ndarray, " t"]:
        """Probability that each held a jump: something larger than the noise explains."""
        return moments_with_jumps(self.white, np.ones(len(self.white))).jumped

    @property
    def excess_kurtosis(self) -> float:
        """Excess kurtosis in units of the noise, over the Gaussian value, where it is largest."""
        return float(np.max(np.mean(self.white**4, axis=0) / np.mean(self.white**2, axis=0) ** 2) / 3 - 1)

    @property
    def gain_of_jumps(self) -> Float[np.ndarray, " t"]:
        """Nats by which two Gaussians, the noise and one for jumps, explain each better than the noise alone."""
        once = np.ones(len(self.white))
        calm = displacement_density(self.white, once, np.eye(self.white.shape[1]))
        return moments_with_jumps(self.white, once).log_prob(self.white, once) - calm


@dataclass(frozen=True)
class SmoothRegression:
    """Drift and noise of the calm steps as smooth functions.

    Attributes:
        drift: Drift of the learned coordinates over ``speed``.
        speed: Their typical speeds.
        noise: Logarithms and entries of the noise factor, as in ``SmoothFactor``.
        start: The constant factor that they refer to.
        residual: Displacements without the drift.
        jump: The same where a jump came halfway, so that half of the drift is that of the state it led to.
        gain_over: Nats of evidence that all features gain in the drift over powers up to 1, 2, … alone, over all
            transitions.
        independent: Share of the transitions that are independent as far as the size of the noise goes.
    """

    drift: Functions
    speed: Float[np.ndarray, " r"]
    noise: Functions
    start: Float[np.ndarray, "r r"]
    residual: Float[np.ndarray, "t r"]
    jump: Float[np.ndarray, "t r"]
    gain_over: tuple[float, ...]
    independent: float

    @classmethod
    @threadpool_limits.wrap(limits=1, user_api="blas")
    def of(
        cls,
        sample: TransitionSample,
        calm: Float[np.ndarray, " t"],
        degree: int,
        seed: int,
        constant_noise: bool = False,
        most: int = 32_768,
        rounds: int = 2,
        sizes: Callable[[int], list[GroupSize]] = group_sizes,
    ) -> "SmoothRegression":
        """Regresses velocities and squared residuals in turn.

        Args:
            sample: The transitions.
            calm: Probability that each held no jump.
            degree: Highest power of the state.
            seed: Of the choice of centres.
            constant_noise: Whether the noise is the same everywhere.
            most: Transitions that are looked at.
            rounds: How often drift and noise are regressed in turn.
            sizes: Gives the kinds of kernels for a number of coordinates.

        Returns:
            The regression.
        """
        part = np.linspace(0, len(sample.x) - 1, min(most, len(sample.x))).astype(int)
        x, step, moved = sample.x[part], sample.step[part], sample.displacement[part]
        calm_part = calm[part]
        speed = np.sqrt(np.mean(sample.velocity**2, axis=0))
        speed = np.where(speed > 0, speed, 1.0)
        features = FeatureSet.of(x, degree, sizes, seed, sample.pairs)
        of_noise = replace(features, curves=logarithms(sample.x, sample.bounds))
        features = replace(features, curves=exponentials(x, np.append(sample.logarithms, np.zeros(len(sample.pairs)))))
        velocity, weight = moved / step[:, None] / speed, calm_part * step
        spread = np.sqrt(_mean_square(velocity, weight)) * np.ones_like(velocity)  # of velocity · √step
        design = features.design(x)
        drift, gain = _regress_drift(features, design, velocity, weight, spread)
        noise, start, rest = None, np.eye(len(speed)), velocity
        for _ in range(rounds):
            # To the states half a step ahead, around which the equation is linear to the order of the forward packet.
            half = step[:, None] / 2 * speed * drift(x)
            ahead = sample.visible_ahead(sample.states[part], half)
            design = features.design(ahead)
            spread = spread if noise is not None else _left(velocity, design @ drift.weights.T, step, calm_part)
            target = velocity if noise is None else _straightened(sample, part, drift, speed, half)[0]
            drift, gain = _regress_drift(features, design, target, weight, spread)
            target, _ = _straightened(sample, part, drift, speed, half)
            rest = (target - design @ drift.weights.T) * np.sqrt(step)[:, None] * speed
            start = np.linalg.cholesky(_covariance(rest, calm_part))
            design = of_noise.with_curves(design[:, : len(design.T) - len(features.curves)], ahead)
            noise = _regress_noise(of_noise, design, rest, start, calm_part, constant_noise)
            spread = _deviation(design @ noise.weights.T, start) / speed
        assert noise is not None
        independent = 1.0
        for _ in range(4):  # what the noise no longer follows shows how much of it was a memory
            factor = start @ lower_factors(design @ noise.weights.T, len(start))
            white = np.linalg.solve(factor, rest[..., None])[..., 0]
            share = independent_share(white, sample.trajectory[part])
            if share >= independent:
                break
            independent = share
            noise = _regress_noise(of_noise, design, rest, start, independent * calm_part, constant_noise)
        drift, noise = drift.trimmed(), noise.trimmed()
        middle = sample.visible_ahead(sample.states, sample.step[:, None] / 2 * speed * drift(sample.x))
        residual = sample.displacement - sample.step[:, None] * speed * drift(middle)
        landed = sample.visible_ahead(sample.states, sample.displacement)
        jump = sample.displacement - sample.step[:, None] * speed * (drift(sample.x) + drift(landed)) / 2
        gains = tuple(map(float, gain * len(sample.x) / len(part)))
        return cls(drift, speed, noise, start, residual, jump, gains, independent)

    @property
    def kernel_gain(self) -> float:
        """Nats of evidence that kernels gain over powers alone in the drift, over all transitions."""
        return self.gain_over[-1]

    def noise_deviation(self, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n r"]:
        """Computes the standard deviation of the noise of each coordinate per root of time."""
        return _deviation(self.noise(x), self.start)

    def log_densities(self, sample: TransitionSample) -> Float[np.ndarray, " t"]:
        """Computes the Gaussian log density of every displacement.

        Args:
            sample: The transitions.

        Returns:
            Log densities in the coordinates of the sample.
        """
        found = self.straightened(sample)
        return found.log_densities + found.log_stretch

    def log_densities_with_jumps(self, sample: TransitionSample) -> Float[np.ndarray, " t"]:
        """Computes the log density of every displacement, where some are larger than the noise explains.

        A jump is as large in units of the noise everywhere, so that it does not matter where it happens.

        Args:
            sample: The transitions.

        Returns:
            Log densities in the coordinates of the sample.
        """
        found = self.straightened(sample)
        return found.log_densities + found.log_stretch + found.gain_of_jumps

    def straightened(self, sample: TransitionSample) -> "Straightened":
        """Computes what the drift leaves of every displacement, its covariance step·a however the drift turns.

        Args:
            sample: The transitions.

        Returns:
            The residuals, and their densities under the noise of the regression.
        """
        half = sample.step[:, None] / 2 * self.speed * self.drift(sample.x)
        ahead = sample.visible_ahead(sample.states, half)
        target, log_stretch = _straightened(sample, np.arange(len(sample.x)), self.drift, self.speed, half)
        rest = (target - self.drift(ahead)) * self.speed * np.sqrt(sample.step)[:, None]
        factor = self.start @ lower_factors(self.noise(ahead), len(self.start))
        white = np.linalg.solve(factor, rest[..., None])[..., 0]
        logs = np.log(np.abs(np.diagonal(factor, axis1=-2, axis2=-1))).sum(axis=-1)
        densities = -(white**2).sum(axis=-1) / 2 - logs - len(self.start) * np.log(2 * np.pi * sample.step) / 2
        return Straightened(np.sqrt(sample.step)[:, None] * rest, white, densities, log_stretch)

    def simulated(self, sample: TransitionSample, rng: np.random.Generator, parts: int) -> Float[np.ndarray, "t r"]:
        """Simulates every transition once by Euler's method.

        Args:
            sample: The transitions.
            rng: Source of random numbers.
            parts: Into how many each step is cut.

        Returns:
            Displacements.
        """
        moved, step = np.zeros_like(sample.displacement), sample.step[:, None] / parts
        for _ in range(parts):
            ahead = sample.visible_ahead(sample.states, moved)
            factor = self.start @ lower_factors(
                np.clip(self.noise(ahead), -MOST_LOG_NOISE, MOST_LOG_NOISE), len(self.start)
            )
            noise = (factor @ rng.normal(size=moved.shape)[..., None])[..., 0]
            moved = moved + step * self.speed * self.drift(ahead) + np.sqrt(step) * noise
        return moved

    @property
    def cost(self) -> float:
        """Nats of evidence that the parameters cost."""
        return float(self.drift.cost.sum() + self.noise.cost.sum())

    @property
    def state_dependent_noise(self) -> bool:
        """Whether the noise depends on the state."""
        groups, weights = self.noise.features.groups, self.noise.weights
        return bool(np.isfinite(self.noise.precisions).any() or weights[:, (groups < 0)][:, 1:].any())


def _straightened(
    sample: TransitionSample,
    part: Int[np.ndarray, " t"],
    drift: Functions,
    speed: Float[np.ndarray, " r"],
    half: Float[np.ndarray, "t r"],
    apart: float = 1e-3,
    stiff: float = 1.0,
) -> tuple[Float[np.ndarray, "t r"], Float[np.ndarray, " t"]]:
    """Velocities over ``speed`` whose mean is the drift half a step ahead, and whose noise is that of the equation.

    And log |det R⁻¹|, by which their density differs from that of the displacements.

    With the drift f(m) + J (y − m) near m = x + h, the forward packet ends at x + s·R (f(m) − J h) with the covariance
    R s·a Rᵀ, R = (I − sJ/4)⁻²; so R⁻¹ Δx/s + J h has the mean f(m) and the covariance a/s.
    """
    states, step, free = sample.states[part], sample.step[part][:, None], sample.free
    drift, slopes = drift.trimmed(), []
    for j in range(len(free)):
        aside = np.zeros_like(half)
        aside[:, j] = apart
        there, back = (drift(sample.visible_ahead(states, half + side)) for side in (aside, -aside))
        slopes.append((there - back) * speed / (2 * apart))
    slope = np.stack(slopes, axis=-1)  # (t, r, r)
    turn = slope * step[..., None] / 4
    size = np.sqrt((turn**2).sum(axis=(1, 2), keepdims=True))
    turn = turn * np.minimum(1.0, stiff / np.maximum(size, 1e-300))
    back = np.eye(len(free)) - turn
    velocity = (sample.displacement[part] / step)[..., None]
    straight = back @ (back @ velocity) + 4 * turn / step[..., None] @ half[..., None]
    return straight[..., 0] / speed, 2 * np.linalg.slogdet(back)[1]


def _regress_drift(
    features: FeatureSet,
    design: Float[np.ndarray, "t f"],
    velocity: Float[np.ndarray, "t r"],
    weight: Float[np.ndarray, " t"],
    spread: Float[np.ndarray, "t r"],
) -> tuple[Functions, Float[np.ndarray, " degree"]]:
    """The drift of each coordinate, from velocities of variance spread²/step, and what all gain over powers alone."""
    found, groups, gain = [], features.groups, np.zeros(features.degree)
    # Powers up to 1, 2, …: those above the first are the first groups.
    only = [np.where(np.arange(features.count) < highest, 1.0, np.inf) for highest in range(features.degree)]
    curves, count = np.arange(len(groups)) >= len(groups) - len(features.curves), float((weight > 0).sum())
    # A slope of a logarithm and an exponential of it are much alike: only those that are needed.
    optional = (groups < 0) & (np.arange(len(groups)) > 0) & curves.any()
    constant = bool((np.ptp(spread, axis=0) == 0).all())
    gram = (design.T * weight) @ design if constant else None
    for i in range(velocity.shape[1]):
        each = weight / spread[:, i] ** 2
        information = gram / spread[0, i] ** 2 if gram is not None else (design.T * each) @ design
        linear = design.T @ (each * velocity[:, i])
        known = np.diag(information)
        weak = np.where(optional, np.where(known > 0, known / count, np.inf), WEAK)
        first = maximise_evidence(information, linear, groups, np.ones(features.count), weak=weak)
        first = without_useless_groups(first, information, linear, groups, weak=weak)
        if optional.any():
            weak[_not_needed(first, information, linear, groups, weak, optional, count)] = np.inf
            first = maximise_evidence(information, linear, groups, first.precisions, weak=weak)
        found.append(first)
        powers_alone = np.where(curves, np.inf, WEAK)
        alone = [maximise_evidence(information, linear, groups, powers, weak=powers_alone).evidence for powers in only]
        gain += np.maximum(found[-1].evidence - np.maximum.accumulate(alone), 0.0)
    return Functions.of(features, found), gain


def _not_needed(
    found: Penalised,
    information: Float[np.ndarray, "f f"],
    linear: Float[np.ndarray, " f"],
    groups: Int[np.ndarray, " f"],
    weak: Float[np.ndarray, " f"],
    optional: Bool[np.ndarray, " f"],
    count: float,
) -> Bool[np.ndarray, " f"]:
    """Optional parameters that the best subset of them lacks, all others being at their best beside it."""
    each = parameter_precisions(groups, found.precisions, weak)
    some, rest = np.flatnonzero(optional & np.isfinite(each)), np.flatnonzero(~optional & np.isfinite(each))
    inner = information[np.ix_(rest, rest)] + np.diag(each[rest])
    solved = np.linalg.solve(inner, np.column_stack([information[np.ix_(rest, some)], linear[rest]]))
    whole = information[np.ix_(some, some)] - information[np.ix_(some, rest)] @ solved[:, :-1]
    right = linear[some] - information[np.ix_(some, rest)] @ solved[:, -1]
    off = optional.copy()
    off[some] = ~best_subset(whole, right, float(np.log(count)) / 2)
    return off


def _regress_noise(
    features: FeatureSet,
    design: Float[np.ndarray, "t f"],
    rest: Float[np.ndarray, "t r"],
    start: Float[np.ndarray, "r r"],
    calm: Float[np.ndarray, " t"],
    constant: bool,
    iterations: int = 5,
) -> Functions:
    """Entries of the lower factor of the noise, row by row, over its constant part.

    With w = start⁻¹ · residual = L(x) ε, the mean of w_i ε_j is the entry L_ij, j < i, and what is left of w_i has
    the standard deviation e^{η_i}: a log-linear model of its square, whose information about η_i is 2.
    """
    r, found, groups = rest.shape[1], [], features.groups
    if constant:
        nothing = np.full(features.count, np.inf)
        none = Penalised(np.zeros(len(groups)), nothing, 0.0, np.zeros(features.count), 0.0)
        return Functions.of(features, [none] * (r * (r + 1) // 2))
    white, units = np.linalg.solve(start, rest.T).T, []
    gram = (design.T * calm) @ design
    # Linear terms too must be worth their evidence: constant noise is the rule, and beyond the data it does not grow.
    for i in range(r):
        left = white[:, i].copy()
        for j, unit in enumerate(units):
            variance = np.average(white[:, i] ** 2, weights=calm)
            linear = design.T @ (calm * white[:, i] * unit) / variance
            entry = _supported(gram / variance, linear, groups, np.ones(features.count), calm.sum())
            found.append(entry)
            left -= (design @ entry.values) * units[j]
        units.append(left)
        entry = Penalised(np.zeros(len(groups)), np.full(features.count, 1.0), 0.0, np.zeros(features.count), 0.0)
        for _ in range(iterations):
            log_deviation = np.clip(design @ entry.values, -5, 5)
            square = np.minimum(left**2 * np.exp(-2 * log_deviation), 50.0)
            linear = 2 * gram @ entry.values + design.T @ (calm * (square - 1))
            # What seemed of no use at first may be of use once the variance is known better.
            strengths = np.where(np.isfinite(entry.precisions), entry.precisions, 1.0)
            entry, before = _supported(2 * gram, linear, groups, strengths, calm.sum()), entry
            shorter = _no_less_likely(design, left, calm, before.values, entry.values)
            if shorter is None:
                entry = before
                break
            entry = entry._replace(values=shorter)
            if np.sqrt(np.mean((design @ (entry.values - before.values)) ** 2)) < 1e-2:
                break
        units[-1] = left * np.exp(-np.clip(design @ entry.values, -5, 5))
        found.append(entry)
    return Functions.of(features, found)


def _no_less_likely(
    design: Float[np.ndarray, "t f"],
    left: Float[np.ndarray, " t"],
    calm: Float[np.ndarray, " t"],
    before: Float[np.ndarray, " f"],
    after: Float[np.ndarray, " f"],
    halvings: int = 6,
    dropping: float = 5.0,
) -> Float[np.ndarray, " f"] | None:
    """The end of a step that is shortened until the residuals are no less likely than before; None: there is none.

    A whole step goes too far at the few states where the linear model of an exponential is far from it. What is dropped
    stays dropped, for which a few nats may be lost.
    """

    def likelihood(values: Float[np.ndarray, " f"]) -> float:
        log_deviation = np.clip(design @ values, -20, 20)
        return float(-calm @ (log_deviation + left**2 * np.exp(-2 * log_deviation) / 2))

    least = likelihood(before) - dropping
    for halving in range(halvings):
        values = np.where(after == 0, 0.0, before + (after - before) / 2**halving)
        if likelihood(values) >= least:
            return values
    return None


def _supported(
    information: Float[np.ndarray, "f f"],
    linear: Float[np.ndarray, " f"],
    groups: Int[np.ndarray, " f"],
    precisions: Float[np.ndarray, " g"],
    count: float,
) -> Penalised:
    """The regression without slopes that the data does not support, or a constant where all else is not supported.

    Constants and slopes have the prior of as much information as one of the n transitions has of them, so that each
    costs about log(n)/2 nats, as in every law.
    """
    known, free = np.diag(information), np.flatnonzero(groups < 0)[1:]
    weak = np.where(known > 0, known / count, np.inf)  # of a column that never changes nothing is known
    first = maximise_evidence(information, linear, groups, precisions, weak=weak)
    found = without_useless_groups(first, information, linear, groups, weak=weak)
    while True:
        used = free[np.isfinite(weak[free])]
        each = parameter_precisions(groups, found.precisions, weak)
        on = np.flatnonzero(np.isfinite(each))
        covariance = np.linalg.inv(information[np.ix_(on, on)] + np.diag(each[on]))
        wald = found.values[on] ** 2 / np.diag(covariance)
        weakest = min(used, key=lambda slope: wald[on == slope][0], default=None)
        if weakest is None or wald[on == weakest][0] >= np.log(count):
            break
        weak[weakest] = np.inf
        found = maximise_evidence(information, linear, groups, found.precisions, weak=weak)
    constant, groups_off = np.arange(len(groups)) == 0, np.full(len(precisions), np.inf)
    alone = maximise_evidence(information, linear, groups, groups_off, weak=np.where(constant, weak, np.inf))
    chances = np.log(1.0 + len(precisions))  # the best of several groups gains something by chance
    return found if found.evidence > alone.evidence + CLEARLY + chances else alone


def _mean_square(values: Float[np.ndarray, "t r"], weight: Float[np.ndarray, " t"]) -> Float[np.ndarray, " r"]:
    calm = weight > 0
    return (weight @ values**2) / max(float(calm.sum()), 1.0)


def _left(velocity, f, step, calm) -> Float[np.ndarray, "t r"]:
    """The standard deviation of velocity·√step around a drift, the same everywhere."""
    variance = (calm * step) @ (velocity - f) ** 2 / calm.sum()
    return np.sqrt(variance) * np.ones_like(velocity)


def _covariance(rest: Float[np.ndarray, "t r"], calm: Float[np.ndarray, " t"]) -> Float[np.ndarray, "r r"]:
    """The covariance, without correlations that the data does not support."""
    covariance = (rest.T * calm) @ rest / calm.sum()
    deviation = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    unsupported = calm.sum() * (covariance / np.outer(deviation, deviation)) ** 2 < np.log(max(calm.sum(), 2.0))
    sparse = np.where(unsupported, 0.0, covariance)
    if np.linalg.eigvalsh(sparse / np.outer(deviation, deviation)).min() > 0:
        covariance = sparse
    return covariance + np.diag(1e-9 * np.diag(covariance) + 1e-30)


def _deviation(entries: Float[np.ndarray, "t n"], start: Float[np.ndarray, "r r"]) -> Float[np.ndarray, "t r"]:
    """Standard deviations of the noise of each coordinate."""
    return np.linalg.norm(start @ lower_factors(entries, len(start)), axis=-1)
