"""Wide tables: a row for each time, a column for each coordinate of each trajectory."""

import numpy as np
import pytest

import nke
from recorded_files import ensemble, ragged, same, text


def test_wide_round_trip(tmp_path):
    data = ensemble()
    nke.write(data, tmp_path / "wide.csv", wide=True)
    assert (tmp_path / "wide.csv").read_text().startswith("time [s],height [mm]:0,speed:0,height [mm]:1")
    same(nke.read(tmp_path / "wide.csv"), data)
    with pytest.raises(ValueError, match="same times"):
        nke.write(ragged(), tmp_path / "other.csv", wide=True)


def test_wide_by_choice(tmp_path):
    data = nke.read(text(tmp_path, "t,left [mm],right [mm]\n0,1,2\n1,3,4\n"), wide=True)
    assert (data.names, data.units) == (("x",), ("mm",))
    assert np.asarray(data.states)[..., 0].tolist() == [[1, 3], [2, 4]]
