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
            for ending in ("csv", "tsv", "npy", "parquet"):
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
