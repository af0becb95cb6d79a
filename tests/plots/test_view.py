"""Where coefficients are drawn."""

import numpy as np

from nke.plots.view import View


def test_other_coordinates_stay_with_the_data():
    """On a curved set of states, a cell's state lies on the curve and not at the overall mean."""
    x = np.linspace(-1, 1, 4000)
    states = np.stack([x, x**2, x**3], axis=1)
    view = View(states, states.min(axis=0), states.max(axis=0), np.median(states, axis=0))
    cells, held = view.plane(0, 1, 20)
    np.testing.assert_allclose(cells[held][:, 2], cells[held][:, 0] ** 3, atol=0.15)
