"""pandas frames."""

import pytest

import nke
from nke.files import to_pandas
from recorded_files import ensemble, ragged, same


@pytest.mark.parametrize("make", [ensemble, ragged])
def test_frames(make):
    data = make()
    frame = to_pandas(data)
    same(nke.read(frame), data)
    same(nke.read(frame.set_index("trajectory")), data)


@pytest.mark.parametrize("index", [["time [s]"], ["trajectory", "trajectory"]])
def test_a_name_in_the_index_and_again(index):
    wrong = to_pandas(ensemble()).set_index(index, drop=False)
    with pytest.raises(ValueError, match=r"the frame: expected different names, but .* is in the index and again"):
        nke.read(wrong)
