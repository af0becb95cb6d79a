"""The entry: errors and exit codes, examples in the help and the documentation, completion."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

import nke.cli.output
from command_line import refused, run
from nke.cli.main import app, main

GROUP = get_command(app)
EXAMPLES = {name: re.findall(r"Example: (nke .*)", each.help) for name, each in {"": GROUP, **GROUP.commands}.items()}
ROOT = Path(__file__).parents[2]


class TestErrors:
    @pytest.mark.parametrize(
        ("error", "line"),
        [
            (nke.errors.InputError("expected this;\n  do that"), "nke: expected this; do that"),
            (nke.errors.MissingPackageError("install it"), "nke: install it"),
            (PermissionError(13, "Permission denied", "a.csv"), "nke: [Errno 13] Permission denied: 'a.csv'"),
            (MemoryError(), "nke: out of memory"),
            (KeyboardInterrupt(), "nke: interrupted"),
        ],
    )
    def test_of_the_user_are_one_line_unless_debugged(self, error, line, monkeypatch):
        def fails(*arguments, **options):
            raise error

        monkeypatch.setattr("nke.files.read", fails)
        assert refused(run("info", "a.csv")) == line
        debugged = run("--debug", "info", "a.csv")
        assert debugged.exit_code == 1
        assert debugged.stderr.startswith("Traceback (most recent call last):\n")
        assert debugged.stderr.endswith(f"{line}\n")

    def test_a_reader_who_has_seen_enough_is_no_error(self):
        """As in ``nke fit --help | head``: the pipe is closed before all is printed."""
        command = [sys.executable, "-c", "from nke.cli.main import main; main(['fit', '--help'])"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 1

    @pytest.mark.parametrize("options", [[], ["--debug"]])
    @pytest.mark.parametrize("error", [ValueError, TypeError, KeyError, ImportError, FloatingPointError, RuntimeError])
    def test_of_nke_show_a_traceback_and_ask_for_a_report(self, options, error, monkeypatch, capsys):
        def fails(*arguments, **options):
            raise error("no one meant this")

        monkeypatch.setattr("nke.files.read", fails)
        monkeypatch.setenv("NKE_CACHE", "off")
        with pytest.raises(SystemExit) as ended:
            main([*options, "info", "a.csv"])
        assert ended.value.code == 70
        shown = capsys.readouterr().err
        assert shown.startswith("Traceback (most recent call last):\n")
        assert "in fails" in shown
        assert "no one meant this" in shown
        assert shown.splitlines()[-1].startswith("nke: this is a defect; please report it")

    def test_in_a_process_of_its_own(self, tmp_path):
        command = [sys.executable, "-m", "nke.cli", "info", str(tmp_path / "none.csv")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert done.stderr == f"nke: {tmp_path / 'none.csv'}: no such file; check the spelling and the folder\n"

    @pytest.mark.parametrize(
        "arguments",
        [
            ("nonsense",),
            ("demo", "--trajectories", "3"),
            ("info", "a.csv", "--debug"),
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


def parsed(line):
    """The line, with whatever follows &&, as click understands it; raises where an option is not there."""
    for words in line.partition("#")[0].split("&&"):
        _, name, *arguments = (word for word in shlex.split(words) if word != "--debug")
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
