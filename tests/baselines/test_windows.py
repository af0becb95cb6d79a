"""Stretches of consecutive observations."""

import jax.numpy as jnp
import numpy as np

from nke.baselines.windows import Windows
from nke.data import Coordinates, Trajectories


def test_windows_stay_within_a_trajectory():
    """Lengths 5, 3 and 4, one row of the last not observed: rows are numbered, so steps must be one."""
    states = [np.arange(5.0)[:, None], 10 + np.arange(3.0)[:, None], 20 + np.array([[0.0], [1], [np.nan], [2]])]
    data = Trajectories(states, [np.arange(5.0), np.arange(3.0), np.array([1e9, 1e9 + 1, 1e9 + 2, 1e9 + 5])])
    windows = Windows.of(data, Coordinates(np.zeros(1), np.ones(1), 1.0), most=2)
    times, paths = windows.take(jnp.arange(len(windows.starts)))
    np.testing.assert_array_equal(paths[0, :, 0], [0, 1, 2, 10, 20])
    np.testing.assert_array_equal(jnp.diff(paths[..., 0], axis=0), 1)
    np.testing.assert_array_equal(times[-1], [2, 2, 2, 2, 5])
    assert Windows.of(data, Coordinates(np.zeros(1), np.ones(1), 1.0), most=99).length == 4
