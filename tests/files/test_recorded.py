"""Whatever holds recorded states is taken by ``nke.fit``, and what cannot be meant is refused."""

import numpy as np
import pandas as pd
import pytest

import nke
from nke.errors import InputError, InputTypeError
from nke.files import recorded

X = np.cumsum(np.random.default_rng(0).normal(size=(20, 2)), axis=0)


def test_trajectories_are_taken_as_they_are():
    data = nke.Trajectories(X, 0.1)
    assert recorded(data) is data
    with pytest.raises(InputError, match="expected no step"):
        recorded(data, 0.1)


@pytest.mark.parametrize("shape", [(20,), (20, 2), (4, 20, 2)])
def test_arrays(shape):
    found = recorded(np.resize(X, shape), 0.1)
    np.testing.assert_array_equal(np.ravel(found.states), np.ravel(np.resize(X, shape)))
    np.testing.assert_allclose(np.diff(np.asarray(found.times)[0]), 0.1)


def test_frames_series_and_files(tmp_path):
    frame = pd.DataFrame({"hours": np.arange(20) / 4, "u": X[:, 0], "v": X[:, 1]})
    frame.to_csv(tmp_path / "cells.csv", index=False)
    for source in (frame, tmp_path / "cells.csv", str(tmp_path / "cells.csv")):
        found = recorded(source)
        assert found.names == ("u", "v")
        assert found.unit_of_time == "h"
    series = recorded(pd.Series(X[:, 0], name="level"), 0.5)
    assert series.names == ("level",)
    assert np.ravel(series.times)[-1] == 9.5


def test_arrays_need_a_step():
    with pytest.raises(InputError, match=r"nke.fit\(x, 0.1\)"):
        recorded(X)


@pytest.mark.parametrize("shape", [(5, 300), (1000, 300)])
def test_paths_side_by_side_are_refused(shape):
    with pytest.raises(InputError, match=r"x\[:, :, None\]"):
        recorded(np.zeros(shape), 0.1)


def test_arguments_are_told_apart_by_their_kind():
    for wrong in ("fast", nke.Likelihood, object()):
        with pytest.raises(InputTypeError, match="expected a method"):
            nke.fit(X, 0.1, wrong)
    with pytest.raises(InputTypeError, match="expected a method"):
        nke.fit(X, 0.1, nke.Likelihood(), nke.Likelihood())
