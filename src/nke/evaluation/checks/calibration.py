"""Are the sizes right? Normal scores of recorded transitions have the mean, width and shape of simulated ones."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from jaxtyping import Float
from scipy import stats

from nke.evaluation.contrast import Contrast, excess_kurtosis, skewness, two_sided
from nke.evaluation.finding import Finding
from nke.evaluation.normal_scores import NormalScores

NOISE_RATIO = 1.1  # standard deviation of the noise over the right one that matters
DRIFT_ERROR = 0.2  # relative error of the drift that matters
SKEW, TAILS = 0.2, 0.3  # of normal scores
NAME = "calibration"


def check_calibration(scores: NormalScores) -> Iterator[Finding]:
    """Compares drift, noise, skew and tails of the recorded transitions with those of the model.

    Args:
        scores: Of the transitions.

    Yields:
        What deviates, for each coordinate and over the states.

    Example:
        >>> scores = nke.evaluation.NormalScores.of(model, data.transitions())
        >>> [finding.topic for finding in nke.evaluation.checks.check_calibration(scores) if finding.matters]
        []
    """
    count = len(scores.names)
    for i in range(count):
        noise, drift = _noise(scores, i), _drift(scores, i)
        for found in (noise, *_shape(scores, i), drift, _clock(scores, i, noise, drift), *_moments(scores, i)):
            yield _among(found, 7 * count)
    for found in (_drift_over_states(scores), _noise_over_states(scores)):
        yield _among(found, 2)


def _among(found: Finding, count: int) -> Finding:
    """The finding as one of several that were looked at (Bonferroni)."""
    return replace(found, p_value=min(1.0, count * found.p_value))


def _noise(scores: NormalScores, i: int) -> Finding:
    """The standard error is that of the widths of two middle halves: 1.573/√n for normal numbers, over 1.349."""
    name, ratio = scores.names[i], float(scores.noise_ratio[i])
    error = 1.573 / 1.349 * np.sqrt(1 / len(scores.recorded) + 1 / scores.simulated[..., i].size)
    factor = max(ratio, 1 / max(ratio, 1e-300))
    is_, word = ("more", "small") if ratio > 1 else ("less", "large")
    return Finding(
        NAME,
        f"noise too {word}",
        factor,
        NOISE_RATIO,
        two_sided(np.log(max(ratio, 1e-300)) / error),
        f"Recorded motions of {name} scatter {is_} than the law says: its noise is too {word} by a factor of "
        f"{factor:.2g}.",
        "Fit to this data, or look at where the law changes; noise that depends on the state may be missing.",
        severe=factor > 1.5,
    )


def _shape(scores: NormalScores, i: int) -> Iterator[Finding]:
    name, (recorded, simulated) = scores.names[i], scores.standardised
    skew = Contrast.of(skewness(recorded[:, i]), skewness(simulated[..., i]))
    tails = Contrast.of(excess_kurtosis(recorded[:, i]), excess_kurtosis(simulated[..., i]))
    yield Finding(
        NAME,
        "skew",
        skew.difference,
        SKEW,
        skew.p_value,
        f"Motions of {name} are more skewed {'up' if skew.difference > 0 else 'down'}wards than the law says "
        f"(skewness {skew.difference:+.2f}).",
        "One-sided jumps may be missing (jumps=True), or another coordinate suits better (positive=[...]).",
    )
    more = tails.difference > 0
    yield Finding(
        NAME,
        "tails" if more else "too few large motions",
        tails.difference,
        TAILS,
        tails.p_value,
        f"Large motions of {name} are {'more' if more else 'less'} frequent than the law says "
        f"(excess kurtosis {tails.difference:+.2f}).",
        "Jumps may be missing (jumps=True), or the size of the noise varies with something that is not recorded."
        if more
        else "The law has jumps or noise that this data does not have.",
    )


def _moments(scores: NormalScores, i: int) -> Iterator[Finding]:
    """Mean and variance of the motions themselves, to which jumps contribute as they should."""
    name, recorded, simulated = scores.names[i], scores.recorded_rest[:, i], scores.simulated_rest[..., i]
    mean, square = Contrast.of(recorded, simulated), Contrast.of(recorded**2, simulated**2)
    motion = float(np.sqrt(np.mean(scores.motion[:, i] ** 2)))
    speed = mean.difference * float(np.median(scores.noise[:, i]) / np.median(scores.transitions.step))
    yield Finding(
        NAME,
        "mean motion biased",
        mean.difference / max(motion, 1e-300),
        DRIFT_ERROR,
        mean.p_value,
        f"Recorded motions of {name} are on average {speed:+.2g} per unit time off the law's.",
        "Drift or jumps are biased: another form of either may be needed (networks=True).",
    )
    ratio = 1 + square.difference / max(float(np.mean(simulated**2)), 1e-300)
    yield Finding(
        NAME,
        f"variance of motions too {'small' if ratio > 1 else 'large'}",
        max(ratio, 1 / max(ratio, 1e-300)),
        NOISE_RATIO**2,
        square.p_value,
        f"The variance of the motions of {name}, large ones included, is {ratio:.2g} times what the law says.",
        "Jumps or large noise are too rare, too frequent or of the wrong size: simulations spread accordingly.",
        severe=max(ratio, 1 / max(ratio, 1e-300)) > 2,
    )


def _drift(scores: NormalScores, i: int) -> Finding:
    """The slope of the scores on the law's own motion: zero for the right drift, −0.3 where it is 0.7 of the law's.

    The motion is a function of the state before, so that the scores of a right law do not know it.
    """
    motion = scores.motion[:, i]
    known = max(float(np.mean(motion**2)), 1e-300)
    slope = Contrast.of(scores.recorded[:, i] * motion / known, scores.simulated[..., i] * motion / known)
    return Finding(
        NAME,
        "drift too weak" if slope.difference > 0 else "drift too strong",
        slope.difference,
        DRIFT_ERROR,
        slope.p_value,
        f"The mean motion of {scores.names[i]} is {1 + slope.difference:.2f} times what the law says "
        f"(± {slope.error:.2f}).",
        "Fit to this data; if it was fitted to it, the step is too coarse or the law changes.",
        severe=abs(slope.difference) > 0.5,
    )


def _clock(scores: NormalScores, i: int, noise: Finding, drift: Finding) -> Finding:
    """Drift and variance of the noise that are off by the same factor: the clock is."""
    motion, ratio, factor = scores.motion[:, i], float(scores.noise_ratio[i]), 1 + drift.size
    error = ratio / np.sqrt(max(float(motion @ motion), 1e-300))
    alike = noise.matters and drift.matters and abs(factor - ratio**2) < 3 * error + 0.1 * ratio**2
    return Finding(
        NAME,
        "step wrong",
        max(factor, 1 / max(factor, 1e-300)) if factor > 0 else 1.0,
        NOISE_RATIO**2,
        max(noise.p_value, drift.p_value) if alike else 1.0,
        f"Drift and variance of the noise are both {factor:.2g} times what the law says.",
        "The times of the data, or their unit, differ from those that the law was fitted to by that factor.",
    )


def _over_cells(recorded: Float[np.ndarray, "t r"], simulated: Float[np.ndarray, "k t r"], cells) -> tuple[float, int]:
    """A χ² statistic of the differences of the means in all cells, and its degrees of freedom."""
    share = 1 + 1 / len(simulated)
    spread = np.maximum(recorded.var(axis=0), simulated.reshape(-1, recorded.shape[1]).var(axis=0)) * share
    parts = [len(c) * (recorded[c].mean(axis=0) - simulated[:, c].mean(axis=(0, 1))) ** 2 / spread for c in cells]
    return float(np.sum(parts)), len(cells) * recorded.shape[1]


def _drift_over_states(scores: NormalScores) -> Finding:
    """Mean scores from cell to cell of the states: their excess over chance is the square of the missing motion."""
    recorded, simulated = scores.standardised
    statistic, freedom = _over_cells(recorded, simulated, scores.cells)
    known = float(np.sum((scores.motion / np.maximum(scores.noise_ratio, 1e-12)) ** 2))
    missing = float(np.sqrt(max(statistic - freedom, 0.0) / max(known, freedom)))
    return Finding(
        NAME,
        "drift biased",
        missing,
        DRIFT_ERROR,
        float(stats.chi2.sf(statistic, freedom)),
        f"In parts of the states the mean motion differs from the law's by {missing:.0%} of its size.",
        "Another form of the drift is needed (networks=True), or a coordinate is missing.",
        severe=missing > 0.5,
    )


def _noise_over_states(scores: NormalScores) -> Finding:
    """Mean squares from cell to cell, those beyond three deviations cut off so that no single jump decides."""
    recorded, simulated = (np.minimum(e**2, 9.0) for e in scores.standardised)
    # What differs everywhere alike is not of the state.
    recorded = recorded * (simulated.mean(axis=(0, 1)) / recorded.mean(axis=0))
    statistic, freedom = _over_cells(recorded, simulated, scores.cells)
    freedom = max(freedom - recorded.shape[1], 1)
    independent = scores.independent  # a volatility that changes is no function of the state
    excess = max(statistic - freedom / independent, 0.0) / recorded.size
    variation = float(np.sqrt(excess * np.mean(recorded.var(axis=0) / recorded.mean(axis=0) ** 2)))
    return Finding(
        NAME,
        "noise depends on the state",
        variation,
        NOISE_RATIO**2 - 1,
        float(stats.chi2.sf(independent * statistic, freedom)),
        f"The variance of the noise differs from the law's by {variation:.0%} from state to state.",
        "Another form of the noise is needed, or a coordinate is missing.",
    )
