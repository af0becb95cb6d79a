"""The score test for lack of fit: would the law gain by other parameters in other parts of the state space?

If a law is right, the mean of the scores s_i = ∂ log p(y_i | x_i) / ∂θ vanishes in every part of the state space: how
far it is from that says how many nats a richer law would gain at least.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from nke.fitting.decisions import Estimate
from nke.fitting.newton import inverse_information
from nke.fitting.rules import SelectionRules


class ScoreTest(NamedTuple):
    """Lack of fit of one coefficient.

    Attributes:
        nats: About what the law would gain if the coefficient depended on the state otherwise.
        chance: Standard deviation of that under a law that is right.
        limit: Nats above which there is lack of fit.
    """

    nats: float
    chance: float
    limit: float

    @property
    def passed(self) -> bool:
        """Whether there is no lack of fit."""
        return self.nats < self.limit

    @property
    def estimate(self) -> Estimate:
        """The nats and what chance alone gives."""
        return Estimate(self.nats, self.chance)


def score_test(
    scores: Float[np.ndarray, "t n"],
    x: Float[np.ndarray, "t d"],
    rules: SelectionRules,
    same_information: bool,
    informative_fraction: float = 1.0,
    independent: float = 1.0,
) -> ScoreTest:
    """Tests parameters against others that differ from cell to cell of the states.

    Args:
        scores: Of every transition.
        x: States at which the transitions begin.
        rules: Number of cells, and the limit of the test.
        same_information: Whether the information about the parameters is the same in every state, so that the one of
            all transitions can be taken, which is known better than that of a cell.
        informative_fraction: Share of the transitions that say something about the parameters.
        independent: Share of the transitions that are independent: sums of scores vary by so much more.

    Returns:
        The result of the test.
    """
    whole, statistic, freedom = scores.T @ scores / len(scores), 0.0, 0
    for cell in cells(x, rules, informative_fraction):
        s = scores[cell]
        information, gradient = len(cell) * whole if same_information else s.T @ s, s.sum(axis=0)
        statistic += float(gradient @ inverse_information(information) @ gradient)
        freedom += int(np.linalg.matrix_rank(information, hermitian=True))
    chance = float(np.sqrt(freedom / 2))
    limit = rules.lack_of_fit_nats + rules.lack_of_fit_deviations * chance
    return ScoreTest((independent * statistic - freedom) / 2, chance, limit)


def cells(
    x: Float[np.ndarray, "t d"], rules: SelectionRules, informative_fraction: float = 1.0
) -> list[Int[np.ndarray, " n"]]:
    """Cuts states into cells of equal numbers: halves of halves across the widest side.

    Equal states, of which rounded recordings have many, come into either half at random: their order in the data may
    have to do with their motions.

    Args:
        x: The states.
        rules: How many cells at most, and how many informative transitions in each at least.
        informative_fraction: Share of the transitions that are informative.

    Returns:
        Indices of the states of each cell.
    """
    parts = [np.random.default_rng(0).permutation(len(x))]
    fewest = 2 * rules.score_test_transitions
    while len(parts) < rules.score_test_cells and informative_fraction * len(x) >= fewest * len(parts):
        parts = [half for part in parts for half in _halves(x, part)]
    return parts


def _halves(x: Float[np.ndarray, "t d"], part: Int[np.ndarray, " n"]) -> list[Int[np.ndarray, " m"]]:
    widest = int(np.argmax(x[part].std(axis=0)))
    ordered = part[np.argsort(x[part, widest], kind="stable")]
    return [ordered[: len(part) // 2], ordered[len(part) // 2 :]]
