"""Is the state all there is to know? Scores of a right law know neither their own past nor its size."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float, Int

from nke.evaluation.contrast import two_sided
from nke.evaluation.finding import Finding
from nke.evaluation.normal_scores import NormalScores

CORRELATION = 0.05  # of neighbouring scores that matters
SEVERE = 0.2  # correlation of neighbouring scores beyond which the law cannot be right
SEVERE_SHARE = 1 - 1 / 1.5**2  # of a ruler's noise in the motions: the law's noise is then 1.5 times too large
FORGOTTEN = np.exp(-2.0)  # correlation of neighbouring states below which a step forgets nearly all
NAME = "memory"


def check_memory(scores: NormalScores) -> Iterator[Finding]:
    """Compares scores with those one transition earlier, and states with those one step earlier.

    Args:
        scores: Of the transitions.

    Yields:
        What is left of the past, with the cause that its sign suggests.

    Example:
        >>> scores = nke.evaluation.NormalScores.of(model, data.transitions())
        >>> [finding.topic for finding in nke.evaluation.checks.check_memory(scores) if finding.matters]
        []
    """
    follows = np.flatnonzero(scores.follows)
    if len(follows) < 30:
        return
    e, count = np.clip(scores.unexplained, -4, 4), len(scores.names)
    before, after = e[follows], e[follows + 1]
    for i, name in enumerate(scores.names):
        forgotten = _forgotten(scores, i)
        if forgotten.matters:
            yield forgotten
            continue
        ruler = _ruler(scores, follows, i)
        share = 2 * ruler**2 / float(np.mean(scores.noise[:, i] ** 2))
        yield _correlated(name, before[:, i], after[:, i], ruler, share, count)
        yield _clustered(name, before[:, i], after[:, i], count)


def correlation(first: Float[np.ndarray, " n"], second: Float[np.ndarray, " n"]) -> tuple[float, float]:
    """Computes a correlation and its standard error if there is none, also where sizes vary together (White).

    Args:
        first: Numbers of mean zero.
        second: As many.

    Returns:
        Correlation and standard error.

    Example:
        >>> e = np.random.default_rng(0).normal(size=(2, 1000))
        >>> from nke.evaluation.checks.memory import correlation
        >>> r, error = correlation(e[0], e[1])
        >>> bool(abs(r) < 4 * error), bool(0.028 < error < 0.036)
        (True, True)
    """
    size = max(float(np.sqrt(np.sum(first**2) * np.sum(second**2))), 1e-300)
    return float(first @ second) / size, max(float(np.sqrt(np.sum((first * second) ** 2))) / size, 1e-300)


def _forgotten(scores: NormalScores, i: int) -> Finding:
    seen, column, name = scores.transitions, scores.columns[i], scores.names[i]
    middle = seen.x[:, column].mean()
    found, error = correlation(seen.x[:, column] - middle, seen.y[:, column] - middle)
    return Finding(
        NAME,
        "no memory of the state",
        1 - found,
        1 - FORGOTTEN,
        two_sided(max(FORGOTTEN - found, 0.0) / error),
        f"{name} forgets its value within a step (correlation of neighbouring states {found:.2f}).",
        "These look like increments, returns or noise: if they are increments, cumulate them (numpy.cumsum) and fit "
        "that; otherwise record with a shorter step.",
        severe=True,
    )


def _correlated(
    name: str,
    before: Float[np.ndarray, " n"],
    after: Float[np.ndarray, " n"],
    ruler: float,
    share: float,
    count: int,
) -> Finding:
    found, error = correlation(before, after)
    p_value = min(1.0, 2 * count * two_sided(found / error))
    seen = f"What the law does not explain of {name} is correlated with the step before ({found:+.2f})."
    if found < 0:
        return Finding(
            NAME,
            "measurement noise",
            found,
            CORRELATION,
            p_value,
            seen,
            f"The recorded values look like those of a ruler with noise of about {ruler:.2g}: drift and noise are "
            "too large; smooth or thin the data, or record more precisely.",
            severe=found < -SEVERE or share > SEVERE_SHARE,
        )
    return Finding(
        NAME,
        "hidden velocity",
        found,
        CORRELATION,
        p_value,
        seen,
        "Positions of a velocity that is not recorded, or another hidden memory: add the velocity as a coordinate, or "
        "thin the data until the correlation is gone.",
        severe=found > SEVERE,
    )


def _ruler(scores: NormalScores, follows: Int[np.ndarray, " n"], i: int) -> float:
    """Noise r of a ruler: it makes neighbouring increments share −r², whatever the drift over a short step."""
    moved = scores.transitions.displacement[:, scores.columns[i]]
    moved = moved - moved.mean()
    return float(np.sqrt(max(-np.mean(moved[follows] * moved[follows + 1]), 0.0)))


def _clustered(name: str, before: Float[np.ndarray, " n"], after: Float[np.ndarray, " n"], count: int) -> Finding:
    """Sizes of neighbouring scores: where they go together the noise depends on something that is not recorded."""
    first, second = (np.abs(each) - np.mean(np.abs(each)) for each in (before, after))
    found, error = correlation(first, second)
    return Finding(
        NAME,
        "volatility that changes",
        found,
        2 * CORRELATION,
        min(1.0, 2 * count * two_sided(found / error)) if found > 0 else 1.0,
        f"Large motions of {name} follow large ones (correlation of their sizes {found:+.2f}).",
        "The size of the noise varies with something that is not recorded, such as a volatility: the law is right on "
        "average only, and forecasts are too wide in calm times and too narrow in others.",
    )
