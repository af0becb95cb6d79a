"""Forecasts beside what was recorded: from an ensemble of starts, or at the end of one path."""

from dataclasses import replace

import numpy as np
import pytest

import nke
from nke.reporting.charts.forecasts import forecast_fan
from nke.reporting.fan import Fan
from nke.reporting.labels import Labels


def test_an_ensemble_is_forecast_from_all_of_its_starts(hostile_report):
    """Means decay by e^−t, as those of the forecast."""
    fan, data = hostile_report.contents.fan, hostile_report.contents.data
    assert fan.recorded.shape == (60, 20, 2)
    assert fan.times[-1] == pytest.approx(2.4)
    start = np.asarray(data.states)[:, 0].mean(axis=0)
    np.testing.assert_allclose(fan.forecast.mean, start * np.exp(-fan.times)[:, None], atol=0.01)
    np.testing.assert_array_equal(fan.trajectories.states[:, -1], np.asarray(data.states)[:, -1])


def test_the_end_of_one_path_is_forecast(dated_report):
    fan, data = dated_report.contents.fan, dated_report.contents.data
    last = np.asarray(data.times)[0, -1]
    assert not fan.is_ensemble
    assert fan.times[-1] == pytest.approx(last)
    assert fan.start == pytest.approx(0.8 * last, abs=0.05)


def test_the_density_of_the_slider_is_that_of_the_forecast(dated_report):
    contents = dated_report.contents
    chart = forecast_fan(contents, Labels.of(contents.model, contents.data))
    assert len(chart.slider) == len(contents.fan.times)
    density = chart.choices[0].panels[1].frames[3][1]
    expected = contents.fan.forecast.density(np.array(density["x"]))[3]
    np.testing.assert_allclose(density["y"], expected, rtol=2e-3, atol=1e-3)


def test_no_forecast_is_told_with_its_reason(dated_report, monkeypatch):
    def diverges(*given):
        raise nke.errors.DivergenceError("it diverges")

    from nke.reporting import contents

    monkeypatch.setattr(Fan, "of", diverges)
    assert contents._fan(dated_report.contents.model, dated_report.contents.data) == (
        None,
        ("There is no forecast: it diverges.",),
    )
    labels = Labels.of(dated_report.contents.model, dated_report.contents.data)
    assert forecast_fan(replace(dated_report.contents, fan=None), labels) is None
