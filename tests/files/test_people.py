"""Tables as people have them: compressed, with points for gaps, counters, series, and frames of other libraries."""

import gzip

import numpy as np
import pandas as pd
import pytest

import nke
from nke.errors import DamagedFileError, InputError
from recorded_files import text


class Foreign:
    """A frame of a library that is not known: it has columns."""

    def __init__(self, columns):
        self._columns = columns

    @property
    def columns(self):
        return list(self._columns)

    def __getitem__(self, name):
        return self._columns[name]


class WithoutArrow(Foreign):
    """A frame that would become one of pandas by a package that is not there."""

    def to_pandas(self):
        raise ModuleNotFoundError("pyarrow")


def test_a_point_is_a_gap(tmp_path):
    path = text(tmp_path, "DATE,VIXCLS\n2024-03-01,13.1\n2024-03-04,.\n2024-03-05,14\n")
    data = nke.read(path)
    assert (data.names, data.transitions().step.tolist()) == (("VIXCLS",), [4])
    frame = pd.DataFrame({"date": ["2024-03-01", "2024-03-04", "2024-03-05"], "vix": ["13.1", ".", "14"]})
    assert nke.read(frame).transitions().step.tolist() == [4]


class TestCompressed:
    def test_by_gzip(self, tmp_path):
        (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"t,x\n0,1\n1,2\n"))
        assert np.ravel(nke.read(tmp_path / "a.csv.gz").states).tolist() == [1, 2]

    def test_errors_name_the_file(self, tmp_path):
        path = tmp_path / "a.csv.gz"
        path.write_bytes(gzip.compress(b"t,x\n0,1\n1,two\n"))
        with pytest.raises(InputError, match=r"a\.csv\.gz, line 3, column 2 \(x\): expected a number") as caught:
            nke.read(path)
        assert str(caught.value).startswith(str(path))
        path.write_bytes(path.read_bytes()[:-9])
        with pytest.raises(DamagedFileError, match=r"a\.csv\.gz is damaged or is no valid gzip file"):
            nke.read(path)


class TestTimes:
    @pytest.mark.parametrize(
        ("name", "unit"),
        [("day", "d"), ("frame", "frame"), ("year", "y"), ("date", ""), ("index", ""), ("week", "week")],
    )
    def test_have_many_names(self, tmp_path, name, unit):
        data = nke.read(text(tmp_path, f"{name},x\n3,5\n4,7\n5,6\n"))
        assert (data.names, data.unit_of_time) == (("x",), unit)
        assert data.transitions().step.tolist() == [1, 1]

    def test_numbers_may_be_given_a_unit(self, tmp_path):
        assert nke.read(text(tmp_path, "t,x\n3,5\n4,7\n"), time_unit="ms").unit_of_time == "ms"


class TestCounters:
    def test_are_no_states(self, tmp_path):
        data = nke.read(text(tmp_path, "frame,time,x\n1,0,5\n2,0.5,7\n3,1,6\n"))
        assert data.names == ("x",)
        assert any("'frame' counts the rows" in note for note in data.notes)

    def test_may_begin_anew_with_a_trajectory(self, tmp_path):
        rows = "".join(f"{m},{n},{n / 2},{n * n}\n" for m in range(2) for n in range(4))
        assert nke.read(text(tmp_path, f"id,frame,time,x\n{rows}")).names == ("x",)

    def test_of_the_same_name_that_do_not_count_are_states(self, tmp_path):
        assert nke.read(text(tmp_path, "date,index\n2024-03-01,100\n2024-03-02,103\n2024-03-03,99\n")).names == (
            "index",
        )

    def test_may_be_named(self, tmp_path):
        path = text(tmp_path, "frame,time,x\n1,0,5\n2,0.5,7\n3,1,6\n")
        assert nke.read(path, states=["frame", "x"]).names == ("frame", "x")


class TestFrames:
    def test_with_dates_in_an_index_without_a_name(self):
        index = pd.date_range("2024-03-01", periods=3)
        for made in (
            pd.DataFrame({"x": [1.0, 2, 4]}, index=index),
            pd.Series([1.0, 2, 4], index=index, name="x"),
            pd.Series([1.0, 2, 4], index=index.to_period("D"), name="x"),
        ):
            data = nke.read(made)
            assert (data.names, data.unit_of_time) == (("x",), "d")
            assert np.ravel(data.times).tolist() == [0, 1, 2]

    @pytest.mark.parametrize("kind", [Foreign, WithoutArrow, pd.DataFrame])
    def test_of_other_libraries(self, kind):
        frame = kind({"time": [0.0, 0.5, 1.0], "x": [1.0, 2.0, 4.0], "y": [0.0, 1.0, 0.0]})
        for read in (nke.read, nke.files.recorded):
            data = read(frame)
            assert data.names == ("x", "y")
            assert data.transitions().step.tolist() == [0.5, 0.5]

    def test_of_polars(self):
        polars = pytest.importorskip("polars")
        frame = polars.DataFrame({"date": ["2024-03-01", "2024-03-02", "2024-03-03"], "x": [1.0, None, 4.0]})
        for made in (frame, frame.with_columns(polars.col("date").str.to_date())):
            assert nke.read(made).transitions().step.tolist() == [2]
            assert nke.read(made.lazy()).transitions().step.tolist() == [2]
        series = nke.files.recorded(polars.Series("level", [1.0, 2.0, 4.0]), 0.5)
        assert (series.names, series.transitions().step.tolist()) == (("level",), [0.5, 0.5])

    def test_that_are_lazy_are_collected(self):
        class Lazy:
            def collect(self):
                return pd.DataFrame({"time": [0.0, 0.5], "x": [1.0, 2.0]})

        for read in (nke.read, nke.files.recorded):
            assert read(Lazy()).names == ("x",)

    def test_that_lie_on_their_side_are_refused(self):
        frame = pd.DataFrame(np.zeros((3, 100))).rename(columns=str)
        with pytest.raises(InputError, match="but got 3 rows and 100 coordinates; transpose the table"):
            nke.read(frame, step=0.1)
        assert nke.read(frame, step=0.1, states=[str(i) for i in range(100)]).dimension == 100
        assert len(nke.read(frame, step=0.1, wide=True)) == 100

    def test_a_series_of_plain_numbers_needs_a_step(self):
        with pytest.raises(InputError, match="expected a column of times"):
            nke.files.recorded(pd.Series([1.0, 2.0]))
        assert nke.files.recorded(pd.Series([1.0, 2.0], name="x"), 0.5).transitions().step.tolist() == [0.5]


def test_excel(tmp_path):
    pytest.importorskip("openpyxl")
    data = nke.Trajectories([1.0, 2.0, 4.0], 0.5, names=["x"], units=["mm"])
    nke.write(data, tmp_path / "a.xlsx")
    assert nke.read(tmp_path / "a.xlsx").units == ("mm",)
