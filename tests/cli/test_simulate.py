"""``nke simulate``: every system, as in Python."""

import dataclasses

import numpy as np
import pytest

import nke
from command_line import refused, run, told
from nke.cli.simulate import SYSTEMS
from nke.systems import System


def test_all_systems_are_offered():
    assert {name.title().replace("-", "") for name in SYSTEMS} == {
        name
        for name in nke.systems.__all__
        if dataclasses.is_dataclass(getattr(nke.systems, name)) and issubclass(getattr(nke.systems, name), System)
    }


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_system(name, tmp_path):
    asked = ("simulate", name, "-o", tmp_path / "a.npz", "--trajectories", 2, "--duration", 0.02, "--interval", 0.01)
    assert told(*asked)["rows"] == 3
    assert np.asarray(nke.read(tmp_path / "a.npz").states).shape[:2] == (2, 3)


def test_parameters_and_times_as_in_python(tmp_path):
    asked = ("simulate", "double-well", "--trajectories", 2, "--duration", 0.1, "--seed", 5, "--set", "rate=0")
    told(*asked, "-o", tmp_path / "a.npz")
    expected = nke.systems.DoubleWell(rate=0).simulate(2, 5, times=[0, 0.05, 0.1])
    np.testing.assert_array_equal(nke.read(tmp_path / "a.npz").states, expected.states)
    told("simulate", "ornstein-uhlenbeck", "--trajectories", 2, "-o", tmp_path / "b.npz")
    expected = nke.systems.OrnsteinUhlenbeck().simulate(2, 0)
    np.testing.assert_array_equal(nke.read(tmp_path / "b.npz").states, expected.states)
    np.testing.assert_array_equal(nke.read(tmp_path / "b.npz").times, expected.times)


def test_refusals(tmp_path):
    output = ("-o", tmp_path / "a.csv")
    assert "existing folder" in refused(run("simulate", "lorenz", "-o", tmp_path / "no" / "a.csv"))
    assert "interval ≤ duration" in refused(run("simulate", "lorenz", *output, "--duration", "1", "--interval", "2"))
    assert "noise of Lorenz to be a finite number" in refused(run("simulate", "lorenz", *output, "--set", "noise=-1"))
