"""Metrics of the benchmark against SciPy, POT and closed forms; wrong models are caught; parametric fits."""

import numpy as np
import ot
import pytest
from jax import numpy as jnp
from scipy.stats import kurtosis, wasserstein_distance

from nke.bench.parametric import fit_double_well, fit_lorenz, lorenz_moments
from nke.bench.true_score import true_generator
from nke.data import Coordinates
from nke.evaluation import jump_law_distance, path_metrics, sliced_wasserstein
from nke.mixtures import GaussianMixture
from nke.model import Model
from nke.operators import Advection, Diffusion, Generator
from nke.systems import DoubleWell, Lorenz, cubic_well
from nke.systems.cubic_well import CubicWell


def test_increment_metrics_equal_scipy():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(30, 6, 2)).cumsum(axis=1), rng.standard_t(5, size=(20, 6, 2)).cumsum(axis=1)
    found = path_metrics(a, b)
    da, db = (np.diff(paths, axis=1).reshape(-1, 2) for paths in (a, b))
    transport = np.mean([wasserstein_distance(da[:, i], db[:, i]) / db[:, i].std() for i in range(2)])
    assert found.increment_wasserstein == pytest.approx(transport, rel=1e-9)
    assert found.increment_kurtosis == pytest.approx(np.mean(kurtosis(da)), rel=1e-9)
    assert found.kurtosis_error == pytest.approx(np.mean(np.abs(kurtosis(da) - kurtosis(db))), rel=1e-9)


def test_sliced_distance_equals_pot_on_the_same_directions():
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(40, 1, 3)), rng.normal(0.5, 2.0, size=(25, 1, 3))
    axes = np.random.default_rng(7).standard_normal((3, 20))
    axes /= np.linalg.norm(axes, axis=0)
    expected = ot.sliced_wasserstein_distance(a[:, 0], b[:, 0], projections=axes, p=1)
    assert sliced_wasserstein(a, b, directions=20, seed=7) == pytest.approx(float(expected), rel=1e-6)


def test_sliced_distance_of_shifted_gaussians_has_its_closed_form():
    """A shift m moves every projection by |m·u|, whose mean over the sphere in three dimensions is |m|/2."""
    x = np.random.default_rng(2).normal(size=(50, 2, 3))
    shift = np.array([0.0, 3.0, 4.0])
    found = sliced_wasserstein(x + shift, x, directions=4000)
    assert found == pytest.approx(2.5, abs=5 * 5 / np.sqrt(12 * 4000))


def test_distance_of_jump_laws_has_its_closed_form():
    """Gaussians of one centre: |σ − τ| E|Z|; a shift: itself; no jump against two symmetric ones: their size."""
    wide = GaussianMixture([1.0], [[0.0, 0.5]], [np.diag([4.0, 0.0])])
    narrow = GaussianMixture([1.0], [[0.0, 0.0]], [np.diag([1.0, 0.0])])
    np.testing.assert_allclose(jump_law_distance(wide, narrow), [np.sqrt(2 / np.pi), 0.5], atol=0.02)
    still = GaussianMixture([1.0], [[0.0]], [[[0.0]]])
    moving = GaussianMixture([0.5, 0.5], [[-1.0], [1.0]], [[[0.04]], [[0.04]]])
    np.testing.assert_allclose(jump_law_distance(still, moving), [1.0], atol=0.01)


@pytest.fixture(scope="module")
def floor():
    """Metrics of the true double well against itself: the test set, mean and spread over replicates."""
    system, times = DoubleWell(dt=0.01), np.linspace(0, 2, 41)
    test = system.simulate(256, seed=3, times=times)
    again = [system.simulate_states(256, 10 + i, times, test.initial) for i in range(10)]
    rows = np.array([path_metrics(paths, np.asarray(test.states)) for paths in again])
    return test, rows.mean(axis=0), rows.std(axis=0, ddof=1)


@pytest.mark.parametrize("change", ["noise doubled", "noise removed", "drift zeroed", "jumps removed"])
def test_a_wrong_generator_is_caught_by_a_metric(floor, change):
    """The true generator of the double well with one part altered, sampled as any model is."""
    test, mean, spread = floor
    true = true_generator(DoubleWell())
    altered = {
        "noise doubled": Generator(true.advection, Diffusion(lambda x: 2 * true.diffusion.factor(x)), true.jump),
        "noise removed": Generator(true.advection, Diffusion(lambda x: 1e-3 * true.diffusion.factor(x)), true.jump),
        "drift zeroed": Generator(Advection(jnp.zeros_like), true.diffusion, true.jump),
        "jumps removed": Generator(true.advection, true.diffusion, None),
    }[change]
    model = Model(altered, Coordinates(np.zeros(3), np.ones(3), 1.0), 0.05, ("x1", "x2", "x3"), ("",) * 3)
    paths = model.sample(test.initial, np.asarray(test.times)[0], seed=1)
    excess = (np.array(path_metrics(paths, np.asarray(test.states))) - mean) / spread
    assert np.abs(excess).max() > 6


def test_moments_of_lorenz_are_those_of_simulated_paths(double_precision):
    system, x, step = Lorenz(noise=1.0), np.array([3.0, -2.0, 20.0]), 0.02
    ends = system.simulate_states(40_000, 0, [0.0, step], np.tile(x, (40_000, 1)))[:, 1]
    parameters = jnp.array([system.sigma, system.rho, system.beta])
    mean, covariance = lorenz_moments(parameters, jnp.asarray(1.0), jnp.asarray(x), jnp.asarray(step))
    error = ends.std(axis=0) / np.sqrt(len(ends))
    assert (np.abs(ends.mean(axis=0) - mean) < 4 * error).all()
    np.testing.assert_allclose(np.diag(covariance), ends.var(axis=0), rtol=0.05)


def test_parametric_fit_of_lorenz_recovers_it():
    found = fit_lorenz(Lorenz(noise=0.3).simulate(32, seed=0))
    assert (found.sigma, found.rho, found.beta) == pytest.approx((10, 28, 8 / 3), rel=0.02)
    assert found.noise == pytest.approx(0.3, rel=0.03)


def test_parametric_fit_of_the_double_well_recovers_it(monkeypatch):
    monkeypatch.setattr(cubic_well, "LONGEST_STEP", 1 / 32)  # coarser quadrature, for speed
    found = fit_double_well(DoubleWell(dt=0.01).simulate(64, seed=0, times=np.arange(31) * 0.2))
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
