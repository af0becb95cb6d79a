"""``nke demo``: the result beside the truth."""

from dataclasses import replace
from functools import partial

import numpy as np

import nke.cli.demo
from command_line import refused, run
from nke.systems import DoubleWell
from true_models import true_model


def test_prints_the_result_beside_the_truth_and_saves_a_figure(tmp_path, monkeypatch, well_result):
    """From few ensembles: what the ratios are is the question of the last test."""
    for name, few in (("REPLICATES", 3), ("FLOOR", 4), ("TEST_TRAJECTORIES", 64)):
        monkeypatch.setattr(nke.cli.demo, name, few)
    monkeypatch.setattr(nke.cli.demo, "fit", lambda data, seed: well_result)
    monkeypatch.setattr(nke.cli.demo, "DoubleWell", partial(DoubleWell, dt=0.05))
    figure = tmp_path / "well.png"
    outcome = run("demo", "--trajectories", "64", "-o", figure)
    assert outcome.exit_code == 0, outcome.stderr
    for text in (
        "Wasserstein",
        "true law",
        "ratio ± error",
        "nke fit data.csv -o law.nke",
        "f₁",
        "a₁₁",
        "λ",
        "(0.25)",
        "(1.00)",
    ):
        assert text in outcome.output
    assert figure.read_bytes().startswith(b"\x89PNG")


def test_a_missing_folder_is_refused_before_the_work(tmp_path):
    assert "expected an existing folder" in refused(run("demo", "-o", tmp_path / "missing" / "well.png"))


def test_the_truth_itself_has_ratios_of_one(well_result):
    """Averaged over ensembles chance no longer looks like error: 1 within four standard errors."""
    system = DoubleWell(dimension=3, dt=0.05)
    test = system.simulate(64, 5, times=np.linspace(0, 1, 6))
    result = replace(well_result, model=true_model(system, step=0.05))
    ratios = list(nke.cli.demo._metrics(result, system, test, seed=0).columns[3].cells)
    for ratio, error in (map(float, cell.split(" ± ")) for cell in ratios):
        assert abs(ratio - 1) < 4 * error
        assert error < 0.3
