"""A model against data: what is scored, what is refused, and how far it has come."""

import numpy as np
import pytest

import nke
from nke.evaluation import simulate_like
from nke.evaluation.evaluate import is_ensemble
from nke.systems import DoubleWell, OrnsteinUhlenbeck
from true_models import true_model


@pytest.fixture(scope="module")
def model():
    return true_model(OrnsteinUhlenbeck(), step=0.02)


def test_progress_tells_of_all_transitions_and_intervals(model):
    heard = {}

    def progress(name, total):
        heard[name] = [total, 0]
        return lambda amount: heard[name].__setitem__(1, heard[name][1] + amount)

    data = OrnsteinUhlenbeck().simulate(3, seed=0, times=[0, 0.1, 0.2])
    shown = nke.evaluate(model, data, progress=progress)
    assert heard == {"scoring": [6, 6], "simulating": [2, 2]}
    assert shown == nke.evaluate(model, data)
    ragged = nke.Trajectories([s[: 2 + (i > 0)] for i, s in enumerate(data.states)], 0.1)
    simulate_like(model, ragged, progress=progress)
    assert heard["simulating"] == [2, 2]  # of the longer ones, which follow the shorter one
    nke.oracle_floor(OrnsteinUhlenbeck(), data, replicates=2, progress=progress)
    assert heard["simulating"] == [2, 2]


def test_data_that_is_no_ensemble_is_scored_without_ensemble_metrics(model):
    system = OrnsteinUhlenbeck()
    data = system.simulate(3, seed=0)
    ragged = nke.Trajectories([np.asarray(s)[: 20 + i] for i, s in enumerate(data.states)], 0.02)
    assert not is_ensemble(ragged)
    evaluation = nke.evaluate(model, ragged)
    assert evaluation.ensemble is None
    assert np.isfinite(evaluation.score)
    with pytest.raises(ValueError, match="same times"):
        nke.oracle_floor(system, ragged)
    with pytest.raises(ValueError, match="coordinates"):
        nke.evaluate(model, DoubleWell().simulate(4, seed=0))
