"""``nke split``: what is learned from and what is evaluated on share no transition and together are the data."""

import numpy as np
import pytest

import nke
from command_line import run, told


@pytest.fixture
def dated(tmp_path):
    path = tmp_path / "vix.csv"
    days = np.datetime64("2024-03-01") + np.arange(50)
    path.write_text("date,vix\n" + "".join(f"{day},{n % 7}\n" for n, day in enumerate(days)))
    return path


def test_the_last_rows(dated):
    found = told("split", dated, "--last", "20%")
    train, test = (nke.read(found[part]) for part in ("train", "test"))
    assert found["test"] == str(dated.with_name("vix-test.csv"))
    assert (len(train.times[0]), len(test.times[0])) == (40, 10)
    assert str(test.dates[0, 0])[:10] == "2024-04-10"


def test_trajectories_and_blocks(recorded, dated, tmp_path):
    found = told("split", recorded, "--trajectories", "0.25", "-o", tmp_path / "part.npz", "--time", "hours")
    assert found == {"train": str(tmp_path / "part-train.npz"), "test": str(tmp_path / "part-test.npz")}
    assert [len(nke.read(path)) for path in found.values()] == [9, 3]
    found = told("split", dated, "--blocks", "20%")
    assert sum(len(times) for path in found.values() for times in nke.read(path).times) == 50


def test_what_cannot_be_meant(recorded, dated):
    assert run("split", dated).exit_code == 2
    assert run("split", dated, "--last", "20%", "--blocks", "20%").exit_code == 2
    assert "20% or 0.2" in " ".join(run("split", dated, "--last", "twenty").stderr.replace("│", " ").split())
    assert "--last or --blocks" in run("split", dated, "--trajectories", "20%").stderr
    assert "--last or --trajectories" in run("split", recorded, "--blocks", "20%", "--time", "hours").stderr
