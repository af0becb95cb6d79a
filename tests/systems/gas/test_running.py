"""Trajectories on threads."""

import numpy as np
import pytest

from gases import GAS
from nke.systems.gas import running


@pytest.mark.parametrize("method", ["lazy", "box"])
def test_same_seed_same_data_on_any_number_of_threads(method, monkeypatch):
    runs = []
    for threads in (1, 3):
        monkeypatch.setattr(running, "threads", lambda n=threads: n)
        runs.append(GAS.simulate_states(25, 0, method=method))
    np.testing.assert_array_equal(*runs)
    np.testing.assert_array_equal(GAS.simulate_states(5, 0, method=method), runs[0][:5])
    assert (GAS.simulate_states(25, 1, method=method)[:, 1:] != runs[0][:, 1:]).all()
    assert len(np.unique(runs[0][:, -1, 3])) == 25
