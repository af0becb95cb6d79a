"""``nke forecast``: a table of mean, deviation and quantiles."""

import numpy as np
import pandas as pd
import pytest

import nke
from command_line import refused, run, told


def test_a_table_as_the_model_itself_gives_it(fitted, tmp_path):
    asked = ("--start", "0.5", "--times", "0:0.2:0.1", "--components", 4, "--quantiles", "0.1,0.5")
    facts = told("forecast", fitted, "-o", tmp_path / "fan.csv", *asked)
    table = pd.read_csv(tmp_path / "fan.csv")
    assert facts["rows"] == 3
    assert list(table) == ["time [h]", "size mean", "size sd", "size q0.1", "size q0.5"]
    found = nke.load(fitted).forecast([0.5], [0.0, 0.1, 0.2], components=4)
    np.testing.assert_allclose(table["size mean"], found.mean[:, 0], rtol=1e-6)
    np.testing.assert_allclose(table["size q0.1"], found.quantile(0.1)[:, 0], rtol=1e-6)


def test_after_the_last_row_of_a_recording(fitted, recorded, tmp_path):
    nke.write(nke.read(recorded).select(slice(1)), tmp_path / "one.csv")
    told("forecast", fitted, "-o", tmp_path / "fan.parquet", "--after", tmp_path / "one.csv", "--times", "0,0.1")
    last = nke.read(tmp_path / "one.csv").observed_states[-1, 0]
    assert pd.read_parquet(tmp_path / "fan.parquet")["size mean"][0] == pytest.approx(last, rel=1e-6)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("-o", "fan.csv", "--times", "1"), "initial state"),
        (("-o", "fan.xls", "--times", "1", "--start", "0"), "ends in .csv or .parquet"),
        (("-o", "fan.csv", "--times", "0:1", "--start", "0"), "first:last:step"),
        (("-o", "fan.csv", "--times", "soon", "--start", "0"), "numbers separated by commas"),
    ],
)
def test_wrong_usage_is_said_before_the_work(arguments, words, tmp_path):
    outcome = run("forecast", tmp_path / "none.nke", *arguments)
    assert outcome.exit_code == 2
    assert words in " ".join(outcome.stderr.replace("│", " ").split())


def test_times_that_do_not_increase_are_refused(fitted, tmp_path):
    assert "increasing times" in refused(
        run("forecast", fitted, "-o", tmp_path / "fan.csv", "--start", "0", "--times", "1,0.5")
    )
