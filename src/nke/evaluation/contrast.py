"""Recorded values beside simulated ones: the difference of their means, and what chance makes of it."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy import stats


class Contrast(NamedTuple):
    """A difference between recorded and simulated values.

    Attributes:
        difference: Mean of the recorded values minus that of the simulated ones.
        error: Its standard error.

    Example:
        >>> values = np.random.default_rng(0).normal(size=(2, 1000))
        >>> found = nke.evaluation.Contrast.of(values[0] + 1, values[1])
        >>> abs(found.difference - 1) < 4 * found.error
        True
    """

    difference: float
    error: float

    @classmethod
    def of(cls, recorded: Float[np.ndarray, "..."], simulated: Float[np.ndarray, "..."]) -> "Contrast":
        """Compares means of independent values; the larger of the two variances counts for both.

        Args:
            recorded: Of the data.
            simulated: Of the model.

        Returns:
            The difference.
        """
        variance = max(float(recorded.var()), float(simulated.var()))
        error = np.sqrt(variance * (1 / recorded.size + 1 / simulated.size))
        return cls(float(recorded.mean() - simulated.mean()), float(max(error, 1e-300)))

    @property
    def p_value(self) -> float:
        """Probability of a difference at least as large by chance."""
        return two_sided(self.difference / self.error)


def two_sided(z: float) -> float:
    """Computes the probability of a standard normal number at least as far from zero.

    Args:
        z: The number.

    Returns:
        The probability.

    Example:
        >>> round(nke.evaluation.contrast.two_sided(1.96), 3)
        0.05
    """
    return float(2 * stats.norm.sf(abs(z)))


def skewness(e: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    """Gives values whose mean is the skewness and whose spread is that of its estimate (influence function).

    Args:
        e: A sample.

    Returns:
        One value for each number.

    Example:
        >>> e = np.random.default_rng(0).exponential(size=100_000)
        >>> bool(1.8 < nke.evaluation.contrast.skewness(e).mean() < 2.2)
        True
    """
    z = _whitened(e)
    third = np.mean(z**3)
    return third + z**3 - third - 3 * z - 1.5 * third * (z**2 - 1)


def excess_kurtosis(e: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    """Gives values whose mean is the excess kurtosis and whose spread is that of its estimate (influence function).

    Args:
        e: A sample.

    Returns:
        One value for each number.

    Example:
        >>> e = np.random.default_rng(0).uniform(size=100_000)
        >>> bool(-1.25 < nke.evaluation.contrast.excess_kurtosis(e).mean() < -1.15)
        True
    """
    z = _whitened(e)
    third, fourth = np.mean(z**3), np.mean(z**4)
    return fourth - 3 + z**4 - fourth - 4 * third * z - 2 * fourth * (z**2 - 1)


def _whitened(e: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    return (e - e.mean()) / max(float(e.std()), 1e-300)
