"""The lazy simulator against one that looks at every particle, and against every earlier flight."""

import subprocess
import sys

import numpy as np
import pytest

from gases import DENSE
from nke.systems import RarefiedGas
from nke.systems.gas import lazy, reference
from nke.systems.gas.constants import Gas


@pytest.mark.parametrize(("system", "paths"), [(RarefiedGas(), 40), (DENSE, 60)], ids=["rarefied", "dense"])
def test_replay_of_its_own_bath(system, paths):
    """Partners traced back to time 0 make a bath, in which a simulator that looks at all of them does the same."""
    hits, starts = system.simulate_collisions(paths, 6), system.simulate_states(paths, 6)[:, 0]
    states = np.hstack([hits.position, hits.after])
    for m, start in enumerate(starts):
        mine = hits.trajectory == m
        new = mine & ~hits.again
        velocities = hits.particle_before[new]
        points = hits.position[new] + system.radius * hits.normal[new] - hits.time[new, None] * velocities
        assert (np.linalg.norm(points - start[:3], axis=1) > system.radius).all()
        again = reference.replay(system.constants, start, points, velocities, system.duration)
        np.testing.assert_allclose(again[0], hits.time[mine], rtol=0, atol=1e-7)
        np.testing.assert_allclose(again[1], states[mine], rtol=0, atol=1e-7)
    assert system is not DENSE or hits.again.sum() > 10


def test_way_back_is_searched_exactly():
    """Against the closest approach to every earlier flight; the path is longer than the memory."""
    rng, gas, count = np.random.default_rng(0), Gas(1.0, 1.0, 1.0, 1.0), lazy.FLIGHTS_REMEMBERED + 500
    memory, nowhere = lazy.new_memory(), (0.0, 0.0, 0.0)
    times, velocities = np.cumsum(rng.exponential(0.3, count)), rng.standard_normal((count, 3))
    places = np.vstack([np.zeros(3), np.cumsum(velocities[:-1] * np.diff(times)[:, None], axis=0)])
    for k, time in enumerate(times):
        lazy.remember(memory, k, time, tuple(places[k]), tuple(velocities[k]), nowhere, nowhere, 0.0)
    bound, now, found = np.linalg.norm(velocities, axis=1).max(), times[-1] + 0.1, []
    known = slice(count - lazy.FLIGHTS_REMEMBERED, count - 1)
    begin, length = times[known], np.diff(times)[known]
    for _ in range(1000):
        particle = rng.standard_normal(3) * rng.choice([0.05, 0.3, 1.0])
        normal = rng.standard_normal(3) / 2 - particle + velocities[-1]
        contact = places[-1] + 0.1 * velocities[-1] + normal / np.linalg.norm(normal)
        if normal @ (particle - velocities[-1]) > 0:
            continue
        r, w = contact + particle * (begin - now)[:, None] - places[known], particle - velocities[known]
        nearest = np.clip(-np.sum(r * w, axis=1) / np.sum(w**2, axis=1), 0, length)[:, None]
        met = bool((np.linalg.norm(r + w * nearest, axis=1) < gas.radius).any())
        assert lazy.met_before(gas, memory, count, bound, tuple(contact), tuple(particle), now) == met
        found.append(met)
    assert 50 < sum(found) < 950


def test_memory_is_flat_in_the_horizon():
    """And Numba is not imported before it is needed."""
    script = """if True:
        import resource, sys
        from nke.systems import RarefiedGas
        assert "numba" not in sys.modules
        peaks = []
        for end in (5, 5, 6000):
            RarefiedGas().simulate_states(1, 0, [0.0, end])
            peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
        print(peaks[2] - peaks[1])
    """
    kilobytes = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout
    assert int(kilobytes) < 2000  # 52,000 collisions at 112 bytes would be 5800
