"""The logarithm of the modified Bessel function against SciPy and the recurrence."""

import numpy as np
import pytest
from scipy.special import ive

from nke.systems.bessel import log_bessel_ratio, uniform_expansion


def test_against_scipy():
    z = np.geomspace(1e-3, 150, 50)
    for q in (-0.9, -0.3, 0.0, 0.5, 44.0):
        truth = np.log(ive(q, z)) - q * np.log(z / 2)
        np.testing.assert_allclose(log_bessel_ratio(q, z), truth, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("q", [-0.5, 3.0, 150.0])
def test_expansion_meets_scipy(q):
    z = np.array([150.0, 190.0, 250.0])
    truth = np.log(ive(q, z)) - q * np.log(z / 2)
    np.testing.assert_allclose(uniform_expansion(q, z, np.hypot(q, z)), truth, rtol=1e-12, atol=2e-11)


@pytest.mark.parametrize("q", [0.3, 5.0, 100.0, 199.5, 1000.0])
def test_recurrence_where_values_underflow_or_overflow(q):
    """I_{q−1} − I_{q+1} = (2q/z) I_q, all three divided by I_q."""
    z = np.concatenate([[0.0], np.geomspace(1e-100, 1e6, 107)])
    below, here, above = (log_bessel_ratio(q + k, z) for k in (-1, 0, 1))
    left, right = np.exp(below - here), (z / 2) ** 2 * np.exp(above - here)
    np.testing.assert_allclose(left - right, q, atol=1e-9 * np.max(left), rtol=0)
    np.testing.assert_allclose((left - right) / (left + right), q / (left + right), atol=1e-9)
