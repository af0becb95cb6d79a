"""The command line, and the README's example, on a small budget."""

import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from nke.fitting.loop import Schedule
from typer.testing import CliRunner

import nke
import nke.cli.demo
from nke.cli.main import app
from nke.fitting import Likelihood
from nke.systems import DoubleWell

ROOT = Path(__file__).parents[1]


def test_demo_prints_the_result_beside_the_truth_and_saves_a_figure(tmp_path, monkeypatch):
    quick = partial(
        nke.fit, method=Likelihood(networks=True, noise="constant", width=8, components=1, schedule=Schedule(steps=20))
    )
    monkeypatch.setattr(nke.cli.demo, "fit", quick)
    monkeypatch.setattr(nke.cli.demo, "DoubleWell", partial(DoubleWell, dt=0.05))
    figure = tmp_path / "well.png"
    outcome = CliRunner().invoke(app, ["demo", "--trajectories", "64", "-o", str(figure)], catch_exceptions=False)
    assert outcome.exit_code == 0
    for text in ("Wasserstein", "oracle floor", "f₁", "a₁₁", "λ", "(0.25)", "(1.00)"):
        assert text in outcome.output
    assert figure.read_bytes().startswith(b"\x89PNG")


def test_a_user_error_is_one_line_and_exit_code_1(tmp_path):
    command = [sys.executable, "-m", "nke.cli", "demo", "-o", str(tmp_path / "missing" / "well.png")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("nke: expected an existing folder")
    assert len(done.stderr.strip().splitlines()) == 1


def test_wrong_usage_is_exit_code_2():
    assert CliRunner().invoke(app, ["demo", "--trajectories", "3"]).exit_code == 2
    assert CliRunner().invoke(app, ["nonsense"]).exit_code == 2


@pytest.mark.parametrize("loaded", ["jax", "matplotlib", "optax"])
def test_importing_nke_and_asking_for_help_loads_nothing_heavy(loaded):
    code = f"import sys, nke, nke.cli.main; assert {loaded!r} not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_importing_nke_leaves_the_configuration_of_jax_alone():
    code = (
        "import jax; before = dict(jax.config.values); import nke; nke.fit, nke.systems, nke.evaluate, nke.load;"
        "assert dict(jax.config.values) == before"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_readme_example_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    [example] = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    method = 'nke.Likelihood(networks=True, noise="constant", width=8, schedule=Schedule(steps=20))'
    quick = f"nke.fit(data, {method}, jumps=True, seed=0)"
    assert "nke.fit(data, seed=0)" in example
    example = example.replace("DoubleWell()", "DoubleWell(dt=0.05)")
    names = {"Schedule": Schedule}
    exec(example.replace("nke.fit(data, seed=0)", quick), names)
    assert names["paths"].shape == (100, 101, 3)
    assert np.isfinite(names["paths"]).all()
    assert nke.load(tmp_path / "well.nke").has_jumps
    assert "likelihood" in capsys.readouterr().out
