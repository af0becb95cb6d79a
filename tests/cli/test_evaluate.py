"""``nke evaluate``: score, and distances of paths where they can be compared."""

import pytest

import nke
from command_line import refused, run, told


def test_scores(fitted, recorded, tmp_path):
    found = told("evaluate", fitted, recorded, "--time", "hours")
    data = nke.read(recorded, time="hours")
    diagnosis = found.pop("diagnosis")
    assert found.pop("error") > 0
    assert found == {"score": pytest.approx(nke.load(fitted).score(data)), "transitions": len(data.transitions())}
    assert nke.Diagnosis.from_dict(diagnosis) == nke.diagnose(nke.load(fitted), data)
    ensemble = tmp_path / "ensemble.csv"
    run("simulate", "ornstein-uhlenbeck", "-o", ensemble, "--trajectories", 3, "--duration", 1, "--interval", 0.25)
    assert set(told("evaluate", fitted, ensemble)) > {"score", "mean_mse", "covariance_mse", "wasserstein"}
    words = run("evaluate", fitted, ensemble).stdout
    assert "Wasserstein" in words
    assert "diagnosis  " in words


def test_no_model(recorded):
    assert "not a model" in refused(run("evaluate", recorded, recorded, "--time", "hours"))
