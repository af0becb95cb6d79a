"""Reading and writing: what is written is read again unchanged, and what cannot be read or written is named."""

import re
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import nke
import nke.files.entry
import nke.files.text
from nke.errors import DamagedFileError, MissingPackageError
from recorded_files import ensemble, ragged, same


@pytest.mark.parametrize("ending", ["csv", "tsv", "npz", "npy", "parquet", "h5", "nc", "zarr"])
@pytest.mark.parametrize("make", [ensemble, ragged])
def test_round_trip(make, ending, tmp_path):
    data, path = make(), tmp_path / f"data.{ending}"
    nke.write(data, path)
    same(nke.read(path), data)
    nke.write(data, path)  # over an old one
    same(nke.read(path), data)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_an_interrupted_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "data.csv"
    path.write_text("old")

    def interrupt(frame, file, **options):
        file.write("half")
        raise KeyboardInterrupt

    monkeypatch.setattr(pd.DataFrame, "to_csv", interrupt)
    with pytest.raises(KeyboardInterrupt):
        nke.write(ensemble(), path)
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("data.csv", "old")]


def test_the_example_of_the_documentation_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[2] / "docs" / "files.md").read_text()
    names = {}
    for example in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(example, names)
    assert np.ravel(names["calendar_days"].times).tolist() == [0, 3, 4]
    assert np.ravel(names["trading_days"].times).tolist() == [0, 1, 2]
    same(names["same"], names["data"])
    same(nke.read("wide.csv"), names["data"])
    assert (names["part"].names, list(names["frame"])) == (("x2",), ["trajectory", "time", "x1", "x2"])


def test_progress_of_reading_and_writing_counts_bytes_and_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(nke.files.text, "BYTES_WITH_PROGRESS", 1)
    data = nke.systems.OrnsteinUhlenbeck().simulate(3, 0, times=[0, 0.1, 0.25])
    path, whole, begun, amounts = tmp_path / "a.csv", tmp_path / "b.csv", [], []

    def progress(name, total):
        begun.append((name, total))
        return amounts.append

    nke.write(data, whole)
    monkeypatch.setattr(nke.files.text, "ROWS_AT_A_TIME", 4)
    nke.write(data, path, progress=progress)
    assert amounts == [4, 4, 1]
    assert path.read_bytes() == whole.read_bytes()
    amounts.clear()
    same(nke.read(path, progress=progress), data)
    size = path.stat().st_size
    assert sum(amounts) == size
    assert begun == [("writing", 9), ("reading", size)]


@pytest.mark.parametrize("ending", ["npz", "npy", "parquet", "h5", "nc"])
def test_a_damaged_file_is_refused_in_one_line(tmp_path, ending):
    path = tmp_path / f"data.{ending}"
    nke.write(ensemble(), path)
    whole = path.read_bytes()
    for content in (whole[: len(whole) // 2], b"t,x\n0,1\n1,2\n"):
        path.write_bytes(content)
        with pytest.raises(DamagedFileError, match=f"data.{ending} is damaged .* get a fresh copy"):
            nke.read(path)


def test_missing_and_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such file"):
        nke.read(tmp_path / "none.csv")
    with pytest.raises(IsADirectoryError, match="folder"):
        nke.read(tmp_path)
    with pytest.raises(FileNotFoundError, match="existing folder"):
        nke.write(ensemble(), tmp_path / "none" / "data.csv")
    (tmp_path / "data.zarr").write_text("mine")
    with pytest.raises(FileExistsError, match="no zarr"):
        nke.write(ensemble(), tmp_path / "data.zarr")
    with pytest.raises(ValueError, match="ends in one of"):
        nke.write(ensemble(), tmp_path / "data.xls")


def test_content_goes_before_the_ending(tmp_path):
    data = ensemble()
    nke.write(data, tmp_path / "data.npz")
    (tmp_path / "data.npz").rename(tmp_path / "data.csv")
    same(nke.read(tmp_path / "data.csv"), data)


def test_a_missing_package_is_named_with_the_command_that_installs_it(tmp_path, monkeypatch):
    monkeypatch.setitem(nke.files.entry.FORMATS, "parquet", ("parquet", "no_such_package"))
    with pytest.raises(MissingPackageError, match=r"need no_such_package; .* pip install 'nke\[files\]'"):
        nke.write(ensemble(), tmp_path / "data.parquet")


@pytest.mark.parametrize("ending", ["csv", "npz", "npy", "parquet", "h5", "nc"])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # h5netcdf, closing a broken file
def test_changed_bytes_never_surface_as_errors_of_a_library(tmp_path, ending):
    path, rng = tmp_path / f"data.{ending}", np.random.default_rng(0)
    nke.write(ragged(), path)
    whole = path.read_bytes()
    for _ in range(20):
        changed = bytearray(whole)
        changed[rng.integers(min(len(whole), 1500))] = rng.integers(256)
        path.write_bytes(changed)
        with suppress(nke.NkeError):
            nke.read(path)
