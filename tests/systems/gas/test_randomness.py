"""The stream of random numbers."""

import numpy as np
from scipy.stats import kstest

from gases import stream, within
from nke.systems.gas.randomness import uniform


def test_uniform_numbers():
    state = stream(3)
    draws = np.array([uniform(state) for _ in range(20_000)])
    assert kstest(draws, "uniform").pvalue > 1e-3
    within((draws[1:] - 0.5) * (draws[:-1] - 0.5), 0.0)
