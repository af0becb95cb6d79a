"""Messages of the library in the words of the command line."""

import pytest

from command_line import refused, run
from nke.cli.words import as_flags


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("or fit with jumps=False", "or fit with --no-jumps"),
        ("another form is needed (networks=True)", "another form is needed (--networks)"),
        ("fit with jumps=None or True", "fit with neither --jumps nor --no-jumps"),
        ("name it with time= (--time), or step= (--step)", "name it with --time, or --step"),
        ("pass decimal=',' (--decimal ,)", "pass --decimal ,"),
        ("pass delimiter='tab' (--delimiter 'tab')", "pass --delimiter tab"),
        ("fit with noise='constant'", "fit with --noise constant"),
        ("say positive=['u', 'v']", "say --positive u --positive v"),
        ("positive=[] keeps all as they are", "--positive none keeps all as they are"),
        ("or another coordinate (positive=[...])", "or another coordinate (--positive COLUMN)"),
        ("then say periodic={'theta': 360}", "then say --periodic theta:360"),
        ("say bounds={'share': (0, 1)}", "say --bounds share:0:1"),
        ("say bounds={'share':\n   (0,\n   1)}", "say --bounds share:0:1"),
        ("say positive=['Adj Close']", "say --positive 'Adj Close'"),
        ("periodic=[] keeps it as it is", "--periodic none keeps it as it is"),
        ("use nke.Likelihood, or pass jumps=False", "use --method likelihood, or pass --no-jumps"),
        ("transpose the table, or say wide=True", "transpose the table, or say --wide"),
        ("then say kinetic={'x': 'vx', 'y': 'vy'}", "then say --kinetic x:vx,y:vy"),
        ("kinetic={} learns all alike", "--kinetic none learns all alike"),
        ("the noise= of a step is 3 = 2 + 1", "the noise= of a step is 3 = 2 + 1"),
    ],
)
def test_arguments_become_flags(said, expected):
    assert as_flags(said) == expected


def test_no_python_in_the_advice(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("when,x\n0,1\n1,2\n")
    line = refused(run("info", path))
    assert "--step" in line
    assert "step=" not in line
