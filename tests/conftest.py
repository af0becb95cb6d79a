"""Fits and reports that tests of several packages share."""

from dataclasses import replace

import numpy as np
import pytest

import nke
from drawn_models import linear
from hostile_names import HOSTILE


@pytest.fixture(scope="session")
def well_result():
    """A rough fit of a double well with jumps by small networks, which compile in seconds."""
    data = nke.systems.DoubleWell(dt=0.05).simulate(64, seed=0)
    sizes = {"width": 4, "depth": 1, "components": 1, "schedule": nke.Schedule(steps=20)}
    small = nke.Likelihood(networks=True, polish=False, noise="constant", **sizes)
    return nke.fit(data, small, jumps=True, progress=False, diagnosis=False)


@pytest.fixture(scope="session")
def dated_report(small_fit):
    """An Ornstein–Uhlenbeck process over dates, with the result of its fit."""
    path = np.asarray(small_fit["data"].states)[0]
    calendar = nke.data.Calendar(np.datetime64("2024-03-01", "ns"), "d")
    data = nke.Trajectories(path, 0.02, names=["x"], calendar=calendar)
    return nke.report(small_fit["result"], data, command="nke report law.nke data.csv")


@pytest.fixture(scope="session")
def hostile_report():
    """dx = −x dt + dW/2 + jumps in two dimensions, 60 trajectories, without its fit."""
    model = replace(linear(2), names=HOSTILE, units=("<i>mm</i>", "°C"))
    start = np.random.default_rng(0).standard_normal((60, 2))
    states = model.sample(start, 0.1 * np.arange(25), seed=1)
    return nke.report(model, nke.Trajectories(states, 0.1, model.names, model.units, "s"))
