"""The transition density of the double well: refinement, mass, Chapman–Kolmogorov, simulation."""

import numpy as np
import pytest
from scipy.stats import norm

from nke.systems import DoubleWell
from nke.systems.cubic_well import CubicWell

CALM, JUMPY = CubicWell(0.5, 0.0, 1.0), CubicWell(0.5, 1.0, 1.0)
WELLS = pytest.mark.parametrize("well", [CALM, JUMPY], ids=["calm", "jumps"])
X = np.array([-1.5, -0.2, 0.4, 1.1])


@WELLS
def test_splitting_errors_fall_by_four(well):
    y = X + np.array([0.1, -0.2, 0.05, -0.1])
    coarse, middle, fine = (well.log_prob(y, X, 0.05, refine) for refine in (1, 2, 4))
    np.testing.assert_allclose(middle, fine, atol=2e-4)
    ratio = np.abs(coarse - middle).max() / np.abs(middle - fine).max()
    assert 3 < ratio < 5.5  # second order in the splitting step: 4


@WELLS
@pytest.mark.parametrize("step", [0.05, 0.6])
def test_mass_is_one(well, step):
    grid = np.linspace(-7, 7, 4001)
    density = np.exp(well.log_prob(np.tile(grid, len(X)), np.repeat(X, len(grid)), step))
    np.testing.assert_allclose(np.trapezoid(density.reshape(len(X), -1), grid), 1, atol=1e-6)


def test_chapman_kolmogorov():
    """All three with the same splitting step, so that its error is common to them."""
    grid = np.linspace(-6, 6, 3001)
    x, y, between = np.repeat(X, len(grid)), np.repeat(X[::-1], len(grid)), np.tile(grid, len(X))
    joint = np.exp(JUMPY.log_prob(between, x, 0.1) + JUMPY.log_prob(y, between, 0.1)).reshape(len(X), -1)
    whole = JUMPY.log_prob(np.asarray(X[::-1]), np.asarray(X), 0.2)
    np.testing.assert_allclose(np.log(np.trapezoid(joint, grid)), whole, atol=1e-5)


@pytest.mark.parametrize("system", [DoubleWell(dimension=1), DoubleWell(rate=0, dimension=1)], ids=["jumps", "calm"])
def test_simulated_paths_follow_it(system):
    """Probabilities of eight bins within 4 standard errors, and dt = 1e-3's own error of 0.002."""
    step, count = 0.3, 40_000
    ends = system.simulate_states(count, 0, [0.0, step], np.full((count, 1), 0.5))[:, -1, 0]
    edges = np.linspace(-0.5, 1.5, 9)
    grid = np.linspace(edges[0], edges[-1], 8 * 40 + 1)
    density = np.exp(system.log_prob(grid[:, None], [0.5], step))
    share = [np.trapezoid(density[40 * i : 40 * i + 41], grid[40 * i : 40 * i + 41]) for i in range(8)]
    found = np.histogram(ends, edges)[0] / count
    np.testing.assert_array_less(np.abs(found - share), 4 * np.sqrt(np.array(share) / count) + 0.002)


@pytest.mark.parametrize("confinement", [0.0, 1.5])
def test_across_the_axis_it_is_ornstein_uhlenbeck(confinement):
    whole, axis = DoubleWell(confinement=confinement), DoubleWell(dimension=1)
    x, y, step = np.array([0.5, -0.3, 0.2]), np.array([0.6, -0.1, 0.1]), 0.3
    variance = 0.25 * (step if confinement == 0 else (1 - np.exp(-2 * confinement * step)) / (2 * confinement))
    across = norm.logpdf(y[1:], x[1:] * np.exp(-confinement * step), np.sqrt(variance)).sum()
    assert whole.log_prob(y, x, step) == pytest.approx(axis.log_prob(y[:1], x[:1], step) + across, rel=1e-9)


def test_without_noise_there_is_no_density():
    with pytest.raises(NotImplementedError, match="noise > 0"):
        DoubleWell(noise=0).log_prob(np.zeros(3), np.zeros(3), 0.1)
