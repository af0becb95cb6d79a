"""Trajectories and text files that the tests of ``nke.files`` share."""

import numpy as np

import nke

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


def text(tmp_path, content, name="cells.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path
