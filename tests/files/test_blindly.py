"""Nothing that a file says is believed blindly: times are no states, sizes are compared, other files are not read."""

import io
import os
import time
import zipfile

import numpy as np
import pytest

import nke
from nke.errors import DamagedFileError, InputError
from nke.files.checks import opened_by_library


@pytest.fixture
def path(tmp_path):
    return lambda name: tmp_path / name


T, X = np.arange(5.0), np.arange(5.0) ** 2


@pytest.mark.parametrize("name", ["times", "time", "t", "t_hours", "lengths"])
def test_times_alone_are_no_states(path, name):
    np.savez(path("a.npz"), **{name: T})
    with pytest.raises(InputError, match="expected an array 'states' among"):
        nke.read(path("a.npz"), step=1.0)
    if name == "t_hours":
        return  # a name that has to be told: time="t_hours"
    np.savez(path("b.npz"), height=X, **{name: np.array([5]) if name == "lengths" else T})
    assert nke.read(path("b.npz"), step=1.0 if name == "lengths" else None).states.ravel().tolist() == X.tolist()


class TestHdf5:
    h5py = pytest.importorskip("h5py")

    def test_a_link_to_nothing_is_told(self, path):
        with self.h5py.File(path("a.h5"), "w") as file:
            file["times"], file["states"] = T, self.h5py.SoftLink("/gone")
        with pytest.raises(InputError, match="'states', but it is a link to nothing"):
            nke.read(path("a.h5"))

    @pytest.mark.parametrize("how", ["link", "storage", "virtual"])
    @pytest.mark.parametrize("ending", ["h5", "nc"])
    def test_other_files_are_not_read(self, path, how, ending):
        path("secret").write_bytes(X.tobytes())
        with self.h5py.File(path("other.h5"), "w") as file:
            file["x"] = X
        with self.h5py.File(path(f"a.{ending}"), "w") as file:
            file["times"] = T
            if how == "link":
                file["states"] = self.h5py.ExternalLink("other.h5", "/x")
            elif how == "storage":
                file.create_dataset("states", (5,), "f8", external=[(str(path("secret")), 0, 40)])
            else:
                layout = self.h5py.VirtualLayout((5,), "f8")
                layout[:] = self.h5py.VirtualSource(str(path("other.h5")), "x", (5,))
                file.create_virtual_dataset("states", layout)
        with pytest.raises(InputError, match="'states' in the file, but they are in another one"):
            nke.read(path(f"a.{ending}"))

    def test_claims_of_a_terabyte(self, path):
        with self.h5py.File(path("a.h5"), "w") as file:
            file.create_dataset("states", (1 << 37,), "f8", chunks=(1 << 20,))
            file["times"] = T
        with pytest.raises(DamagedFileError, match=r"claims 1\.1e\+12 bytes for the array 'states'"):
            nke.read(path("a.h5"))


def npy(shape: tuple[int, ...], numbers: bytes) -> bytes:
    """An npy file whose header claims a shape."""
    content = io.BytesIO()
    np.lib.format.write_array_header_1_0(content, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return content.getvalue() + numbers


def test_an_npy_that_claims_8_terabytes(path):
    path("a.npy").write_bytes(npy((1 << 40,), T.tobytes()))
    with pytest.raises(DamagedFileError, match="damaged"):
        nke.read(path("a.npy"), step=1.0)


def test_an_npz_that_claims_8_terabytes(path):
    with zipfile.ZipFile(path("a.npz"), "w") as archive:
        archive.writestr("states.npy", npy((1 << 40,), T.tobytes()))
    with pytest.raises(DamagedFileError, match="claims more numbers than there are"):
        nke.read(path("a.npz"), step=1.0)


def test_what_is_not_used_is_not_unpacked(path, monkeypatch):
    np.savez_compressed(path("a.npz"), states=X, times=T, photographs=np.zeros(1 << 20))
    unpacked, read = [], np.lib.npyio.NpzFile.__getitem__
    monkeypatch.setattr(np.lib.npyio.NpzFile, "__getitem__", lambda file, key: unpacked.append(key) or read(file, key))
    nke.read(path("a.npz"))
    assert sorted(unpacked) == ["states", "times"]


def test_lengths_are_compared_with_trajectories(path):
    xr = pytest.importorskip("xarray")
    data = xr.Dataset(
        {"states": (("trajectory", "time", "state"), np.ones((2, 5, 1))), "length": (("m",), [5, 5, 5])},
        {"time": T},
    )
    with pytest.raises(InputError, match="a length for each of 2 trajectories, but got 3"):
        nke.read(data)
    for lengths, message in (([2, 2], "expected 4 rows"), ([2, 9], "from 1 to 5"), ([2.5, 2.5], "whole numbers")):
        np.savez(path("a.npz"), states=X, times=T, lengths=lengths)
        with pytest.raises(InputError, match=message):
            nke.read(path("a.npz"))


def test_a_fifo_is_refused_at_once(path):
    os.mkfifo(path("a.csv"))
    with pytest.raises(InputError, match="FIFO"):
        nke.read(path("a.csv"))


def test_a_pickle_in_a_store_is_not_read(path):
    pytest.importorskip("zarr")
    nke.write(nke.Trajectories(X, 1.0), path("a.zarr"))
    words = (path("a.zarr") / "states" / "zarr.json").read_text()
    (path("a.zarr") / "states" / "zarr.json").write_text(words.replace("bytes", "numcodecs.pickle", 1))
    with pytest.raises(InputError, match="pickles"):
        nke.read(path("a.zarr"))


def test_what_asks_for_more_memory_than_there_is(path):
    """A store of text tells how many words a chunk has, which its library believes."""

    def allocate():
        raise MemoryError("Unable to allocate 31.6 GiB")

    with (
        pytest.raises(DamagedFileError, match=r"a\.zarr asks for more memory .*31\.6 GiB"),
        opened_by_library(path("a.zarr"), "zarr"),
    ):
        allocate()


def test_a_header_of_100000_columns(path):
    """Every column is looked at once, not once for every other."""
    columns = 100_000
    words = ["time", *(f"x{i}" for i in range(columns))]
    path("a.csv").write_text(",".join([*words[:-1], "x0"]) + "\n" + ",".join(["0"] * (columns + 1)) + "\n")
    clock = time.perf_counter()
    with pytest.raises(InputError, match="columns 2 and 100001 are both called 'x0'"):
        nke.read(path("a.csv"))
    assert time.perf_counter() - clock < 20, "one look a column takes about a second; one for every pair, minutes"
