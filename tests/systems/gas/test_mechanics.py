"""Times of contact against a fine grid."""

import numpy as np
import pytest

from nke.systems.gas.mechanics import contact_time, reach_time


def test_reach():
    """The first time at which a growing ball holds a moving point, against a fine grid."""
    rng, times, reached = np.random.default_rng(1), np.linspace(0, 20, 20_001), 0
    for _ in range(300):
        r, w, growth = rng.standard_normal(3) * 4, rng.standard_normal(3), rng.choice([0.0, 0.5, 1.5])
        gap = np.linalg.norm(r + w * times[:, None], axis=1) - 1 - growth * times
        inside = np.flatnonzero(gap <= 0)
        found = reach_time(tuple(r), tuple(w), 1.0, growth)
        if len(inside):
            reached += 1
            assert found == pytest.approx(times[inside[0]], abs=1.1e-3)
        else:
            assert found > 20
    assert 50 < reached < 250
    assert contact_time((1.0, 0.0, 0.0), (1.0, 0.0, 0.0), 1.0) == np.inf  # just hit, and leaving
