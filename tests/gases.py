"""Gases that tests share, with a box of 200 particles instead of 20,000; ``make verify`` has the full bath."""

import numpy as np

from nke.systems import RarefiedGas
from standard_errors import assert_within_standard_errors

GAS = RarefiedGas(bath_size=200)
DENSE = RarefiedGas(mass_ratio=1, radius=3, bath_size=300, duration=5)
"""One collision in fifteen is with a particle that was hit before."""


def within(samples, truth, errors=3.0):
    """The mean over the first axis is the truth to that many standard errors."""
    assert_within_standard_errors(samples, truth, errors)


def stream(seed):
    """The random numbers of one trajectory."""
    return np.random.SeedSequence(seed).generate_state(4, np.uint64)
