"""The example of the README runs."""

import re
from pathlib import Path

import numpy as np

import nke


def test_the_example_runs(tmp_path, monkeypatch, capsys):
    """With a fit to fewer trajectories; the law has intervals, which networks that kept their start do not."""
    monkeypatch.chdir(tmp_path)
    fitted = {}
    short = nke.systems.DoubleWell(dt=0.05).simulate(64, seed=0)
    simple = nke.Likelihood(networks=False, noise="constant", components=1)
    small_result = nke.fit(short, simple, jumps=True, progress=False, diagnosis=False)
    monkeypatch.setattr(
        nke, "fit", lambda data, seed: fitted.update(data=data, seed=seed) or small_result, raising=False
    )
    [example] = re.findall(r"```python\n(.*?)```", (Path(__file__).parents[1] / "README.md").read_text(), re.DOTALL)
    names = {}
    exec(example.replace("DoubleWell()", "DoubleWell(dt=0.05)").replace("[0.1, 1.0]", "[0.1]"), names)
    assert fitted == {"data": names["data"], "seed": 0}
    assert names["paths"].shape == (100, 101, 3)
    assert np.isfinite(names["paths"]).all()
    assert nke.load(tmp_path / "well.nke").has_jumps
    assert (tmp_path / "drift.png").read_bytes().startswith(b"\x89PNG")
    assert "volatility" in capsys.readouterr().out
