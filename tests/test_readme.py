"""The example of the README runs."""

import re
from pathlib import Path

import numpy as np

import nke


def test_the_example_runs(tmp_path, monkeypatch, capsys, well_result):
    monkeypatch.chdir(tmp_path)
    fitted = {}
    monkeypatch.setattr(
        nke, "fit", lambda data, seed: fitted.update(data=data, seed=seed) or well_result, raising=False
    )
    [example] = re.findall(r"```python\n(.*?)```", (Path(__file__).parents[1] / "README.md").read_text(), re.DOTALL)
    names = {}
    exec(example.replace("DoubleWell()", "DoubleWell(dt=0.05)"), names)
    assert fitted == {"data": names["data"], "seed": 0}
    assert names["paths"].shape == (100, 101, 3)
    assert np.isfinite(names["paths"]).all()
    assert nke.load(tmp_path / "well.nke").has_jumps
    assert (tmp_path / "drift.png").read_bytes().startswith(b"\x89PNG")
    assert "volatility" in capsys.readouterr().out
