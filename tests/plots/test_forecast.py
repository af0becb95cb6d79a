"""The fan of a forecast."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import nke
from nke.mixtures import GaussianMixture


def test_bands_hold_their_quantiles(small_fit):
    model, data = small_fit["model"], small_fit["data"]
    fan = model.forecast([1.0], times=[0.5, 1.0], components=4)
    [[axis]] = nke.plots.forecast(fan, data, count=5, figure=Figure())
    low, high = fan.quantile([0.01, 0.99])
    edges = axis.collections[0].get_paths()[0].vertices
    assert edges[:, 1].min() == pytest.approx(low.min())
    assert edges[:, 1].max() == pytest.approx(high.max())
    assert len(axis.lines) == 6
    np.testing.assert_allclose(axis.lines[0].get_ydata(), fan.quantile(0.5)[:, 0])


def test_a_batch_is_refused(small_fit):
    batch = small_fit["model"].forecast(GaussianMixture.point([[1.0], [2.0]]), [0.5], components=4)
    with pytest.raises(nke.errors.InputError, match="one at a time"):
        nke.plots.forecast(batch, figure=Figure())
