"""Is the law the same all the time, and in all trajectories? Scores of some transitions against those of others."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float, Int
from scipy import stats

from nke.evaluation.checks.memory import correlation
from nke.evaluation.contrast import two_sided
from nke.evaluation.finding import Finding
from nke.evaluation.normal_scores import NormalScores

SHIFT = 0.1  # change of the mean score that matters, in noise of a step
RATIO = 1.15  # change of the noise that matters
SLOPE = 0.4  # change of the drift, relative to it, that matters
NAME = "same law"
ADVICE = "The law changes with time (a change of regime or a trend): fit the parts one by one."
DIFFERENCE = 0.2  # relative difference of the drift from trajectory to trajectory that matters
TOO_OFTEN = 10  # times as often as χ² says come small p-values of paths that wander, whose sums are no normal numbers
ROWS, TRAJECTORIES = 20, 10  # transitions of a trajectory, and number of these, that are enough to compare them


def check_same_law(scores: NormalScores) -> Iterator[Finding]:
    """Compares mean motion, noise and strength of the drift of the two halves of the recorded time.

    And of the trajectories: cells, animals or patients may each have a law of their own.

    Args:
        scores: Of the transitions.

    Yields:
        What changed, for each coordinate.

    Example:
        >>> scores = nke.evaluation.NormalScores.of(model, data.transitions())
        >>> [finding.topic for finding in nke.evaluation.checks.check_same_law(scores) if finding.matters]
        []
    """
    yield from _trajectories(scores)
    late = scores.transitions.time > np.median(scores.transitions.time)
    if min(late.sum(), (~late).sum()) < 50:
        return
    e, count = np.clip(scores.standardised[0], -4, 4), 3 * len(scores.names)
    for i, name in enumerate(scores.names):
        yield from _changes(name, e[:, i], scores.motion[:, i], late, count, scores.independent)


def _changes(
    name: str,
    e: Float[np.ndarray, " t"],
    motion: Float[np.ndarray, " t"],
    late: np.ndarray,
    count: int,
    independent: float,
) -> Iterator[Finding]:
    halves = [e[~late], e[late]]
    share = np.sqrt(sum(half.var() / len(half) for half in halves))
    shift = float(halves[1].mean() - halves[0].mean())
    yield Finding(
        NAME,
        "mean motion changes",
        shift,
        SHIFT,
        min(1.0, count * two_sided(shift / share)),
        f"The mean motion of {name} differs between the first and the second half of the time by {shift:+.2f} times "
        "the noise of a step.",
        ADVICE,
    )
    sizes = [np.log(np.maximum(half.std(), 1e-300)) for half in halves]
    errors = [np.var(half**2) / (4 * np.mean(half**2) ** 2 * independent * len(half)) for half in halves]
    ratio = float(np.exp(sizes[1] - sizes[0]))
    yield Finding(
        NAME,
        "noise changes",
        max(ratio, 1 / ratio),
        RATIO,
        min(1.0, count * two_sided((sizes[1] - sizes[0]) / np.sqrt(sum(errors)))),
        f"The noise of {name} in the second half of the time is {ratio:.2f} times that of the first.",
        ADVICE,
    )
    known = [float(motion[part] @ motion[part]) for part in (~late, late)]
    if min(known) == 0:
        return
    slopes = [float(half @ motion[part]) / k for half, part, k in zip(halves, (~late, late), known, strict=True)]
    change = slopes[1] - slopes[0]
    yield Finding(
        NAME,
        "drift changes",
        change,
        SLOPE,
        min(1.0, count * two_sided(change / np.sqrt(1 / known[0] + 1 / known[1]))),
        f"The drift of {name} in the second half of the time is {(1 + slopes[1]) / max(1 + slopes[0], 1e-3):.2f} "
        "times that of the first.",
        ADVICE,
    )


def _trajectories(scores: NormalScores) -> Iterator[Finding]:
    _, owner, rows = np.unique(scores.transitions.trajectory, return_inverse=True, return_counts=True)
    if len(rows) < TRAJECTORIES or np.median(rows) < ROWS:
        return
    e, follows = np.clip(scores.standardised[0], -4, 4), np.flatnonzero(scores.follows)
    for i, name in enumerate(scores.names):
        left, motion = e[:, i] - e[:, i].mean(), scores.motion[:, i]
        if not (left.any() and motion.any()):
            continue
        # Memory makes sums of scores vary more, whatever the law of a trajectory.
        memory = min(max(correlation(left[follows], left[follows + 1])[0], 0.0), 0.99)
        size, p_value = own_motion(left, motion, owner, (1 + memory) / (1 - memory))
        yield Finding(
            NAME,
            "trajectories differ",
            size,
            DIFFERENCE,
            min(1.0, len(scores.names) * p_value),
            f"The mean motion of {name} differs from trajectory to trajectory by {size:.0%} of its size.",
            "Each trajectory has a law of its own (another individual, another setting), and the law is their average: "
            "fit them one by one, or add what differs between them as a coordinate.",
        )


def own_motion(
    e: Float[np.ndarray, " t"], motion: Float[np.ndarray, " t"], owner: Int[np.ndarray, " t"], chance: float = 1.0
) -> tuple[float, float]:
    """Tells how much the mean motion of each trajectory is its own.

    Sums of the scores of a trajectory, and of their products with the law's motion, are under one law sums of steps
    that the past does not know: their squares are on average the sums of the squares of these, also where the motion
    depends on earlier scores. What is beyond is the trajectory's own.

    Args:
        e: Scores of mean zero.
        motion: The law's motion.
        owner: The trajectory of each, counted from zero.
        chance: Times as much as the increments say do the sums vary.

    Returns:
        The size over that of the law's motion, and the probability of as much by chance.

    Example:
        >>> rng, owner = np.random.default_rng(0), np.repeat(np.arange(50), 100)
        >>> e, motion = rng.normal(size=(2, 5000))
        >>> from nke.evaluation.checks.same_law import own_motion
        >>> side = np.where(owner < 25, 1, -1)  # half of them move more than the law says, and half less
        >>> own_motion(e, motion, owner)[1] > 0.01, own_motion(e + 0.5 * side * motion, motion, owner)[1] < 1e-9
        (True, True)
    """
    parts = (e, e * motion / np.sqrt(np.mean(motion**2)))
    squares = sum(float(np.sum(np.bincount(owner, part) ** 2)) for part in parts)
    # The two sums of a trajectory are correlated where its motion hardly changes its sign.
    known = chance * np.array([[np.bincount(owner, a * b) for a in parts] for b in parts])
    expected, variance = float(known.trace().sum()), 2 * float(np.sum(known**2))
    scale = variance / (2 * expected)  # a multiple of χ² with the same mean and variance (Satterthwaite)
    rows = len(e) / known.shape[-1]
    size = np.sqrt(max(squares - expected, 0.0) / max(rows * float(motion @ motion), 1e-300))
    return float(size), min(1.0, TOO_OFTEN * float(stats.chi2.sf(squares / scale, expected / scale)))
