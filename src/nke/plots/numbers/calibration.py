"""Calibration: how often recorded motions fall within the intervals that a law gives for them."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr
from scipy.stats import binom

from nke.evaluation import NormalScores

BINS = 20
LEVELS = (0.5, 0.8, 0.9, 0.95, 0.99)  # of the central intervals whose coverage is told


class Calibration(NamedTuple):
    """Where recorded motions of one coordinate fall within the law's distribution of them.

    Attributes:
        name: Of the coordinate.
        edges: Of the bins of the law's distribution function, from 0 to 1.
        recorded: Share of the recorded motions in each, over that of a right law.
        low: Lower end of what 90 % of data sets of a right law would show.
        high: Upper end.
        coverage: Share of recorded motions within the law's central intervals of the probabilities ``LEVELS``.
    """

    name: str
    edges: Float[np.ndarray, " b1"]
    recorded: Float[np.ndarray, " b"]
    low: Float[np.ndarray, " b"]
    high: Float[np.ndarray, " b"]
    coverage: Float[np.ndarray, " l"]

    @classmethod
    def of(cls, scores: NormalScores) -> list["Calibration"]:
        """Counts the normal scores of recorded motions.

        Args:
            scores: Of recorded transitions.

        Returns:
            A calibration for each coordinate that is scored.

        Example:
            >>> scores = nke.evaluation.NormalScores.of(model, data.transitions())
            >>> [found] = nke.plots.numbers.Calibration.of(scores)
            >>> bool(abs(found.coverage[1] - 0.8) < 0.03)
            True
        """
        edges, count = np.linspace(0, 1, BINS + 1), len(scores.recorded)
        low, high = (binom.ppf(q, count, 1 / BINS) / count * BINS for q in (0.05, 0.95))
        found = []
        for i, name in enumerate(scores.names):
            place = ndtr(scores.recorded[:, i])
            inside = np.array([np.mean(np.abs(2 * place - 1) <= level) for level in LEVELS])
            shares = np.histogram(place, edges)[0] / count * BINS
            found.append(cls(name, edges, shares, np.full(BINS, low), np.full(BINS, high), inside))
        return found
