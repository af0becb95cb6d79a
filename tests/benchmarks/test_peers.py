"""The runner of the peers' examples; the peers themselves are not installed for the tests."""

import json
import sys
from types import SimpleNamespace

import pytest

from benchmarks.peers import __main__ as runner
from benchmarks.peers.example import Example, Measured


def measure(run):
    return Measured({"slope": -1.0}, {"slope": -1.0 + run.seed, "seconds": run.cap}, {"slope": float("nan")})


@pytest.fixture
def peer(monkeypatch):
    """NumPy as a peer, for its version."""
    example = Example("numpy", "a line", measure, notes=("A note.",), seeds=2)
    monkeypatch.setitem(runner.MODULES, "numpy", "numpy_readme")
    monkeypatch.setitem(sys.modules, "benchmarks.peers.numpy_readme", SimpleNamespace(EXAMPLES=[example]))


@pytest.mark.usefixtures("peer")
def test_one_record_for_each_seed_and_one_table(tmp_path, capsys):
    runner.main(["numpy", "--cap", "7", "-o", str(tmp_path / "results")])
    records = [json.loads(line) for line in (tmp_path / "results/peers.jsonl").read_text().splitlines()]
    assert [record["seed"] for record in records] == [0, 1]
    assert records[1]["ours"] == {"slope": 0.0, "seconds": 7.0}
    assert records[1]["peer_figures"] == {"slope": None}
    assert {"nke", "numpy"} <= set(records[0]["versions"])
    table = (tmp_path / "results/peers.md").read_text()
    assert table.strip() == capsys.readouterr().out.strip()
    lines = table.splitlines()
    assert lines[0] == "### numpy: a line"
    assert lines[4:6] == ["| slope | -1 | -0.5 ± 0.5 | -- |", "| seconds |  | 7 |  |"]
    assert lines[-1] == "2 seeds, mean ± standard error. A note."


@pytest.mark.usefixtures("peer")
def test_seeds_as_asked(tmp_path):
    runner.main(["numpy", "--seeds", "1", "-o", str(tmp_path)])
    assert len((tmp_path / "peers.jsonl").read_text().splitlines()) == 1


def test_a_peer_that_is_not_installed_is_left_out(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "kramersmoyal", None)
    runner.main(["kramersmoyal", "-o", str(tmp_path)])
    assert ".[bench-peers]" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_unknown_names_are_refused(capsys):
    with pytest.raises(SystemExit):
        runner.main(["nonsense"])
    assert "kramersmoyal" in capsys.readouterr().err
