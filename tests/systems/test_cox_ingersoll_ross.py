"""The Cox–Ingersoll–Ross process against the noncentral χ² law and its limits."""

import numpy as np
import pytest
from scipy.stats import gamma, ncx2, norm

from nke.systems import CoxIngersollRoss
from standard_errors import assert_within_standard_errors


def test_transition():
    system, x, s = CoxIngersollRoss(), 0.5, 0.2
    decay = np.exp(-3 * s)
    c = 2 * 3 / (0.04 * (1 - decay))
    y = np.linspace(0.3, 0.6, 7)
    truth = ncx2.logpdf(y, 4 * 3 * 0.3 / 0.04, 2 * c * x * decay, scale=1 / (2 * c))
    np.testing.assert_allclose(system.log_prob(y[:, None], given=[x], step=s), truth, rtol=1e-9, atol=1e-9)
    mean = 0.3 + (x - 0.3) * decay
    variance = 0.04 / 3 * (x * (decay - decay**2) + 0.3 / 2 * (1 - decay) ** 2)
    draws = system.simulate_states(100_000, 0, [0.0, s], np.full((100_000, 1), x))[:, 1, 0]
    assert_within_standard_errors(draws, mean)
    assert_within_standard_errors((draws - mean) ** 2, variance)


@pytest.mark.parametrize("step", [1e-12, 1e-9, 1e-6])
def test_over_tiny_steps_is_gaussian(step):
    system, x = CoxIngersollRoss(), 0.4
    spread = 0.2 * np.sqrt(x * step)
    for deviation in (-2.0, 0.0, 1.0):
        y = x + step * system.drift([x])[0] + deviation * spread
        gap = system.log_prob([y], given=[x], step=step) - norm.logpdf(deviation) + np.log(spread)
        # Skewness of order spread/x; y itself is rounded to 1e-16 of x.
        assert abs(gap) < 5 * spread / x + 1e-15 / spread


@pytest.mark.parametrize("volatility", [0.2, 2.0])
def test_far_out_and_at_zero(volatility):
    system = CoxIngersollRoss(volatility=volatility)
    y = np.geomspace(1e-200, 50, 100)[:, None]
    assert np.isfinite(system.log_prob(y, given=[0.4], step=[0.02])).all()
    c = 2 * 3 / (volatility**2 * (1 - np.exp(-3 * 0.1)))
    near = np.array([1e-3, 0.1, 0.3])
    truth = gamma.logpdf(near, 2 * 3 * 0.3 / volatility**2, scale=1 / c)
    np.testing.assert_allclose(system.log_prob(near[:, None], given=[0.0], step=0.1), truth, rtol=1e-10)
