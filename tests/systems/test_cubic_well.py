"""The transition density along the double well's axis: refinement, mass, Chapman–Kolmogorov."""

import numpy as np
import pytest

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
    grid = np.linspace(-7, 7, 401)  # three points in a standard deviation of the shorter step
    density = np.exp(well.log_prob(np.tile(grid, len(X)), np.repeat(X, len(grid)), step))
    np.testing.assert_allclose(np.trapezoid(density.reshape(len(X), -1), grid), 1, atol=1e-6)


def test_chapman_kolmogorov():
    """All three with the same splitting step, so that its error is common to them."""
    grid = np.linspace(-6, 6, 401)
    x, y, between = np.repeat(X, len(grid)), np.repeat(X[::-1], len(grid)), np.tile(grid, len(X))
    joint = np.exp(JUMPY.log_prob(between, x, 0.1) + JUMPY.log_prob(y, between, 0.1)).reshape(len(X), -1)
    whole = JUMPY.log_prob(np.asarray(X[::-1]), np.asarray(X), 0.2)
    np.testing.assert_allclose(np.log(np.trapezoid(joint, grid)), whole, atol=1e-5)
