"""The score of the true law, simulated where it has no closed form."""

import numpy as np

from nke.bench.true_score import simulated_log_prob
from nke.systems import DoubleWell


def test_simulated_true_score_agrees_with_the_exact_one():
    """Importance sampling over three sub-steps: 4 standard errors of 300 paired differences, and its bias."""
    system = DoubleWell(dimension=2)
    seen = system.simulate(60, seed=6, times=np.arange(6) * 0.05).transitions()
    gap = simulated_log_prob(system, seen, substeps=3, samples=512) - system.log_prob(
        seen.y, given=seen.x, step=seen.step
    )
    assert abs(gap.mean()) < 4 * gap.std() / np.sqrt(len(gap)) + 0.01
