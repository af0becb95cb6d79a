"""The commands of the front door, in process: what they write, print and refuse. One tiny fit serves them all."""

import json
import os
import re
import shlex
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from typer.main import get_command
from typer.testing import CliRunner

import nke
import nke.cli.fit
import nke.cli.info
import nke.fitting
from nke.cli.cache import use_compilation_cache
from nke.cli.fit import chosen_method, known_structure
from nke.cli.main import app
from nke.cli.simulate import SYSTEMS
from nke.fitting import Likelihood, Schedule
from nke.fitting.likelihood import schedule_for


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def told(*arguments):
    """The JSON object that a command prints."""
    outcome = run(*arguments, "--json")
    assert outcome.exit_code == 0, outcome.stderr
    return json.loads(outcome.stdout)


def refused(outcome):
    """One line of advice and exit code 1."""
    assert outcome.exit_code == 1
    [line] = outcome.stderr.strip().splitlines()
    assert line.startswith("nke: ")
    return line


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Irregular, of different lengths, with names of its own and a missing cell."""
    rng, rows = np.random.default_rng(0), ["cell,hours [h],size [µm]"]
    for m in range(12):
        times = np.cumsum(rng.uniform(0.05, 0.15, 15 + m))
        states = nke.systems.OrnsteinUhlenbeck().simulate(1, m, times=times).states[0, :, 0]
        rows += [f"c{m},{t:.6f},{x:.6f}" for t, x in zip(times, states, strict=True)]
    rows[5] = rows[5].rsplit(",", 1)[0] + ","
    path = tmp_path_factory.mktemp("data") / "cells.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.fixture(scope="module")
def fitted(recorded):
    path = recorded.with_name("cells.nke")
    quick = Schedule(steps=20)
    small = Likelihood(networks=True, noise="constant", width=4, depth=1, schedule=quick)  # compiles in seconds
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nke.cli.fit, "chosen_method", lambda *asked: small)
        outcome = run("fit", recorded, "-o", path, "--time", "hours", "--no-jumps")
    assert outcome.exit_code == 0, outcome.stderr
    assert "saved to" in outcome.stdout
    assert "1 of 246 rows not observed" in outcome.stderr
    return path


def test_the_method_is_as_asked():
    data = nke.systems.OrnsteinUhlenbeck().simulate(2, 0, times=[0, 0.1, 0.2])
    assert chosen_method("likelihood", None, data, {}) == Likelihood()
    assert isinstance(chosen_method("moments", None, data, {}), nke.MomentMatching)
    known = {"kinetic": {"x": "vx", "y": "vy"}, "invariant": ("x", "y")}
    assert chosen_method("likelihood", None, data, known_structure("x:vx,y:vy", "x,y")) == Likelihood(**known)
    assert chosen_method("likelihood", None, data, {"networks": False}).networks is False
    shorter = chosen_method("likelihood", 20, data, {}).schedule
    assert replace(shorter, steps=schedule_for(1, 4).steps) == schedule_for(1, 4)
    assert shorter.steps == 20


def test_names_and_units_travel_from_file_to_model(fitted):
    model = nke.load(fitted)
    assert (model.names, model.units, model.unit_of_time) == (("size",), ("µm",), "h")
    result = nke.FitResult.load(fitted)
    assert result.history["likelihood"].steps.tolist() == [20]
    assert "score" in result.decided
    model.save(fitted.with_name("alone.nke"))
    assert nke.FitResult.load(fitted.with_name("alone.nke")).history == {}


def test_the_same_fit_gives_the_same_file(fitted):
    """Up to the order of the header, which safetensors leaves open: the digest is over all of the content."""
    again = fitted.with_name("again.nke")
    nke.FitResult.load(fitted).save(again)
    digests = [safe_open(path, framework="np").metadata()["digest"] for path in (fitted, again)]
    assert digests[0] == digests[1]


def test_sample_like_data_and_from_a_state(fitted, recorded, tmp_path):
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


def test_evaluate_scores(fitted, recorded, tmp_path):
    found = told("evaluate", fitted, recorded, "--time", "hours")
    data = nke.read(recorded, time="hours")
    assert found == {"score": pytest.approx(nke.load(fitted).score(data)), "transitions": len(data.transitions())}
    ensemble = tmp_path / "ensemble.csv"
    run("simulate", "ornstein-uhlenbeck", "-o", ensemble, "--trajectories", 3, "--duration", 1, "--interval", 0.25)
    assert set(told("evaluate", fitted, ensemble)) > {"score", "mean_mse", "covariance_mse", "wasserstein"}
    assert "Wasserstein" in run("evaluate", fitted, ensemble).stdout


def test_plot_writes_pictures(fitted, recorded, tmp_path):
    files = told("plot", fitted, recorded, "--time", "hours", "-o", tmp_path / "pictures")["files"]
    names = {"drift", "diffusion", "paths", "densities", "increments", "history"}
    assert {Path(file).stem for file in files} == names
    assert all(Path(file).read_bytes().startswith(b"\x89PNG") for file in files)
    assert len(list((tmp_path / "pictures").iterdir())) == len(names)


def test_info_of_data_and_of_a_model(fitted, recorded):
    facts = told("info", recorded, "--time", "hours")
    assert (facts["kind"], facts["trajectories"], facts["rows"]["not observed"]) == ("data", 12, 1)
    assert facts["unit of time"] == "h"
    assert told("info", fitted)["coordinates"] == ["size [µm]"]
    assert "size [µm]" in run("info", fitted).stdout


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


@pytest.mark.parametrize("name", SYSTEMS)
def test_simulate_every_system(name, tmp_path):
    asked = ("simulate", name, "-o", tmp_path / "a.npz", "--trajectories", 2, "--duration", 0.02, "--interval", 0.01)
    assert told(*asked)["rows"] == 3
    assert np.asarray(nke.read(tmp_path / "a.npz").states).shape[:2] == (2, 3)


def test_simulate_as_in_python_with_parameters(tmp_path):
    asked = ("simulate", "double-well", "--trajectories", 2, "--duration", 0.1, "--seed", 5, "--set", "rate=0")
    told(*asked, "-o", tmp_path / "a.npz")
    expected = nke.systems.DoubleWell(rate=0).simulate(2, 5, times=[0, 0.05, 0.1])
    np.testing.assert_array_equal(nke.read(tmp_path / "a.npz").states, expected.states)


class TestRefusals:
    @pytest.mark.parametrize(
        ("content", "advice"),
        [
            (b"\x1f\x8b\x08\x00garbage\x00\x01", "binary"),
            (b"", "is empty"),
            (b"t;x\n0;1\n1;2\n", "--delimiter"),
            (b"t,x\n0,1\n1,oops\n", "line 3, column 2"),
            (b"t,x\n0,1\n1,1\n1,2\n", "line 4, column 1"),
            (b"t,x\n0,1\n1,1,5\n", "line 3"),
            (b"t,x\n0,1\n1,\xff\n", "UTF-8"),
        ],
    )
    def test_a_wrong_file_is_one_line_and_no_output(self, tmp_path, content, advice):
        data, output = tmp_path / "data.csv", tmp_path / "model.nke"
        data.write_bytes(content)
        assert advice in refused(run("fit", data, "-o", output))
        assert not output.exists()

    def test_no_file_or_a_folder(self, tmp_path):
        assert "no such file" in refused(run("fit", tmp_path / "none.csv"))
        assert "folder" in refused(run("fit", tmp_path, "-o", tmp_path / "model.nke"))
        assert "existing folder" in refused(run("fit", tmp_path / "none.csv", "-o", tmp_path / "no" / "model.nke"))
        assert list(tmp_path.iterdir()) == []

    def test_an_output_that_cannot_be_written_is_refused_before_the_work(self, fitted, tmp_path):
        start = ("--start", "0", "--duration", 1)
        assert "ends in one of" in refused(run("sample", fitted, "-o", tmp_path / "a.xls", *start))
        assert "existing folder" in refused(run("simulate", "lorenz", "-o", tmp_path / "no" / "a.csv"))
        assert "is a folder" in refused(run("fit", tmp_path / "none.csv", "-o", tmp_path))

    def test_unsorted_rows_get_a_note(self, tmp_path):
        data = tmp_path / "data.csv"
        data.write_text("t,x\n0,1\n2,1\n1,2\n")
        outcome = run("info", data)
        assert outcome.exit_code == 0
        assert "note: rows sorted by time (line 4" in outcome.stderr

    def test_a_warning_is_a_note(self, recorded, monkeypatch):
        monkeypatch.setattr(nke.cli.info, "_data", lambda *asked: warnings.warn("beware", stacklevel=1) or {"kind": 1})
        assert run("info", recorded).stderr == "note: beware\n"

    def test_no_model(self, recorded, tmp_path):
        assert "not a model" in refused(run("evaluate", recorded, recorded, "--time", "hours"))
        assert "No such file" in refused(run("info", tmp_path / "none.nke"))

    @pytest.mark.parametrize(
        "arguments",
        [
            ("simulate", "nonsense", "-o", "a.csv"),
            ("simulate", "lorenz", "-o", "a.csv", "--set", "speed=1"),
            ("simulate", "lorenz", "-o", "a.csv", "--set", "noise"),
            ("simulate", "lorenz"),
            ("sample", "model.nke", "-o", "a.csv"),
            ("sample", "model.nke", "-o", "a.csv", "--start", "0"),
            ("fit", "a.csv", "--method", "magic"),
            ("plot", "model.nke", "a.csv", "--format", "gif"),
            ("fit", "a.csv", "--seed", "-1"),
            ("fit", "a.csv", "--kinetic", "x"),
            ("fit", "a.csv", "--kinetic", "x:vx", "--method", "moments"),
        ],
    )
    def test_wrong_usage_is_exit_code_2(self, arguments, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        assert run(*arguments).exit_code == 2
        assert list(tmp_path.iterdir()) == []


GROUP = get_command(app)
EXAMPLES = {name: re.findall(r"Example: (nke .*)", each.help) for name, each in {"": GROUP, **GROUP.commands}.items()}
ROOT = Path(__file__).parents[1]


def parsed(line):
    """The line, with whatever follows &&, as click understands it; raises where an option is not there."""
    for words in line.partition("#")[0].split("&&"):
        _, name, *arguments = shlex.split(words)
        GROUP.commands[name].make_context(name, arguments)


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_command_has_an_example_that_parses(name):
    [example] = EXAMPLES[name]
    assert example.startswith(f"nke {name}")
    assert example in re.sub(r"\s+", " ", run(*filter(None, [name]), "--help").stdout)
    parsed(example)
    with pytest.raises(Exception, match="No such option"):
        parsed(f"{example} --no-such-option")


@pytest.mark.parametrize("page", [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))], ids=lambda p: p.name)
def test_every_command_in_the_documentation_parses(page):
    text = page.read_text()
    for line in re.findall(r"^nke .*", "\n".join(re.findall(r"```sh\n(.*?)```", text, re.DOTALL)), re.MULTILINE):
        parsed(line)
    for name, words in re.findall(r"`nke ([a-z]+)\b([^`]*)`", text):
        known = {option for parameter in GROUP.commands[name].params for option in parameter.opts}
        assert set(re.findall(r"(?<=\s)--?[a-z-]+", words)) <= known


def test_shell_completion_offers_the_systems():
    words = {"_NKE_COMPLETE": "complete_bash", "COMP_WORDS": "nke simulate lo", "COMP_CWORD": "2"}
    code = "from nke.cli.main import app; app(prog_name='nke')"
    done = subprocess.run([sys.executable, "-c", code], env=os.environ | words, capture_output=True, text=True)
    assert done.stdout.split() == ["lorenz"]


def test_compiled_programs_are_kept_unless_told_otherwise(monkeypatch, tmp_path):
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR", raising=False)
    monkeypatch.setenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "1")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("NKE_CACHE", "off")
    use_compilation_cache()
    assert "JAX_COMPILATION_CACHE_DIR" not in os.environ
    for told, folder in (("", tmp_path / "nke" / "jax"), (str(tmp_path / "own"), tmp_path / "own")):
        monkeypatch.setenv("NKE_CACHE", told)
        monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR", raising=False)
        use_compilation_cache()
        assert os.environ["JAX_COMPILATION_CACHE_DIR"] == str(folder)
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", "mine")
    use_compilation_cache()
    assert os.environ["JAX_COMPILATION_CACHE_DIR"] == "mine"
