"""``nke sample``: paths like recorded ones, or from one state."""

import numpy as np
import pytest

import nke
from command_line import refused, run, told


def test_like_data_and_from_a_state(fitted, recorded, tmp_path):
    told("sample", fitted, "-o", tmp_path / "a.csv", "--like", recorded, "--seed", 3)
    paths = nke.read(tmp_path / "a.csv")
    assert (len(paths), paths.names, paths.units, paths.unit_of_time) == (12, ("size",), ("µm",), "h")
    start = ("--start", "0.5", "--duration", 1, "--interval", 0.25, "--paths", 3)
    for name, seed in (("b.csv", 1), ("c.npz", 1), ("d.csv", 2)):
        assert told("sample", fitted, "-o", tmp_path / name, *start, "--seed", seed)["paths"] == 3
    b, c, d = (np.asarray(nke.read(tmp_path / name).states) for name in ("b.csv", "c.npz", "d.csv"))
    assert b.shape == (3, 5, 1)
    np.testing.assert_array_equal(b, c)
    assert (b[:, 1:] != d[:, 1:]).all()


def test_an_output_that_cannot_be_written_is_refused_before_the_work(tmp_path):
    start = ("--start", "0", "--duration", 1)
    assert "ends in one of" in refused(run("sample", tmp_path / "none.nke", "-o", tmp_path / "a.xls", *start))


def test_a_start_has_a_number_for_each_coordinate(fitted, tmp_path):
    for command in (("sample", "--duration", 1), ("forecast", "--times", "0:1:0.5")):
        outcome = run(command[0], fitted, "-o", tmp_path / "a.csv", "--start", "1,2", *command[1:])
        assert outcome.exit_code == 2
        assert "expected 1 number (size), but got 2" in " ".join(outcome.stderr.split())


@pytest.mark.parametrize(("duration", "interval"), [("1", "2"), ("1", "1e-300")])
def test_times_that_make_no_sense_are_refused(fitted, tmp_path, duration, interval):
    asked = ("--start", "0", "--duration", duration, "--interval", interval)
    assert "0 < interval ≤ duration" in refused(run("sample", fitted, "-o", tmp_path / "a.csv", *asked))


@pytest.mark.parametrize(("duration", "interval", "wrong"), [("inf", "1", "inf"), ("nan", "1", "nan"), ("1", "0", "0")])
def test_options_that_are_no_times_are_a_matter_of_usage(fitted, tmp_path, duration, interval, wrong):
    asked = ("--start", "0", "--duration", duration, "--interval", interval)
    outcome = run("sample", fitted, "-o", tmp_path / "a.csv", *asked)
    assert outcome.exit_code == 2
    assert wrong in outcome.stderr
    assert not (tmp_path / "a.csv").exists()


def test_like_data_has_its_times_gaps_and_dates(fitted, recorded, tmp_path):
    told("sample", fitted, "-o", tmp_path / "a.csv", "--like", recorded, "--time", "hours")
    data, drawn = nke.read(recorded, time="hours"), nke.read(tmp_path / "a.csv")
    for a, b in ((data.times, drawn.times), (data.observed, drawn.observed)):
        assert all(np.array_equal(one, other) for one, other in zip(a, b, strict=True))
    dated = tmp_path / "dated.csv"
    dated.write_text("date,size [µm]\n2024-03-01,0.5\n2024-03-04,0.7\n2024-03-05,.\n2024-03-07,0.2\n")
    told("sample", fitted, "-o", tmp_path / "b.csv", "--like", dated)
    rows = (tmp_path / "b.csv").read_text().splitlines()
    assert [row.split(",")[1] for row in rows] == ["date", "2024-03-01", "2024-03-04", "2024-03-05", "2024-03-07"]
    assert rows[1].endswith(",0.5")
    assert rows[3].endswith(",")
