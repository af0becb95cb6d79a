"""Sampled quantities against known truth, with a tolerance that comes from the sampling error itself."""

import numpy as np


def assert_within_standard_errors(samples, truth, errors=4.0, bias=0.0):
    """The mean over the first axis equals the truth, to so many standard errors and a stated bias.

    A correct quantity exceeds four of them once in 16,000 times. Rounding is allowed for.
    """
    samples = np.asarray(samples, float)
    error = np.abs(samples.mean(axis=0) - truth)
    tolerance = errors * samples.std(axis=0) / np.sqrt(len(samples)) + bias + 1e-12
    assert (error <= tolerance).all(), (error, tolerance)
