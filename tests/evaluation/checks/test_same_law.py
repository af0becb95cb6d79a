"""Do all trajectories have the same law? Told where it is known."""

import numpy as np
import pytest

from nke.data import Trajectories
from nke.evaluation import NormalScores
from nke.evaluation.checks import check_same_law
from nke.evaluation.checks.same_law import own_motion
from nke.systems import OrnsteinUhlenbeck
from true_models import true_model

TOPIC = "trajectories differ"


def recorded(strengths: np.ndarray, means: np.ndarray, seed: int) -> Trajectories:
    """Ornstein–Uhlenbeck processes, each of its own strength around a mean of its own, volatility 0.5."""
    rng, x, rows = np.random.default_rng(seed), means + 0.3 * np.random.default_rng(seed + 1).normal(size=60), []
    for _ in range(200):
        rows.append(x)
        decay = np.exp(-0.1 * strengths)
        x = means + (x - means) * decay + 0.5 * np.sqrt((1 - decay**2) / (2 * strengths)) * rng.normal(size=60)
    return Trajectories(np.stack(rows, axis=1)[..., None], 0.1, names=["x"])


@pytest.fixture(scope="module")
def law():
    return true_model(OrnsteinUhlenbeck(rate=1.0, noise=0.5), step=0.1)


def finding(law, data: Trajectories):
    [found] = [f for f in check_same_law(NormalScores.of(law, data.transitions())) if f.topic == TOPIC]
    return found


def test_the_same_law_is_not_accused(law):
    """Twenty data sets, none accused at a level of one in a thousand; the smallest of twenty p-values is above 1e-4."""
    found = [finding(law, recorded(np.ones(60), np.zeros(60), seed)) for seed in range(20)]
    assert not any(f.matters for f in found)
    assert min(f.p_value for f in found) > 1e-4


def test_individuals_are_told(law):
    """Half of the trajectories return to 0.5 and half to −0.5; or half are pulled back four times as strongly."""
    rng = np.random.default_rng(5)
    side = rng.permutation(np.repeat([-0.5, 0.5], 30))
    assert finding(law, recorded(np.ones(60), side, 1)).matters
    strength = np.where(side > 0, 2.0, 0.5)
    assert finding(law, recorded(strength, np.zeros(60), 2)).p_value < 1e-3


def test_one_trajectory_has_nobody_to_differ_from(law):
    data = recorded(np.ones(60), np.zeros(60), 0)
    one = Trajectories(np.asarray(data.states)[:1], 0.1, names=["x"])
    assert not [f for f in check_same_law(NormalScores.of(law, one.transitions())) if f.topic == TOPIC]


@pytest.mark.parametrize("pull", [0.05, 0.005])
def test_paths_that_wander_are_not_accused_too_often(pull):
    """Forty paths of a hundred steps of one law, 2000 times: p-values below a hundredth come in no more of them.

    Of 2000 a hundredth is 20 ± 4.5, so that 38 are four standard errors above it.
    """
    rng, owner, found = np.random.default_rng(0), np.repeat(np.arange(40), 100), []
    for _ in range(2000):
        e, x = rng.normal(size=(40, 100)), np.empty((40, 100))
        x[:, 0] = rng.normal(size=40) / np.sqrt(2 * pull)
        for k in range(99):
            x[:, k + 1] = (1 - pull) * x[:, k] + e[:, k]
        found.append(own_motion((e - e.mean()).ravel(), -pull * x.ravel(), owner)[1])
    assert np.sum(np.array(found) < 0.01) < 38
