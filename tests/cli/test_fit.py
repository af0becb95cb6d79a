"""``nke fit``: the method that is asked for, what it prints and keeps."""

import json
import math
from dataclasses import replace

import pytest
from safetensors import safe_open

import nke
import nke.cli.fit
import nke.fitting
from command_line import refused, run
from nke.cli.fit import chosen_method, known_columns, known_structure
from nke.fitting import Likelihood
from nke.fitting.training import default_schedule


def test_the_method_is_as_asked():
    data = nke.systems.OrnsteinUhlenbeck().simulate(2, 0, times=[0, 0.1, 0.2])
    assert chosen_method("likelihood", None, data, {}) == Likelihood()
    assert isinstance(chosen_method("moments", None, data, {}), nke.MomentMatching)
    known = {"kinetic": {"x": "vx", "y": "vy"}, "invariant": ("x", "y")}
    assert chosen_method("likelihood", None, data, known_structure("x:vx,y:vy", "x,y")) == Likelihood(**known)
    assert chosen_method("likelihood", None, data, {"networks": False}).networks is False
    shorter = chosen_method("likelihood", 20, data, {}).schedule
    usual = default_schedule(1, 4, nke.fitting.SelectionRules())
    assert replace(shorter, steps=usual.steps) == usual
    assert shorter.steps == 20


def test_columns_are_as_named():
    assert known_columns(None, None, None) == {}
    assert known_columns(["none"], ["none"], None) == {"positive": [], "periodic": []}
    asked = known_columns(["u", "v"], ["theta", "heading:360"], ["share:0:1", "a:b:-1:2.5"])
    assert asked == {
        "positive": ["u", "v"],
        "periodic": {"theta": 2 * math.pi, "heading": 360.0},
        "bounds": {"share": (0.0, 1.0), "a:b": (-1.0, 2.5)},
    }


def test_columns_reach_the_fit(recorded, fitted, tmp_path, monkeypatch):
    asked = {}

    def fit(data, method, **options):
        asked.update(options)
        return nke.FitResult.load(fitted)

    monkeypatch.setattr(nke.fitting, "fit", fit)
    options = ("--positive", "size", "--periodic", "theta", "--bounds", "share:0:1")
    assert run("fit", recorded, "-o", tmp_path / "cells.nke", "--time", "hours", *options).exit_code == 0
    assert asked["positive"] == ["size"]
    assert asked["bounds"] == {"share": (0.0, 1.0)}


class TestALawThatCannotBeRight:
    @pytest.fixture
    def doubtful(self, fitted, monkeypatch):
        """A fit that ends with a severe finding."""
        wrong = nke.evaluation.Finding("memory", "hidden velocity", 0.6, 0.05, 1e-9, "Seen.", "Do this.", severe=True)
        result = replace(nke.FitResult.load(fitted), diagnosis=nke.Diagnosis((wrong,)))
        monkeypatch.setattr(nke.fitting, "fit", lambda *asked, **options: result)

    def test_is_written_marked_and_ends_with_three(self, doubtful, recorded, tmp_path):
        model = tmp_path / "cells.nke"
        outcome = run("fit", recorded, "-o", model, "--time", "hours")
        assert outcome.exit_code == 3
        assert "not to be trusted: hidden velocity" in outcome.stdout
        assert "--force" in outcome.stderr
        for command in (("info", model), ("evaluate", model, recorded, "--time", "hours")):
            assert "is not to be trusted: hidden velocity" in run(*command).stderr
        sampled = run("sample", model, "-o", tmp_path / "paths.csv", "--start", "0", "--duration", "1")
        assert "is not to be trusted: hidden velocity" in sampled.stderr

    def test_may_be_forced(self, doubtful, recorded, tmp_path):
        asked = ("fit", recorded, "-o", tmp_path / "cells.nke", "--time", "hours", "--force")
        assert run(*asked).exit_code == 0


@pytest.mark.parametrize(
    ("option", "value", "reason"),
    [
        ("--bounds", "share:0", "expected share:0:1"),
        ("--bounds", "share:0:one", "got 'one' for a number"),
        ("--periodic", "theta:turn", "got 'turn' for a number"),
    ],
)
def test_columns_that_cannot_be_read(recorded, option, value, reason):
    outcome = run("fit", recorded, option, value, "--time", "hours")
    assert outcome.exit_code == 2
    assert reason in " ".join(outcome.stderr.replace("│", " ").split())


