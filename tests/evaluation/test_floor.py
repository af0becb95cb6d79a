"""The true law's own score."""

import numpy as np
import pytest

import nke
from nke.systems import DoubleWell, OrnsteinUhlenbeck
from true_models import true_model


@pytest.mark.validation
def test_the_true_model_scores_like_the_oracle():
    """The true coefficients simulated by the model lie within 4 standard deviations of the floor."""
    system = DoubleWell(dt=0.01)
    times = np.linspace(0, 1, 21)
    test = system.simulate(128, seed=3, times=times)
    model = true_model(system, step=0.05)
    floor = nke.oracle_floor(system, test, replicates=30, seed=5)
    measured = nke.evaluate(model, test, seed=6).ensemble
    assert measured is not None
    for value, mean, spread in zip(measured, floor.mean, floor.spread, strict=True):
        assert abs(value - mean) < 4 * spread


def test_too_few_replicates_are_refused():
    system = OrnsteinUhlenbeck()
    with pytest.raises(ValueError, match="at least 2 replicates"):
        nke.oracle_floor(system, system.simulate(2, seed=0), replicates=1)
