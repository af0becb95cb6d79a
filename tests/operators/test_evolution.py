"""Densities carried forward without sampling, against closed forms and quadrature."""

from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nke.mixtures import GaussianMixture
from nke.operators import Advection, Diffusion, Evolution, Generator, PoissonJump
from nke.operators import evolution as algorithm
from nke.operators.evolution import Rates
from nke.systems.cubic_well import CubicWell

GRID = np.linspace(-6.0, 6.0, 601)
TIMES = np.arange(1, 6) * 0.5
advance = eqx.filter_jit(Evolution.advance)
pytestmark = pytest.mark.usefixtures("double_precision")


def standard_jump(x):
    return GaussianMixture(jnp.ones(1, x.dtype), jnp.zeros((1, 1), x.dtype), jnp.ones((1, 1, 1), x.dtype))


@cache
def well(rate=None):
    """dx = x(1 − x²) dt + dW/2, with standard normal jumps where there is a rate."""
    jump = None if rate is None else PoissonJump.from_functions(rate, standard_jump)
    return Generator(Advection(lambda x: x * (1 - x * x)), Diffusion(lambda x: jnp.full((1, 1), 0.5, x.dtype)), jump)


def one_jump_a_unit_time(x):
    return jnp.ones((), x.dtype)


@cache
def true_densities(rate, start):
    """By another algorithm: Chapman–Kolmogorov integrals on a grid (see ``tests/systems/test_cubic_well.py``)."""
    step = CubicWell(noise=0.5, rate=rate, jump_scale=1.0).density_on(GRID, 0.5)
    width = GRID[1] - GRID[0]
    found = [step[np.abs(GRID - start).argmin()]]
    while len(found) < len(TIMES):
        found.append(width * found[-1] @ step)
    return np.array(found)


def density(mixture):
    used = np.asarray(mixture.weights) > 0
    kept = jax.tree.map(lambda leaf: np.asarray(leaf)[used], mixture)
    return np.exp(
        GaussianMixture(kept.weights / kept.weights.sum(), kept.means, kept.covariances).log_prob(GRID[:, None])
    )


def errors(generator, start, components, truth, **options):
    """L1 distance from the truth at each time, from a known state."""
    law, found = GaussianMixture.point(jnp.asarray([start])), []
    for true in truth:
        law = advance(Evolution(components, **options), generator, law, jnp.asarray(0.5)).mixture
        found.append(np.abs(density(law) - true).sum() * (GRID[1] - GRID[0]))
    return np.array(found)


@pytest.mark.parametrize("start", [0.0, 1.0])  # from the saddle, from a well
def test_double_well(start):
    found = errors(well(), start, 32, true_densities(0.0, start))
    assert found.mean() < 0.010, found
    assert found.max() < 0.02, found


@pytest.mark.validation
def test_double_well_with_jumps_from_the_saddle():
    found = errors(well(one_jump_a_unit_time), 0.0, 64, true_densities(1.0, 0.0))
    assert found.mean() < 0.012, found
    assert found.max() < 0.025, found


def test_without_splitting_it_is_far_off():
    assert errors(well(), 0.0, 32, true_densities(0.0, 0.0), tolerance=jnp.inf).mean() > 0.2


@pytest.mark.validation
def test_with_linearised_expectations_it_misses_the_target(monkeypatch):
    def linearised(mixture, end, rule):
        means, slopes = jax.vmap(end)(mixture.means), jax.vmap(jax.jacfwd(end))(mixture.means)
        return GaussianMixture(mixture.weights, means, slopes @ mixture.covariances @ jnp.matrix_transpose(slopes))

    monkeypatch.setattr(algorithm, "carried", linearised)
    unjitted = eqx.filter_jit(lambda *given: Evolution.advance(*given))
    monkeypatch.setitem(globals(), "advance", unjitted)
    assert errors(well(), 0.0, 32, true_densities(0.0, 0.0)).mean() > 0.010


def test_every_step_keeps_the_mass_and_positive_covariances():
    generator, evolution = well(one_jump_a_unit_time), Evolution(16)
    step = eqx.filter_jit(lambda law: evolution.step(generator, law, 0.02, Rates.of(generator, law)))
    law = GaussianMixture(jnp.concatenate([jnp.ones(1), jnp.zeros(15)]), jnp.zeros((16, 1)), jnp.zeros((16, 1, 1)))
    for _ in range(60):
        law = step(law)
        assert abs(float(law.weights.sum()) - 1) < 1e-9
        assert (law.weights >= 0).all()
        assert (law.covariances >= 0).all()


