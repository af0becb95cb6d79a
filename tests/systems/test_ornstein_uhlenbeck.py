"""The Ornstein–Uhlenbeck process against its Gaussian transition and its stationary law."""

import numpy as np
import pytest
from scipy.stats import norm

from nke.systems import OrnsteinUhlenbeck
from standard_errors import assert_within_standard_errors


def test_transition():
    system = OrnsteinUhlenbeck(rate=2, mean=1, noise=0.5)
    decay = np.exp(-2 * 0.3)
    truth = norm.logpdf(0.8, 1 - 0.6 * decay, np.sqrt(0.25 / 4 * (1 - decay**2)))
    assert system.log_prob([0.8], given=[0.4], step=0.3) == pytest.approx(truth, rel=1e-12)


def test_is_stationary():
    system = OrnsteinUhlenbeck(rate=2, mean=1, noise=0.5)
    x = system.simulate_states(50_000, 0, [0.0, 0.3, 5.0])[..., 0] - 1
    assert_within_standard_errors(x, 0.0)
    assert_within_standard_errors(x**2, 0.25 / 4)
    assert_within_standard_errors(x[:, 0] * x[:, 1], 0.25 / 4 * np.exp(-0.6))
