"""Geometric Brownian motion against the log-normal law."""

import numpy as np
import pytest
from scipy.stats import lognorm

from nke.systems import GeometricBrownianMotion
from standard_errors import assert_within_standard_errors


def test_transition():
    system = GeometricBrownianMotion(growth=0.3, volatility=0.4)
    truth = lognorm.logpdf(1.5, 0.4 * np.sqrt(0.5), scale=1.2 * np.exp((0.3 - 0.08) * 0.5))
    assert system.log_prob([1.5], given=[1.2], step=0.5) == pytest.approx(truth, rel=1e-12)
    draws = system.simulate_states(50_000, 0, [0.0, 0.5], np.full((50_000, 1), 1.2))[:, 1, 0]
    assert_within_standard_errors(draws, 1.2 * np.exp(0.15))


def test_price_must_start_positive():
    with pytest.raises(ValueError, match="trajectory 1 starts at"):
        GeometricBrownianMotion().simulate(2, 0, initial=[[1.0], [0.0]])
