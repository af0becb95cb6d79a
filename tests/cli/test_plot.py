"""``nke plot``: a file for each figure."""

import importlib.util
from pathlib import Path

from command_line import refused, run, told


def test_writes_figures(fitted, recorded, tmp_path):
    files = told("plot", fitted, recorded, "--time", "hours", "-o", tmp_path / "pictures")["files"]
    names = {"drift", "diffusion", "paths", "densities", "increments", "history", "autocorrelation", "stationary"}
    assert {Path(file).stem for file in files} == names
    assert all(Path(file).read_bytes().startswith(b"\x89PNG") for file in files)
    assert len(list((tmp_path / "pictures").iterdir())) == len(names)


def test_without_matplotlib_the_remedy_is_named_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert "pip install 'nke[plots]'" in refused(run("plot", tmp_path / "none.nke", tmp_path / "none.csv"))
    assert "pip install 'nke[plots]'" in refused(run("demo", "-o", tmp_path / "well.png"))