def test_linear_equations_are_exact():
    """The oscillator's velocity alone has noise: Σ' = AΣ + ΣAᵀ + a has the solution by the matrix exponential."""
    drift, noise = np.array([[0.0, 1.0], [-2.0, -0.3]]), np.diag([0.0, 0.5])
    generator = Generator(
        Advection(lambda x: jnp.asarray(drift, x.dtype) @ x), Diffusion(lambda x: jnp.asarray(np.sqrt(noise), x.dtype))
    )
    start = np.array([1.0, -0.5])
    end = advance(Evolution(4), generator, GaussianMixture.point(jnp.asarray(start)), jnp.asarray(1.5)).mixture
    both = jax.scipy.linalg.expm(1.5 * np.block([[-drift, noise], [np.zeros((2, 2)), drift.T]]))  # Van Loan 1978
    flow = both[2:, 2:].T
    np.testing.assert_allclose(end.mean, flow @ start, rtol=1e-6)
    np.testing.assert_allclose(end.covariance, flow @ both[:2, 2:], rtol=1e-4)
    assert np.linalg.eigvalsh(np.asarray(end.covariance)).min() > 0


def test_moments_of_geometric_brownian_motion():
    """In x itself, where noise in proportion to the state makes the density skewed."""
    generator = Generator(Advection(lambda x: 0.1 * x), Diffusion(lambda x: 0.3 * x[:, None]))
    end = advance(Evolution(32), generator, GaussianMixture.point(jnp.ones(1)), jnp.asarray(2.0)).mixture
    assert float(end.mean[0]) == pytest.approx(np.exp(0.2), rel=1e-4)
    variance = np.exp(0.4) * np.expm1(0.18)
    assert float(end.covariance[0, 0]) == pytest.approx(variance, rel=0.005)
    used = np.asarray(end.weights) > 0
    above = 1 - np.asarray(jax.scipy.stats.norm.cdf((2.0 - end.means[:, 0]) / jnp.sqrt(end.covariances[:, 0, 0])))
    truth = 1 - float(jax.scipy.stats.norm.cdf((np.log(2) - 0.2 + 0.09) / np.sqrt(0.18)))
    assert float(np.asarray(end.weights)[used] @ above[used]) == pytest.approx(truth, abs=0.005)


@pytest.mark.parametrize("duration", [0.05, 2.0])
def test_compound_poisson(duration):
    """Jumps alone, of mean 1: mean λt, variance λt·E[jump²]."""
    law = GaussianMixture(jnp.array([0.5, 0.5]), jnp.array([[0.0], [2.0]]), 0.25 * jnp.ones((2, 1, 1)))
    jump = PoissonJump.from_functions(lambda x: jnp.asarray(1.5), lambda x: law)
    still = Generator(Advection(jnp.zeros_like), Diffusion(lambda x: jnp.zeros((1, 1))), jump)
    end = advance(Evolution(16), still, GaussianMixture.point(jnp.zeros(1)), jnp.asarray(duration)).mixture
    assert float(end.mean[0]) == pytest.approx(1.5 * duration, rel=1e-3)
    assert float(end.covariance[0, 0]) == pytest.approx(1.5 * duration * 2.25, rel=2e-3)


def test_jumps_whose_law_depends_on_the_state_contract():
    """Friction by collisions alone: every jump halves the state, so E x = e^{−λt/2} and E x² = e^{−3λt/4}."""
    jump = PoissonJump.from_functions(lambda x: jnp.asarray(1.0), lambda x: GaussianMixture.point(-x / 2))
    generator = Generator(Advection(jnp.zeros_like), Diffusion(lambda x: jnp.zeros((1, 1))), jump)
    start = GaussianMixture(jnp.ones(1), jnp.ones((1, 1)), jnp.ones((1, 1, 1)))
    end = advance(Evolution(16), generator, start, jnp.asarray(1.0)).mixture
    assert float(end.mean[0]) == pytest.approx(np.exp(-0.5), rel=3e-3)
    second = float(end.covariance[0, 0] + end.mean[0] ** 2)
    assert second == pytest.approx(2 * np.exp(-0.75), rel=3e-3)
