"""The way of ``docs/real-data.md``: a csv with US dates and points for holidays, to summary, picture and simulation."""

import numpy as np
import pytest

import nke
from command_line import run


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    """An index level whose logarithm goes back to log 15 at 5 % a trading day, with a volatility of 7 %."""
    rng, log_level, rows = np.random.default_rng(0), np.log(15.0), ["Date,vix"]
    days = np.arange(np.datetime64("2014-01-03"), np.datetime64("2016-01-03"))
    for day in days[np.is_busday(days)]:
        year, month, number = str(day).split("-")
        text = "." if rng.random() < 0.03 else f"{np.exp(log_level):.2f}"
        rows.append(f"{int(month)}/{int(number)}/{year},{text}")
        log_level += 0.05 * (np.log(15.0) - log_level) + 0.07 * rng.normal()
    path = tmp_path_factory.mktemp("index") / "vix.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.fixture(scope="module")
def fitted(index):
    known = ("--no-networks", "--noise", "constant", "--no-jumps", "--log", "vix")
    outcome = run("fit", index, "--calendar", "trading", *known)
    assert outcome.exit_code == 0, outcome.stderr
    return outcome


def test_the_summary_speaks_of_volatility_per_day_and_year(fitted):
    lines = fitted.stdout.splitlines()
    [volatility] = [line for line in lines if line.startswith("volatility")]
    share = float(volatility.split()[1])
    assert share == pytest.approx(7, abs=4 * 7 / np.sqrt(2 * 500) + 0.1)
    assert "% of vix per √trading day" in volatility
    assert "% a year" in volatility
    assert "learned as    log vix" in fitted.stdout
    assert any("drift f" in line for line in lines)
    assert len(lines) <= 20
    assert "time " not in fitted.stdout.split("decided")[1]


def test_simulated_paths_are_positive_and_have_the_dates(fitted, index, tmp_path):
    drawn = tmp_path / "simulated.csv"
    assert run("sample", index.with_suffix(".nke"), "-o", drawn, "--like", index).exit_code == 0
    data, simulated = nke.read(index, calendar="trading"), nke.read(drawn, calendar="trading")
    np.testing.assert_array_equal(simulated.dates, data.dates)
    assert (np.asarray(simulated.states) > 0).all()
    assert np.asarray(simulated.states).max() < 3 * np.asarray(data.states).max()


def test_dates_are_counted_as_in_the_fit(fitted, index):
    """Without saying so again: a model of trading days reads dates as trading days."""
    outcome = run("evaluate", index.with_suffix(".nke"), index)
    assert outcome.exit_code == 0
    assert "trading days since 2014-01-03" in outcome.stderr


def test_more_is_told_when_asked_for(fitted, index):
    told = run("info", index.with_suffix(".nke"), "--verbose").stdout
    assert "Which law was chosen?" in told
    assert "--positive none" in told or "as asked" in told
    assert run("info", index.with_suffix(".nke")).stdout == fitted.stdout.rsplit("saved to", 1)[0]
