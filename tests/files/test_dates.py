"""Dates as people write them: order, units that suit, trading days, and dates again when written."""

import datetime

import numpy as np
import pandas as pd
import pytest

import nke
from nke.data import Calendar
from nke.errors import InputError
from recorded_files import text

FRIDAY_TO_TUESDAY = "2024-03-01,1\n2024-03-04,2\n2024-03-05,3\n"


def days(data):
    return data.dates.astype("datetime64[D]").ravel().tolist()


class TestOrder:
    @pytest.mark.parametrize(
        ("rows", "options"),
        [
            ("2024-03-01,1\n2024-03-13,2\n", {}),
            ("3/1/2024,1\n3/13/2024,2\n", {}),
            ("01.03.2024,1\n13.03.2024,2\n", {}),
            ("1/3/2024,1\n13/3/2024,2\n", {}),
            ("1-3-24,1\n13-3-24,2\n", {}),
            ("20240301,1\n20240313,2\n", {}),
            ("1 Mar 2024,1\n13 Mar 2024,2\n", {}),
            ('"March 1, 2024",1\n"March 13, 2024",2\n', {}),
            ("2024-03-01T00:00:00Z,1\n2024-03-13T00:00:00Z,2\n", {}),
        ],
    )
    def test_is_told_by_the_dates(self, tmp_path, rows, options):
        data = nke.read(text(tmp_path, f"date,x\n{rows}"), **options)
        assert np.ravel(data.times).tolist() == [0, 12]
        assert data.unit_of_time == "d"
        assert days(data)[0] == datetime.date(2024, 3, 1)

    def test_is_asked_about_where_they_do_not_tell(self, tmp_path):
        path = text(tmp_path, "date,x\n1/2/2024,1\n2/2/2024,2\n3/2/2024,3\n")
        with pytest.raises(InputError, match=r"'1/2/2024' may be either .* dates='dmy' .* dates='mdy'"):
            nke.read(path)
        assert np.ravel(nke.read(path, dates="dmy").times).tolist() == [0, 1, 2]
        assert np.ravel(nke.read(path, dates="mdy").times).tolist() == [0, 31, 60]
        with pytest.raises(InputError, match="expected dates 'dmy' or 'mdy', but got 'ymd'"):
            nke.read(path, dates="ymd")

    def test_points_mean_that_the_day_stands_first(self, tmp_path):
        assert np.ravel(nke.read(text(tmp_path, "date,x\n01.02.2024,1\n03.02.2024,2\n")).times).tolist() == [0, 2]

    def test_a_date_of_the_other_order_is_named(self, tmp_path):
        path = text(tmp_path, "date,x\n3/13/2024,1\n13/3/2024,2\n")
        with pytest.raises(InputError, match=r"line 3, column 1 \(date\): expected a date, but got '13/3/2024'"):
            nke.read(path)
        with pytest.raises(InputError, match=r"line 3, column 1 \(date\): expected a date with the month first"):
            nke.read(path, dates="mdy")


class TestUnit:
    @pytest.mark.parametrize(
        ("frequency", "unit"),
        [("s", "s"), ("30s", "s"), ("min", "min"), ("6h", "h"), ("D", "d"), ("7D", "d"), ("YS", "y")],
    )
    def test_suits_the_step_and_is_said(self, frequency, unit):
        index = pd.date_range("2024-01-01", periods=9, freq=frequency)
        data = nke.read(pd.DataFrame({"x": np.arange(9.0)}, index=index))
        assert data.unit_of_time == unit
        assert "since 2024-01-01" in data.notes[0]
        np.testing.assert_array_equal(np.ravel(data.dates), index.to_numpy())

    def test_may_be_asked_for(self, tmp_path):
        path = text(tmp_path, f"date,x\n{FRIDAY_TO_TUESDAY}")
        for asked in ("h", "hours"):
            data = nke.read(path, time_unit=asked)
            assert (data.unit_of_time, np.ravel(data.times).tolist()) == ("h", [0, 72, 96])
        with pytest.raises(InputError, match="expected a unit of time for dates, one of ms, s, min"):
            nke.read(path, time_unit="fortnight")


