"""``nke info``: what a file holds, and notes on what was done to it."""

import warnings

import nke.cli.info
from command_line import refused, run, told


def test_data_and_model(fitted, recorded):
    facts = told("info", recorded, "--time", "hours")
    assert (facts["kind"], facts["trajectories"], facts["rows"]["not observed"]) == ("data", 12, 1)
    assert facts["unit of time"] == "h"
    assert told("info", fitted)["coordinates"] == ["size [µm]"]
    assert "size [µm]" in run("info", fitted).stdout


def test_unsorted_rows_get_a_note(tmp_path):
    data = tmp_path / "data.csv"
    data.write_text("t,x\n0,1\n2,1\n1,2\n")
    outcome = run("info", data)
    assert outcome.exit_code == 0
    assert "note: rows sorted by time (line 4" in outcome.stderr


def test_a_warning_is_a_note(recorded, monkeypatch):
    def warn(*asked):
        warnings.warn("beware", stacklevel=1)
        return nke.Trajectories([1.0, 2.0], 0.1)

    monkeypatch.setattr(nke.cli.info, "load_data", warn)
    assert run("info", recorded).stderr == "note: beware\n"


def test_no_file(tmp_path):
    assert "no such file" in refused(run("info", tmp_path / "none.nke"))
