"""The command of the longer validation; its parts themselves take hours and are run by ``make verify``."""

import pytest

from benchmarks.validation import __main__ as validation
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
