"""Differences of means, and the spread of estimated shapes."""

import numpy as np
import pytest

from nke.evaluation.contrast import Contrast, excess_kurtosis, skewness


@pytest.mark.parametrize("shape", [skewness, excess_kurtosis])
def test_the_spread_is_that_of_the_estimate(shape):
    """Standard errors of 300 estimates from 1000 gamma numbers: known to 4 %, their own tails make it 15 %."""
    samples = np.random.default_rng(0).gamma(8.0, size=(300, 1000))
    values = np.array([shape(sample) for sample in samples])
    assert values.mean(axis=1).std() == pytest.approx(values.std(axis=1).mean() / np.sqrt(1000), rel=0.3)


def test_level():
    """400 equal pairs of samples: 5 % are below 0.05, give or take 1.1 %."""
    rng = np.random.default_rng(0)
    p = [Contrast.of(rng.normal(size=200), rng.normal(size=600)).p_value for _ in range(400)]
    assert abs(np.mean(np.array(p) < 0.05) - 0.05) < 0.033
