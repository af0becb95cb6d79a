"""Running commands in process, and what they say."""

import json

from typer.testing import CliRunner

from nke.cli.main import app


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
