"""Maximum likelihood of the true families recovers them."""

import jax
import numpy as np
import pytest
from jax import numpy as jnp

from nke.bench.parametric import fit_double_well, fit_lorenz, lorenz_moments
from nke.systems import DoubleWell, Lorenz, cubic_well
from nke.systems.cubic_well import CubicWell


def test_moments_of_lorenz_are_those_of_simulated_paths(double_precision):
    system, x, step = Lorenz(noise=1.0), np.array([3.0, -2.0, 20.0]), 0.02
    ends = system.simulate_states(40_000, 0, [0.0, step], np.tile(x, (40_000, 1)))[:, 1]
    parameters = jnp.array([system.sigma, system.rho, system.beta])
    mean, covariance = jax.jit(lorenz_moments)(parameters, jnp.asarray(1.0), jnp.asarray(x), jnp.asarray(step))
    error = ends.std(axis=0) / np.sqrt(len(ends))
    assert (np.abs(ends.mean(axis=0) - mean) < 4 * error).all()
    np.testing.assert_allclose(np.diag(covariance), ends.var(axis=0), rtol=0.05)


@pytest.mark.validation
def test_parametric_fit_of_lorenz_recovers_it():
    found = fit_lorenz(Lorenz(noise=0.3).simulate(32, seed=0))
    assert (found.sigma, found.rho, found.beta) == pytest.approx((10, 28, 8 / 3), rel=0.02)
    assert found.noise == pytest.approx(0.3, rel=0.03)


@pytest.mark.validation
def test_parametric_fit_of_the_double_well_recovers_it(monkeypatch):
    monkeypatch.setattr(cubic_well, "LONGEST_STEP", 1 / 16)  # a coarser quadrature on a coarser grid, for speed
    found = fit_double_well(DoubleWell(dt=0.01).simulate(64, seed=0, times=np.arange(31) * 0.2), spacing=3.0)
    assert (found.confinement, found.noise) == pytest.approx((1, 0.5), rel=0.1)
    assert (found.rate, found.jump_scale) == pytest.approx((1, 1), rel=0.25)


def test_density_on_a_grid_is_the_pointwise_one():
    well, grid = CubicWell(0.5, 1.0, 1.0), np.linspace(-6, 6, 401)
    density = well.density_on(grid, 0.05)
    rows, columns = np.array([200, 230, 160]), np.array([203, 300, 160])
    np.testing.assert_allclose(
        np.log(density[rows, columns]), well.log_prob(grid[columns], grid[rows], 0.05), atol=1e-3
    )
    np.testing.assert_allclose(density[150:250].sum(axis=1) * (grid[1] - grid[0]), 1.0, atol=1e-3)
