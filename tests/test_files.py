"""Files: what is written is read again unchanged, what people record is understood, what is broken is named."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import nke
import nke.files.text
from nke.files import to_pandas, to_xarray

ENDINGS = ("csv", "tsv", "npz", "npy", "parquet", "h5", "nc", "zarr")
rng = np.random.default_rng(0)


def ensemble():
    return nke.Trajectories(rng.standard_normal((3, 5, 2)), 0.1, ("height", "speed"), ("mm", ""), "s")


def ragged():
    """Lengths differ, one cell and one whole row are missing, steps are irregular, names need care in a file."""
    states = [rng.standard_normal((n, 2)) / 3e5 for n in (4, 6, 2)]
    states[1][2, 0] = states[1][4] = np.nan
    times = [np.sort(rng.uniform(0, 9, n)) for n in (4, 6, 2)]
    return nke.Trajectories(states, times, ('a, "b"', "angle [rad]"), ("°C", ""), "µs")


def same(a, b):
    assert (a.names, a.units, a.unit_of_time, a.is_ragged) == (b.names, b.units, b.unit_of_time, b.is_ragged)
    for parts in ((a.states, b.states), (a.times, b.times)):
        for one, other in zip(*parts, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("make", [ensemble, ragged])
def test_round_trip(make, ending, tmp_path):
    data, path = make(), tmp_path / f"data.{ending}"
    nke.write(data, path)
    same(nke.read(path), data)
    nke.write(data, path)  # over an old one
    same(nke.read(path), data)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_wide_round_trip(tmp_path):
    data = ensemble()
    nke.write(data, tmp_path / "wide.csv", wide=True)
    assert (tmp_path / "wide.csv").read_text().startswith("time [s],height [mm]:0,speed:0,height [mm]:1")
    same(nke.read(tmp_path / "wide.csv"), data)
    with pytest.raises(ValueError, match="same times"):
        nke.write(ragged(), tmp_path / "other.csv", wide=True)


@pytest.mark.parametrize("make", [ensemble, ragged])
def test_objects_of_pandas_and_xarray(make):
    data = make()
    frame = to_pandas(data)
    same(nke.read(frame), data)
    same(nke.read(frame.set_index("trajectory")), data)
    same(nke.read(to_xarray(data)), data)


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
    page = (Path(__file__).parents[1] / "docs" / "files.md").read_text()
    [example] = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names = {}
    exec(example, names)
    same(names["same"], names["data"])
    same(nke.read("wide.csv"), names["data"])
    assert (names["part"].names, list(names["frame"])) == (("x2",), ["trajectory", "time", "x1", "x2"])


def text(tmp_path, content, name="cells.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


class TestTables:
    def test_own_names_units_gaps_and_text_as_trajectory(self, tmp_path):
        path = text(tmp_path, "Cell, Time [h], size [µm]\nB,0,1\nA,0.5,2\nB,2,\nB,3,4\n\nA,0.75,5\n")
        data = nke.read(path)
        assert (data.names, data.units, data.unit_of_time) == (("size",), ("µm",), "h")
        assert [t.tolist() for t in data.times] == [[0, 2, 3], [0.5, 0.75]]
        assert data.transitions().step.tolist() == [3, 0.25]

    def test_columns_by_choice(self, tmp_path):
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

    def test_an_unnamed_column_of_row_numbers_is_no_state(self, tmp_path):
        frame = pd.DataFrame({"t": [0.0, 1.0], "x": [3.0, 4.0]})
        frame.to_csv(tmp_path / "pandas.csv")
        assert nke.read(tmp_path / "pandas.csv").names == ("x",)

    def test_unsorted_rows_are_sorted_with_a_note(self, tmp_path):
        data = nke.read(text(tmp_path, "t,x\n0,1\n2,3\n1,2\n"))
        assert np.ravel(data.states).tolist() == [1, 2, 3]
        assert data.notes == ("rows sorted by time (line 4 was the first out of order)",)
        by_time = nke.read(text(tmp_path, "id,t,x\n1,0,1\n2,0,2\n1,1,3\n2,1,4\n"))
        assert by_time.notes == ()
        assert np.asarray(by_time.states)[..., 0].tolist() == [[1, 3], [2, 4]]

    def test_a_step_instead_of_times(self, tmp_path):
        data = nke.read(text(tmp_path, "x\n1\n\n3\n"), step=0.5)
        assert np.ravel(data.times).tolist() == [0, 0.5, 1]
        assert data.transitions().step.tolist() == [1]

    def test_wide_by_choice(self, tmp_path):
        data = nke.read(text(tmp_path, "t,left [mm],right [mm]\n0,1,2\n1,3,4\n"), wide=True)
        assert (data.names, data.units) == (("x",), ("mm",))
        assert np.asarray(data.states)[..., 0].tolist() == [[1, 3], [2, 4]]

    def test_delimiters_and_decimals(self, tmp_path):
        numbers = [1.5, -2.5]
        for content, name, options in (
            ("t;x\n0;1,5\n1;-2,5\n", "a.csv", {"delimiter": ";", "decimal": ","}),
            ("t\tx\n0\t1.5\n1\t-2.5\n", "a.txt", {}),
            ("# made by hand\n# t x\n0   1.5\n1  -2.5\n", "a.dat", {}),
            ("\ufefft,x\r\n0,1.5\r\n1,-2.5\r\n", "a.csv", {}),
        ):
            assert np.ravel(nke.read(text(tmp_path, content, name), **options).states).tolist() == numbers

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
    def test_the_name_of_the_times_tells_their_unit(self, tmp_path, name, unit):
        path = text(tmp_path, f"x,{name}\n5,0\n6,1\n")
        data = nke.read(path)
        assert (data.names, data.unit_of_time) == (("x",), unit)
        assert np.ravel(data.times).tolist() == [0, 1]
        assert nke.read(path, step=1).names == ("x",)
        np.savez(tmp_path / "a.npz", **{"x": data.states, name: data.times})
        assert nke.read(tmp_path / "a.npz", time=name).unit_of_time == unit

    def test_a_temperature_is_no_time_and_a_symbol_no_unit(self, tmp_path):
        path = text(tmp_path, "t_min,t_s,s\n5,3,0\n6,4,1\n")
        with pytest.raises(ValueError, match=r"expected a column of times.*among t_min, t_s, s"):
            nke.read(path)
        assert nke.read(path, time="s").unit_of_time == ""
        assert nke.read(path, time="t_s").unit_of_time == "s"
        both = nke.read(text(tmp_path, "time_ms,time,x\n0,1,2\n1,2,3\n"))
        assert (np.ravel(both.times).tolist(), both.unit_of_time) == ([1, 2], "")

    def test_progress_of_reading_and_writing_counts_bytes_and_rows(self, tmp_path, monkeypatch):
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

    def test_dates_are_seconds(self, tmp_path):
        data = nke.read(text(tmp_path, "date,x\n2024-03-01 10:00:00,1\n2024-03-01T10:01:00.5,2\n"))
        assert np.ravel(data.times).tolist() == [0, 60.5]
        assert data.unit_of_time == "s"

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("", "is empty"),
            ("t,x\n", "header but no rows"),
            ("0,1\n1,2\n", "line 1: expected a header"),
            ("t;x\n0;1\n1;2\n", r"line 1: expected columns separated by ',', .*--delimiter ';'"),
            ("t,x\n0,1\n1,two\n2,3\n", r"line 3, column 2 \(x\): expected a number, but got 'two'"),
            ("t,x\n0,1\n1,2,9\n2,3\n", "line 3: expected 2 columns, as in the header, but got 3"),
            ("t,x\n0,1,9\n1,2,9\n2,3\n", "line 2: expected 2 columns, as in the header, but got 3"),
            ("t,x,y\n0,1,1\n1,2\n2,3,3\n", "line 3: expected 3 columns, as in the header, but got 2"),
            ("t,x,y\n0,1,\n\n1,2\n2,3,3\n", "line 4: expected 3 columns"),
            ("t,x\n0,1\n1,1\n1,2\n", r"line 4, column 1 \(t\): expected every time once .* line 3; .*--trajectory"),
            ("id,t,x\n1,0,1\n2,1,1\n1,0,2\n", r"line 4, column 2 \(t\): .* already in line 2; remove one of the rows$"),
            ("t,x\n0,1\n1,inf\n", r"line 3, column 2 \(x\): expected a finite number"),
            ("id,t,x\n1,0,1\n,1,2\n", r"line 3, column 1 \(id\): expected the trajectory"),
            ("t,x\n0,1\nsoon,2\n", r"line 3, column 1 \(t\): expected a number, but got 'soon'"),
            ("t,x\n0,1.5\n1,\"1,5\"\n", "--decimal"),
            ("t,x,x\n0,1,1\n", "columns 2 and 3 are both called 'x'"),
            ("t,x\n0,1\n", "two observed rows"),
            (b"t,x\n0,1\n1,\xff\xfe\n", "line 3: expected UTF-8"),
            (b"t,x\n" + b"0,1\n" * 2000 + b"1,1\x005\n", r"line 2002, column 2 .x.: expected a number"),
            (bytes(range(256)) * 9, "binary"),
            ("t,x\n0,1\n".encode("utf-16"), "UTF-16"),
        ],
    )  # fmt: skip
    def test_what_is_wrong_is_named(self, tmp_path, content, message):
        path = text(tmp_path, content)
        with pytest.raises(ValueError, match=message) as caught:
            nke.read(path)
        assert str(caught.value).startswith(str(path))

    def test_a_broken_row_in_the_middle_of_many(self, tmp_path):
        rows = [f"{i},{i}.5" for i in range(20_000)]
        rows[12_345] = "12345,1.5.5"
        with pytest.raises(ValueError, match=r"line 12347, column 2 \(x\): expected a number, but got '1.5.5'"):
            nke.read(text(tmp_path, "t,x\n" + "\n".join(rows)))


class TestOtherFiles:
    @pytest.mark.parametrize("ending", ["npz", "npy", "parquet", "h5", "nc"])
    def test_a_damaged_file_is_refused_in_one_line(self, tmp_path, ending):
        path = tmp_path / f"data.{ending}"
        nke.write(ensemble(), path)
        whole = path.read_bytes()
        for content in (whole[: len(whole) // 2], b"t,x\n0,1\n1,2\n"):
            path.write_bytes(content)
            with pytest.raises(ValueError, match=f"data.{ending} is damaged .* get a fresh copy"):
                nke.read(path)

    def test_missing_and_folder(self, tmp_path):
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

    def test_content_goes_before_the_ending(self, tmp_path):
        data = ensemble()
        nke.write(data, tmp_path / "data.npz")
        (tmp_path / "data.npz").rename(tmp_path / "data.csv")
        same(nke.read(tmp_path / "data.csv"), data)

    def test_arrays_of_ones_own(self, tmp_path):
        np.savez(tmp_path / "own.npz", X=np.zeros((2, 3, 1)), t=[0, 1, 3])
        assert np.asarray(nke.read(tmp_path / "own.npz").times).tolist() == [[0, 1, 3]] * 2
        np.save(tmp_path / "own.npy", np.zeros((2, 3, 1)))
        assert np.asarray(nke.read(tmp_path / "own.npy", step=2).times).tolist() == [[0, 2, 4]] * 2
        with pytest.raises(ValueError, match="--step"):
            nke.read(tmp_path / "own.npy")

    def test_variables_of_ones_own(self):
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
