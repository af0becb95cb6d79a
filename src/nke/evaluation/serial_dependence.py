"""How many of the transitions are independent? Sizes of noise that follow each other count for fewer.

Under a law of the state the whitened residuals w of a right fit have squares without memory. Where the noise also
varies with something that is not recorded, such as a volatility, large motions follow large ones: a stretch of wild
times looks like noise that grows with whatever the state was then. Sums over n transitions then vary as if there were
n/τ of them,

    τ = 1 + 2 Σ_k ρ_k,

with the autocorrelations ρ_k of w² (Geyer's initial sequence). Evidence about the noise counts that much less.
"""

import numpy as np
from jaxtyping import Float, Int

MOST_SQUARE = 10.0  # of a whitened residual: single jumps say nothing about their neighbours
FEWEST = 200  # pairs that an autocorrelation is taken over
CERTAIN = 4.0  # standard errors of the first autocorrelation: a level of one in ten thousand for each coordinate


def independent_share(white: Float[np.ndarray, "t r"], trajectory: Int[np.ndarray, " t"]) -> float:
    """Estimates 1/τ, the share of transitions that are independent as far as the size of the noise goes.

    Args:
        white: Residuals in units of the noise, in the order of time.
        trajectory: The trajectory of each.

    Returns:
        The share of the coordinate with the longest memory; 1 where none has a memory beyond chance.

    Example:
        >>> rng, one = np.random.default_rng(0), np.zeros(10_000, int)
        >>> calm, wild = rng.normal(size=10_000), np.repeat(rng.exponential(size=100), 100)  # stretches of 100 steps
        >>> share = nke.evaluation.independent_share
        >>> share(calm[:, None], one), share((wild * calm)[:, None], one) < 0.1
        (1.0, True)
    """
    squares = np.minimum(white**2, MOST_SQUARE)
    return 1 / max(_correlation_time(column, trajectory) for column in squares.T)


def _correlation_time(values: Float[np.ndarray, " t"], trajectory: Int[np.ndarray, " t"]) -> float:
    deviation, time = values - values.mean(), 1.0
    variance = float(np.mean(deviation**2))
    for lag in range(1, len(values)):
        same = trajectory[lag:] == trajectory[:-lag]
        pairs = int(same.sum())
        if pairs < FEWEST or variance == 0:
            break
        correlation = float(np.mean((deviation[lag:] * deviation[:-lag])[same])) / variance
        if correlation < (CERTAIN if lag == 1 else 2.0) / np.sqrt(pairs):
            break
        time += 2 * correlation
    return time
