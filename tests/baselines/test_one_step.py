"""The discrete law of one step: mean e^{As}x, covariance (1 − e^{−2s})/2·I; 256 × 80 transitions.

A slope of the mean motion per unit time has a sampling error of √(a/(T·Var x)) = 0.044, the noise one of 0.7 %.
"""

import numpy as np
import pytest
from scipy.linalg import expm

from known_paths import STEP, TURN


@pytest.mark.parametrize("name", ["euler_maruyama", "flow_matching"])
def test_mean_of_a_step(fitted, name):
    x = np.random.default_rng(1).standard_normal((400, 2)) / np.sqrt(2)
    found = np.linalg.lstsq(x, fitted(name).model.drift(x), rcond=None)[0].T
    np.testing.assert_allclose(found, (expm(STEP * TURN) - np.eye(2)) / STEP, atol=0.2)


@pytest.mark.parametrize("name", ["euler_maruyama", "flow_matching"])
def test_noise_of_a_step(fitted, name):
    x = np.random.default_rng(2).standard_normal((400, 2)) / np.sqrt(2)
    a = fitted(name).model.diffusion(x)
    np.testing.assert_allclose(a.mean(axis=0), -np.expm1(-2 * STEP) / (2 * STEP) * np.eye(2), atol=0.05)
    assert np.diagonal(a, axis1=1, axis2=2).std() < 0.1
