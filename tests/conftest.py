"""Fits that tests of several packages share."""

import pytest

import nke


@pytest.fixture(scope="session")
def well_result():
    """A rough fit of a double well with jumps by small networks, which compile in seconds."""
    data = nke.systems.DoubleWell(dt=0.05).simulate(64, seed=0)
    sizes = {"width": 4, "depth": 1, "components": 1, "schedule": nke.Schedule(steps=20)}
    small = nke.Likelihood(networks=True, polish=False, noise="constant", **sizes)
    return nke.fit(data, small, jumps=True, progress=False, diagnosis=False)