def test_a_column_that_is_not_positive(recorded, tmp_path):
    asked = ("fit", recorded, "-o", tmp_path / "model.nke", "--time", "hours", "--positive", "size")
    outcome = run(*asked)
    assert outcome.exit_code == 1
    assert "nke: expected 'size' greater than 0 in every row, but trajectory" in outcome.stderr


def test_json_is_the_result_as_data(fit_outcome, fitted):
    facts = json.loads(fit_outcome.stdout)
    assert facts["output"] == str(fitted)
    assert set(facts) == {"output", *nke.FitResult.load(fitted).to_dict()}
    assert "1 of 246 rows not observed" in fit_outcome.stderr


def test_the_text_is_the_summary(recorded, fitted, tmp_path, monkeypatch):
    result = nke.FitResult.load(fitted)
    monkeypatch.setattr(nke.fitting, "fit", lambda *arguments, **options: result)
    output = tmp_path / "cells.nke"
    outcome = run("fit", recorded, "-o", output, "--time", "hours")
    assert outcome.stdout == f"{result.summary()}\nsaved to {output}\n"
    assert nke.load(output).names == ("size",)


def test_names_and_units_travel_from_file_to_model(fitted):
    model = nke.load(fitted)
    assert (model.names, model.units, model.unit_of_time) == (("size",), ("µm",), "h")
    result = nke.FitResult.load(fitted)
    assert result.history["likelihood"].steps.tolist() == [20]
    assert result.score is not None
    model.save(fitted.with_name("alone.nke"))
    assert nke.FitResult.load(fitted.with_name("alone.nke")).history == {}


def test_the_same_fit_gives_the_same_file(fitted):
    """Up to the order of the header, which safetensors leaves open: the digest is over all of the content."""
    again = fitted.with_name("again.nke")
    nke.FitResult.load(fitted).save(again)
    digests = [safe_open(path, framework="np").metadata()["digest"] for path in (fitted, again)]
    assert digests[0] == digests[1]


def test_an_interrupted_fit_leaves_nothing_or_a_checkpoint(recorded, tmp_path, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(nke.fitting, "fit", interrupted)
    asked = ("fit", recorded, "-o", tmp_path / "model.nke", "--time", "hours")
    outcome = run(*asked)
    assert outcome.exit_code == 1
    assert outcome.stderr.endswith("nke: interrupted\n")
    assert list(tmp_path.iterdir()) == []
    kept = tmp_path / "kept"
    assert "continues from there" not in run(*asked, "--checkpoint", kept).stderr
    kept.mkdir()
    (kept / "likelihood.checkpoint").touch()
    assert "continues from there" in run(*asked, "--checkpoint", kept).stderr


@pytest.mark.parametrize(
    ("content", "advice"),
    [
        (b"\x1f\x8b\x08\x00garbage\x00\x01", "gzip"),
        (b"", "is empty"),
        (b"t;x\n0;1\n1;2\n", "--delimiter"),
        (b"t,x\n0,1\n1,oops\n", "line 3, column 2"),
        (b"t,x\n0,1\n1,1\n1,2\n", "line 4, column 1"),
        (b"t,x\n0,1\n1,1,5\n", "line 3"),
        (b"t,x\n0,1\n1,\xff\n", "UTF-8"),
    ],
)
def test_a_wrong_file_is_one_line_and_no_output(tmp_path, content, advice):
    data, output = tmp_path / "data.csv", tmp_path / "model.nke"
    data.write_bytes(content)
    assert advice in refused(run("fit", data, "-o", output))
    assert not output.exists()


def test_no_file_or_a_folder(tmp_path):
    assert "no such file" in refused(run("fit", tmp_path / "none.csv"))
    assert "folder" in refused(run("fit", tmp_path, "-o", tmp_path / "model.nke"))
    assert "existing folder" in refused(run("fit", tmp_path / "none.csv", "-o", tmp_path / "no" / "model.nke"))
    assert "is a folder" in refused(run("fit", tmp_path / "none.csv", "-o", tmp_path))
    assert list(tmp_path.iterdir()) == []
