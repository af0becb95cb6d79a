"""The law of one collision against quadrature, and its samples against its moments."""

import numpy as np
import pytest
from scipy.integrate import quad

from gases import GAS
from standard_errors import assert_within_standard_errors


@pytest.mark.parametrize("speed", [0.0, 1.0, 20.0])
def test_rate_is_the_mean_relative_speed(speed):
    def integrand(v):
        """|v − V| averaged over directions of v, times the density of |v|."""
        around = (np.abs(v + speed) ** 3 - np.abs(v - speed) ** 3) / (6 * v * speed) if speed > 0 else v
        return around * np.sqrt(2 / np.pi) * v**2 * np.exp(-(v**2) / 2 / GAS.spread**2) / GAS.spread**3

    mean = quad(integrand, 0, 12 * GAS.spread, epsabs=1e-12, points=[max(speed, 1)])[0]
    rate = GAS.jump_rate([0, 0, 0, 0, speed, 0])
    assert rate == pytest.approx(GAS.density * np.pi * GAS.radius**2 * mean, rel=1e-9)


@pytest.mark.parametrize("speed", [0.0, 3.0])
def test_density_of_a_jump(speed):
    """Integrates to one, has the stated moments, and so have its samples."""
    law = GAS.jump_law([1.0, 2.0, 3.0, 0.0, 0.0, speed])
    nodes, weights = np.polynomial.legendre.leggauss(40)
    size, cosine = (2.5 + 2.5 * nodes)[:, None], nodes
    jumps = np.zeros((40, 40, 6))
    jumps[..., 3], jumps[..., 5] = size * np.sqrt(1 - cosine**2), size * cosine
    mass = np.exp(law.log_prob(jumps)) * 2 * np.pi * size**2 * 2.5 * np.outer(weights, weights)
    assert mass.sum() == pytest.approx(1, abs=1e-8)
    mean, across = (mass * size * cosine).sum(), (mass * size**2 * (1 - cosine**2) / 2).sum()
    along = (mass * (size * cosine) ** 2).sum() - mean**2
    np.testing.assert_allclose(law.mean, [0, 0, 0, 0, 0, mean], atol=1e-8)
    np.testing.assert_allclose(law.covariance, np.diag([0, 0, 0, across, across, along]), atol=1e-8)
    draws = law.sample(40_000, 0)
    assert_within_standard_errors(draws[:, 3:], law.mean[3:])
    centred = draws[:, 3:] - law.mean[3:]
    assert_within_standard_errors(centred[:, :, None] * centred[:, None, :], law.covariance[3:, 3:])
    assert law.log_prob([0.1, 0, 0, 1, 0, 0]) == -np.inf
    with pytest.raises(ValueError, match=r"shape \(\.\.\., 6\)"):
        law.log_prob([1.0, 0, 0])
