"""The drift as arrows."""

import numpy as np
from matplotlib.figure import Figure

import nke
from drawn_models import linear, recorded


def test_arrows_point_along_the_drift():
    """f = −x points to the origin, from the middles of cells that hold data only."""
    model, data = linear(2), recorded(2)
    [[axis]] = nke.plots.drift(model, data, figure=Figure())
    [arrows] = [part for part in axis.collections if hasattr(part, "U")]
    extent = np.array([axis.get_xlim()[1] - axis.get_xlim()[0], axis.get_ylim()[1] - axis.get_ylim()[0]])
    direction, place = np.stack([arrows.U, arrows.V], axis=1), arrows.get_offsets() / extent
    cross = direction[:, 0] * place[:, 1] - direction[:, 1] * place[:, 0]
    np.testing.assert_allclose(cross, 0, atol=1e-5)
    assert ((direction * place).sum(axis=1) <= 0).all()
    states = data.observed_states / extent
    reach = np.abs(np.asarray(place)[:, None] - states[None]).max(axis=-1).min(axis=1)
    assert reach.max() <= 0.5 / 16 + 1e-9
