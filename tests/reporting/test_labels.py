"""Names that fit on an axis."""

import numpy as np

import nke
from drawn_models import linear
from nke.reporting.labels import END, START, Labels, isolated, shortened


def test_long_names_stay_different():
    names = ("a name that is too long, one", "a name that is too long, two", "short")
    short = shortened(names)
    assert len(set(short)) == 3
    assert all(len(name) < 26 for name in short)


def test_text_from_the_right_is_set_apart():
    assert isolated("שלום") == f"{START}שלום{END}"
    assert isolated("温度 x") == "温度 x"


def test_times_in_words():
    calendar = nke.data.Calendar(np.datetime64("2024-03-01", "ns"), "d")
    dated = Labels.of(linear(1), nke.Trajectories(np.zeros(5), 1.0, calendar=calendar))
    assert dated.when(3.0, 1.0) == "2024-03-04 (2 seconds later)"
    assert dated.time() == ""
    assert Labels.of(linear(1), nke.Trajectories(np.zeros(5), 1.0)).time() == "time [s]"
