"""xarray objects."""

import numpy as np
import pytest
import xarray as xr

import nke
from nke.files import to_xarray
from recorded_files import ensemble, ragged, same


@pytest.mark.parametrize("make", [ensemble, ragged])
def test_datasets(make):
    data = make()
    same(nke.read(to_xarray(data)), data)


def test_variables_of_ones_own():
    values = np.arange(6.0).reshape(2, 3)
    own = xr.Dataset(
        {"size": (("run", "t"), values, {"units": "mm"}), "mass": (("run", "t"), -values)}, {"t": [0.0, 1.0, 3.0]}
    )
    data = nke.read(own)
    assert (data.names, data.units) == (("size", "mass"), ("mm", ""))
    np.testing.assert_array_equal(data.states, np.stack([values, -values], axis=-1))
    same(nke.read(own.to_dataarray("kind")), nke.Trajectories(data.states, data.times[0], data.names))
    assert nke.read(own["size"]).dimension == 1
    with pytest.raises(ValueError, match="dimension 'time'"):
        nke.read(own.rename(t="wave"))


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({"times": ("trajectory", [0.0, 1.0, 2.0])}, {}, "expected 'times' along 'time'"),
        ({"length": ("trajectory", [np.nan, 2.0, 3.0])}, {}, "lengths of the trajectories as whole numbers"),
        ({"size": ("trajectory", [1.0, 2.0, 3.0])}, {"states": ["size"]}, "expected 'size' along 'time'"),
        ({}, {"states": ["mass"]}, "expected a variable 'mass'"),
    ],
)
def test_wrong_variables(change, options, message):
    with pytest.raises(nke.errors.InputError, match=message):
        nke.read(to_xarray(ensemble()).assign(change), **options)