class TestCalendars:
    def test_of_trading_days_count_observations(self, tmp_path):
        """A weekend is one step, and so is a holiday that is listed without a value."""
        path = text(tmp_path, f"date,x\n{FRIDAY_TO_TUESDAY}2024-03-06,.\n2024-03-07,4\n")
        data = nke.read(path, calendar="trading")
        assert np.ravel(data.times).tolist() == [0, 1, 2, 3]
        assert data.unit_of_time == "trading day"
        assert days(data)[-1] == datetime.date(2024, 3, 7)
        assert any("1 row without values" in note for note in data.notes)

    def test_beyond_the_data_count_days_from_monday_to_friday(self):
        dates = np.array(["2024-02-29", "2024-03-01"], "datetime64[ns]")
        found = Calendar.of(dates, calendar="trading").dates([1.0, 2.0])
        assert found.astype("datetime64[D]").tolist() == [datetime.date(2024, 3, 1), datetime.date(2024, 3, 4)]

    def test_the_file_has_dates_again(self, tmp_path):
        source = text(tmp_path, f"date,x\n{FRIDAY_TO_TUESDAY}")
        for options in ({}, {"calendar": "trading"}):
            for ending in ("csv", "tsv", "npy", "parquet", "npz", "h5", "nc", "zarr"):
                nke.write(nke.read(source, **options), tmp_path / f"again.{ending}")
                again = nke.read(tmp_path / f"again.{ending}", **options)
                assert days(again) == days(nke.read(source))
                assert np.ravel(again.times).tolist() == np.ravel(nke.read(source, **options).times).tolist()
        assert (tmp_path / "again.tsv").read_text().startswith("trajectory\tdate\tx\n0\t2024-03-01\t1.0\n")

    def test_parts_keep_their_dates(self, tmp_path):
        data = nke.read(text(tmp_path, "id,date,x\n1,2024-03-01,1\n1,2024-03-02,1\n2,2024-03-05,3\n2,2024-03-06,3\n"))
        assert days(data.select([1])) == [datetime.date(2024, 3, 5), datetime.date(2024, 3, 6)]
        assert "2024-03-01 to 2024-03-06" in repr(data)

    def test_wrong_ones_are_refused(self, tmp_path):
        with pytest.raises(InputError, match="expected calendar 'all' or 'trading'"):
            nke.read(text(tmp_path, f"date,x\n{FRIDAY_TO_TUESDAY}"), calendar="lunar")

    def test_of_observations_count_numbers_too(self, tmp_path):
        data = nke.read(text(tmp_path, "day,x\n5,1\n8,2\n9,3\n"), calendar="trading")
        assert np.ravel(data.times).tolist() == [0, 1, 2]


def test_an_empty_date_is_a_row_not_observed(tmp_path):
    data = nke.read(text(tmp_path, "date,x\n2024-03-01,1\n,2\n2024-03-03,3\n"))
    assert data.transitions().step.tolist() == [2]


def test_no_date_at_all(tmp_path):
    np.savez(tmp_path / "a.npz", states=np.arange(3.0), times=np.full(3, "NaT", "datetime64[s]"))
    with pytest.raises(InputError, match=r"a\.npz: expected dates in 'times', but every one is missing"):
        nke.read(tmp_path / "a.npz")
    with pytest.raises(InputError, match="every one of them is missing"):
        Calendar.of(np.full(3, "NaT", "datetime64[ns]"))


