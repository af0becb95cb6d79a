"""Which columns are trajectory, time and states, and in which units."""

import numpy as np
import pandas as pd
import pytest

import nke
from recorded_files import text


def test_own_names_units_gaps_and_text_as_trajectory(tmp_path):
    path = text(tmp_path, "Cell, Time [h], size [µm]\nB,0,1\nA,0.5,2\nB,2,\nB,3,4\n\nA,0.75,5\n")
    data = nke.read(path)
    assert (data.names, data.units, data.unit_of_time) == (("size",), ("µm",), "h")
    assert [t.tolist() for t in data.times] == [[0, 2, 3], [0.5, 0.75]]
    assert data.transitions().step.tolist() == [3, 0.25]


def test_columns_by_choice(tmp_path):
    path = text(tmp_path, ",when,who,label,a,b\n0,0,1,red,3,4\n1,1,1,red,5,6\n")
    data = nke.read(path, time="when", trajectory="who", states=["b"])
    assert data.names == ("b",)
    assert np.ravel(data.states).tolist() == [4, 6]
    with pytest.raises(ValueError, match=r"'time' or 't', among when, who, label, a, b"):
        nke.read(path)
    with pytest.raises(ValueError, match=r"line 2, column 4 \(label\): expected a number, but got 'red'"):
        nke.read(path, time="when", trajectory="who")
    with pytest.raises(ValueError, match="column 'c' for the states"):
        nke.read(path, time="when", states=["c"])


def test_an_unnamed_column_of_row_numbers_is_no_state(tmp_path):
    frame = pd.DataFrame({"t": [0.0, 1.0], "x": [3.0, 4.0]})
    frame.to_csv(tmp_path / "pandas.csv")
    assert nke.read(tmp_path / "pandas.csv").names == ("x",)


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("hours", "h"),
        ("t_hours", "h"),
        ("Seconds", "s"),
        ("days", "d"),
        ("minutes", "min"),
        ("time_ms", "ms"),
        ("t [h]", "h"),
        ("Time (min)", "min"),
        ("t (s)", "s"),
        ("time_us", "µs"),
        ("hours [d]", "d"),
        ("time", ""),
        ("t", ""),
    ],
)
def test_the_name_of_the_times_tells_their_unit(tmp_path, name, unit):
    path = text(tmp_path, f"x,{name}\n5,0\n6,1\n")
    data = nke.read(path)
    assert (data.names, data.unit_of_time) == (("x",), unit)
    assert np.ravel(data.times).tolist() == [0, 1]
    assert nke.read(path, step=1).names == ("x",)
    np.savez(tmp_path / "a.npz", **{"x": data.states, name: data.times})
    assert nke.read(tmp_path / "a.npz", time=name).unit_of_time == unit


def test_a_temperature_is_no_time_and_a_symbol_no_unit(tmp_path):
    path = text(tmp_path, "t_min,t_s,s\n5,3,0\n6,4,1\n")
    with pytest.raises(ValueError, match=r"expected a column of times.*among t_min, t_s, s"):
        nke.read(path)
    assert nke.read(path, time="s").unit_of_time == ""
    assert nke.read(path, time="t_s").unit_of_time == "s"
    both = nke.read(text(tmp_path, "time_ms,time,x\n0,1,2\n1,2,3\n"))
    assert (np.ravel(both.times).tolist(), both.unit_of_time) == ([1, 2], "")
