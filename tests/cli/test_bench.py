"""``nke bench`` on a tiny budget."""

import json

from typer.testing import CliRunner

from bench_cells import TINY
from nke.cli.main import app


def test_the_command_line_runs_a_sweep(tmp_path, monkeypatch):
    monkeypatch.setattr("nke.cli.bench.QUICK", TINY)
    command = ["bench", "--quick", "--systems", "black-scholes", "--methods", "oracle,parametric", "--jobs", "1"]
    outcome = CliRunner().invoke(app, [*command, "-o", str(tmp_path)], catch_exceptions=False)
    assert outcome.exit_code == 0
    assert "Parametric likelihood" in outcome.output
    assert len((tmp_path / "results.jsonl").read_text().splitlines()) == 2
    for line in (tmp_path / "results.jsonl").read_text().splitlines():
        assert json.loads(line)["configuration"]["train"] == TINY.train
    refused = CliRunner().invoke(app, [*command, "--backend", "dask", "-o", str(tmp_path)])
    assert refused.exit_code == 1
    assert "--scheduler" in refused.output