class TestDateAndClock:
    @pytest.mark.parametrize(
        "table",
        [
            "date,time,x\n2024-03-01,06:00,1\n2024-03-01,12:30,2\n2024-03-02,00:00:00,3\n",
            "time,x,Date\n6:00 am,1,3/1/2024\n12:30 PM,2,3/1/2024\n12:00 a.m.,3,3/2/2024\n",
            "Datum,Uhrzeit,x\n01.03.2024,06:00,1\n01.03.2024,12:30,2\n02.03.2024,00:00,3\n",
            "date,hour,x\n2024-03-01,6,1\n2024-03-01,12.5,2\n2024-03-02,0,3\n",
        ],
    )
    def test_are_one_time(self, tmp_path, table):
        path = text(tmp_path, table)
        options = {"dates": "mdy"} if "3/1" in table else {}
        data = nke.read(path, time_unit="h", **options)
        assert data.names == ("x",)
        assert np.ravel(data.times).tolist() == [0, 6.5, 18]
        assert str(data.dates[0, 1])[:16] == "2024-03-01T12:30"
        assert nke.read(path, step=1, **options).names == ("x",)

    def test_of_frames_and_several_trajectories(self):
        clock = [datetime.time(6), datetime.time(12, 30)] * 2
        frame = pd.DataFrame({"id": [1, 1, 2, 2], "date": pd.to_datetime(["2024-03-01"] * 4), "time": clock, "x": 1.0})
        assert np.asarray(nke.read(frame).times).tolist() == [[0, 6.5], [0, 6.5]]

    def test_a_time_that_is_missing_is_a_row_not_observed(self, tmp_path):
        path = text(tmp_path, "date,time,x\n2024-03-01,06:00,1\n2024-03-01,,2\n2024-03-01,08:00,3\n")
        assert nke.read(path).transitions().step.tolist() == [2]

    @pytest.mark.parametrize(
        ("table", "names", "times"),
        [
            ("date,hours\n2024-03-01,7.5\n2024-03-02,8\n", ("hours",), [0, 1]),  # of sleep
            ("date,hours,x\n2024-03-01,7.5,0\n2024-03-02,8,1\n", ("hours", "x"), [0, 1]),
            ("day,time,x\n1,0,5\n1,2,7\n1,3,8\n", ("day", "x"), [0, 2, 3]),
        ],
    )
    def test_other_columns_of_these_names_stay_states(self, tmp_path, table, names, times):
        data = nke.read(text(tmp_path, table))
        assert (data.names, np.ravel(data.times).tolist()) == (names, times)


class TestArrays:
    TIMES = np.array(["2024-03-01", "2024-03-04", "2024-03-05"], "datetime64[D]")
    STATES = np.array([1.0, 2.0, 4.0])

    def files(self, folder):
        """Dates in an npz as dates and as text, in a netCDF file and a zarr store; in HDF5 as text."""
        xarray, h5py = pytest.importorskip("xarray"), pytest.importorskip("h5py")
        np.savez(folder / "a.npz", states=self.STATES, times=self.TIMES)
        np.savez(folder / "b.npz", states=self.STATES, date=self.TIMES.astype(str))
        with h5py.File(folder / "a.h5", "w") as file:
            file["states"], file["times"] = self.STATES, [str(day).encode() for day in self.TIMES]
        own = xarray.Dataset({"x": ("time", self.STATES)}, {"time": self.TIMES.astype("datetime64[ns]")})
        own.to_netcdf(folder / "a.nc", engine="h5netcdf")
        own.to_zarr(folder / "a.zarr", consolidated=False)
        return [folder / name for name in ("a.npz", "b.npz", "a.h5", "a.nc", "a.zarr")]

    def test_have_dates_as_tables_have(self, tmp_path):
        for path in self.files(tmp_path):
            for options, times, unit in (
                ({}, [0, 3, 4], "d"),
                ({"time_unit": "h"}, [0, 72, 96], "h"),
                ({"calendar": "trading"}, [0, 1, 2], "trading day"),
            ):
                data = nke.read(path, **options)
                assert (np.ravel(data.times).tolist(), data.unit_of_time) == (times, unit), path
                assert days(data) == self.TIMES.tolist()
                assert "since 2024-03-01" in data.notes[0]

    def test_keep_what_dates_are_counted_in(self, tmp_path):
        source = text(tmp_path, f"date,x\n{FRIDAY_TO_TUESDAY}")
        for options in ({"time_unit": "h"}, {"calendar": "trading"}):
            for ending in ("npz", "h5", "nc", "zarr"):
                data = nke.read(source, **options)
                nke.write(data, tmp_path / f"again.{ending}")
                again = nke.read(tmp_path / f"again.{ending}")
                assert again.unit_of_time == data.unit_of_time
                np.testing.assert_array_equal(again.times, data.times)

    def test_of_different_lengths(self, tmp_path):
        source = text(
            tmp_path, "id,date,x\n1,2024-03-01,1\n1,2024-03-02,1\n2,2024-03-05,3\n2,2024-03-06,3\n2,2024-03-07,1\n"
        )
        for ending in ("npz", "h5", "nc"):
            nke.write(nke.read(source), tmp_path / f"a.{ending}")
            again = nke.read(tmp_path / f"a.{ending}")
            assert [list(times) for times in again.times] == [[0, 1], [4, 5, 6]]
