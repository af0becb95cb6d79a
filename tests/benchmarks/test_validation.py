"""The command of the longer validation; its parts themselves take hours and are run by ``make verify``."""

import numpy as np
import pytest

from benchmarks.validation import __main__ as validation
from benchmarks.validation import further
from benchmarks.validation.tables import mean_and_error, print_rows


@pytest.fixture
def ran(monkeypatch):
    """Names of the parts that were run."""
    names = []
    parts = {name: (lambda name=name: names.append(name), "") for name in ("one", "two", "three")}
    monkeypatch.setattr(validation, "PARTS", parts)
    return names


@pytest.mark.parametrize(("asked", "expected"), [([], ["one", "two", "three"]), (["three", "one"], ["three", "one"])])
def test_the_named_parts_are_run_or_all(ran, asked, expected):
    validation.main(asked)
    assert ran == expected


def test_unknown_names_are_refused(ran, capsys):
    with pytest.raises(SystemExit) as stopped:
        validation.main(["one", "nonsense"])
    assert stopped.value.code == 2
    assert "expected some of one, two, three, but got nonsense" in capsys.readouterr().err
    assert ran == []


def test_every_part_is_listed(capsys):
    with pytest.raises(SystemExit):
        validation.main(["--help"])
    listed = capsys.readouterr().out
    assert all(f"  {name} " in listed for name in validation.PARTS)


def test_a_part_with_options_takes_all_that_follows_its_name(ran, monkeypatch):
    given = []
    monkeypatch.setattr(validation, "WITH_OPTIONS", {"four": given.append})
    validation.main(["four", "--seeds", "2"])
    assert given == [["--seeds", "2"]]
    assert ran == []


def test_means_have_their_standard_errors(capsys):
    assert mean_and_error([1.0, 3.0]) == "2 ± 1"
    print_rows("a line", [{"slope": 1.0}, {"slope": 3.0}], {"slope": "≤ 3"})
    shown = capsys.readouterr().out
    assert "a line, 2 seeds" in shown
    assert all(words in shown for words in ("slope", "2 ± 1", "1  3", "≤ 3"))


@pytest.mark.parametrize("name", further.LAWS)
def test_further_laws_have_the_moments_that_they_are_simulated_with(name):
    """Mean and variance of one short step from one state are s·f + s·λ·E[jump] and s·a + s·λ·E[jump²]."""
    law, n, rng = further.LAWS[name](), 20_000, np.random.default_rng(0)
    x = law.initial(1, rng)
    moved = law.advance(np.repeat(x, n, axis=0), law.dt, rng) - x
    mean, second = law.drift(x)[0] * law.dt, law.diffusion(x)[0] * law.dt
    if law.has_jumps:
        jump_mean, jump_covariance = law.jump_law(x[0]).mean, law.jump_law(x[0]).covariance
        expected = law.dt * law.jump_rate(x)[0]
        mean = mean + expected * jump_mean
        second = second + expected * (jump_covariance + np.outer(jump_mean, jump_mean))
    assert (np.abs(moved.mean(axis=0) - mean) < 5 * moved.std(axis=0) / np.sqrt(n) + 1e-12).all()  # rounding
    squares = (moved - mean)[:, :, None] * (moved - mean)[:, None]
    assert (np.abs(squares.mean(axis=0) - second) < 5 * squares.std(axis=0) / np.sqrt(n) + 1e-3 * second.max()).all()
