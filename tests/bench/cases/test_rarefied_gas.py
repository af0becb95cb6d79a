"""The physics that is read off a law of the gas."""

import pytest

from nke.bench.cases.rarefied_gas import law_statistics
from nke.systems import Langevin, RarefiedGas


def test_friction_and_diffusivity_of_a_known_law():
    states = RarefiedGas().simulate(200, seed=0).states[:, ::20].reshape(-1, 6)
    limit = law_statistics(Langevin(friction=2.0, diffusivity=0.5), states)
    assert limit["friction"] == pytest.approx(2.0)
    assert limit["diffusivity"] == pytest.approx(0.5)
    # The gas relaxes at γ√(1 + 1/μ), and its kicks keep the variance at 1.1: D = 1.1/ν to the same order.
    gas = RarefiedGas()
    found = law_statistics(gas, states)
    assert found["friction"] == pytest.approx(gas.relaxation_rate, rel=0.03)
    assert found["diffusivity"] == pytest.approx(gas.velocity_variance / gas.relaxation_rate, rel=0.05)
    assert found["collision_rate"] == pytest.approx(gas.collision_rate, rel=0.02)
