"""Files of arrays: those of other people, and what is wrong with them."""

import numpy as np
import pytest

import nke


def test_arrays_of_ones_own(tmp_path):
    np.savez(tmp_path / "own.npz", X=np.zeros((2, 3, 1)), t=[0, 1, 3])
    assert np.asarray(nke.read(tmp_path / "own.npz").times).tolist() == [[0, 1, 3]] * 2
    np.save(tmp_path / "own.npy", np.zeros((2, 3, 1)))
    assert np.asarray(nke.read(tmp_path / "own.npy", step=2).times).tolist() == [[0, 2, 4]] * 2
    with pytest.raises(ValueError, match="--step"):
        nke.read(tmp_path / "own.npy")


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"lengths": [2, 2]}, "expected 4 rows by the lengths of the trajectories, but got 3"),
        ({"lengths": [1.5, 1.5]}, r"as whole numbers from 1 to 3, but got \[1.5 1.5\]"),
        ({"lengths": np.zeros(0, int)}, "as whole numbers from 1 to 3"),
        ({"names": ["x", "y"]}, "expected 1 names, one per coordinate, but got 2"),
        ({"times": ["a", "b", "c"]}, "expected times to be real numbers, but got text"),
        ({"states": np.zeros((3, 1), complex)}, "expected states to be real numbers, but got complex"),
    ],
)
def test_wrong_arrays(arrays, message, tmp_path):
    path = tmp_path / "own.npz"
    np.savez(path, **{"states": np.zeros((3, 1)), "times": [0, 1, 2]} | arrays)
    with pytest.raises(nke.errors.InputError, match=message) as caught:
        nke.read(path)
    assert str(caught.value).startswith(f"{path}: expected ")


def test_a_table_in_an_npy_has_one_number_in_a_field(tmp_path):
    np.save(tmp_path / "own.npy", np.zeros(3, [("t", float), ("x", float, (2,))]))
    with pytest.raises(ValueError, match="fields with one number in a row"):
        nke.read(tmp_path / "own.npy")
