"""The box: its influx against kinetic theory, and its paths against the lazy simulator."""

import numpy as np
from scipy.stats import norm

from gases import DENSE, GAS, stream, within
from nke.systems.gas import box


def test_influx():
    """Rate λ_g [σφ(u/σ) − u·½erfc(u/(σ√2))] per area, speed ∝ (w − u)₊ N(w; 0, σ²); u: the face's own."""
    gas, half, velocity, state = GAS.constants, GAS.box_side / 2, np.array([4.0, -1.0, 0.0]), stream(0)
    time, entries = 0.0, []
    for _ in range(20_000):
        wait, point, particle, kept = box.enter(gas, half, tuple(velocity), state)
        time += wait
        if kept:
            entries.append([*point, *particle])
    entries = np.array(entries)
    for axis in range(3):
        for side in (1, -1):  # the inward normal
            here = entries[entries[:, axis] == -side * half]
            u = side * velocity[axis] / gas.spread
            moments = norm.pdf(u) - u * norm.sf(u), (1 + u**2) * norm.sf(u) - u * norm.pdf(u)
            expected = gas.density * 4 * half**2 * gas.spread * moments[0] * time
            assert abs(len(here) - expected) < 3.5 * np.sqrt(expected)
            within(side * (here[:, 3 + axis] - velocity[axis]), gas.spread * moments[1] / moments[0], 3.5)
            across = np.delete(here, [axis, 3 + axis], axis=1) / np.repeat([half, gas.spread], 2)
            within(across, 0.0, 4)
            within(across**2, [1 / 3, 1 / 3, 1, 1], 4)


def test_agrees_with_lazy_where_memory_matters():
    """A sphere as light as the particles and larger than its free path."""
    t, paths = np.array([0.0, 1.0, 3.0]), 4000
    runs = [DENSE.simulate_states(paths, 7 + i, t, method=method) for i, method in enumerate(["lazy", "box"])]
    moved, kept = ([run[:, 1:, :3] ** 2 for run in runs], [run[:, 1:, 3:] * run[:, :1, 3:] for run in runs])
    for first, second in (moved, kept):
        within((first - second).mean(axis=2), 0.0)


def test_counts_of_collisions_where_memory_matters():
    """Old partners are as many in the box; with the new ones, of which some are rejected, they keep the rate."""
    paths, old = 4000, []
    for method in ("lazy", "box"):
        hits = DENSE.simulate_collisions(paths, 9, [0.0, 3.0], method=method)
        within(np.bincount(hits.trajectory, minlength=paths) / 3.0, DENSE.collision_rate)
        old.append(np.bincount(hits.trajectory[hits.again], minlength=paths))
    assert np.sum(old[0]) > 0.04 * 3.0 * DENSE.collision_rate * paths
    within(old[0] - old[1], 0.0)


def test_a_full_bath_ends_the_flight():
    bath = np.empty((10, 7))
    arguments = GAS.constants, GAS.box_side / 2, bath, 0, (0.0, 0.0, 0.0), stream(1), -1
    count, first, wait = box.let_in(*arguments, 100.0)
    assert (count, first) == (10, -1)
    assert 0 < wait < 0.1
