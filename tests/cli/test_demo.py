"""``nke demo``: the result beside the truth."""

from functools import partial

import nke.cli.demo
from command_line import refused, run
from nke.systems import DoubleWell


def test_prints_the_result_beside_the_truth_and_saves_a_figure(tmp_path, monkeypatch, well_result):
    monkeypatch.setattr(nke.cli.demo, "fit", lambda data, seed: well_result)
    monkeypatch.setattr(nke.cli.demo, "DoubleWell", partial(DoubleWell, dt=0.05))
    figure = tmp_path / "well.png"
    outcome = run("demo", "--trajectories", "64", "-o", figure)
    assert outcome.exit_code == 0, outcome.stderr
    for text in ("Wasserstein", "oracle floor", "f₁", "a₁₁", "λ", "(0.25)", "(1.00)"):
        assert text in outcome.output
    assert figure.read_bytes().startswith(b"\x89PNG")


def test_a_missing_folder_is_refused_before_the_work(tmp_path):
    assert "expected an existing folder" in refused(run("demo", "-o", tmp_path / "missing" / "well.png"))
