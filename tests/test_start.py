"""Starting values and batches: the mixture that training begins at, and the weights of skewed batches."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from nke.fitting.beginning import NEGLECTED, series_order
from nke.fitting.loop import Blocks
from nke.fitting.start import motion_size, start_with_jumps, start_without_jumps
from scipy.stats import poisson

SPREAD = np.array([[0.5, 0.2], [0.2, 0.3]])
JUMP = np.array([[2.0, 0.0], [0.0, 0.5]])


def displacements(count: int, rate: float, seed: int):
    rng = np.random.default_rng(seed)
    step = rng.choice([0.01, 0.02, 0.03], count)
    moved = rng.multivariate_normal(np.zeros(2), SPREAD, count) * np.sqrt(step)[:, None]
    jumped = rng.random(count) < rate * step
    return moved + jumped[:, None] * rng.multivariate_normal(np.zeros(2), JUMP, count), step


def test_the_start_without_jumps_is_the_mean_spread():
    moved, step = displacements(20_000, 0.0, 0)
    begin = start_without_jumps(moved, step)
    assert begin.rate == 0
    np.testing.assert_allclose(begin.spread, SPREAD, atol=4 * 0.5 * np.sqrt(2 / 20_000))


def test_the_start_with_jumps_finds_rate_and_sizes():
    """600 jumps among 20,000 steps: 4 standard errors are 16 % of the rate and 23 % of a variance."""
    moved, step = displacements(20_000, 1.5, 1)
    begin = start_with_jumps(moved, step)
    assert begin.rate == pytest.approx(1.5, rel=0.16)
    np.testing.assert_allclose(np.diag(begin.jump), np.diag(JUMP), rtol=0.23)
    np.testing.assert_allclose(begin.spread, SPREAD, atol=4 * 0.5 * np.sqrt(2 / 20_000) + 0.01)


@pytest.mark.parametrize("moved", [np.zeros((50, 2)), np.tile([1e-9, 0.0], (50, 1))], ids=["constant", "one way"])
def test_nothing_to_learn_gives_finite_starts(moved):
    step = np.full(len(moved), 0.1)
    for begin in (start_without_jumps(moved, step), start_with_jumps(moved, step)):
        assert np.isfinite(begin.rate)
        for covariance in (begin.spread, begin.jump):
            assert (np.linalg.eigvalsh(covariance) > 0).all()


def test_motion_size_is_free_of_units():
    moved, step = displacements(500, 1.0, 2)
    size = motion_size(moved, step)
    np.testing.assert_allclose(motion_size(moved * [1e6, 1e-6], step), size)
    np.testing.assert_array_equal(np.argsort(motion_size(moved, 7 * step)), np.argsort(size))


@pytest.mark.parametrize("skew", [1.0, 2.0, 3.0])
def test_weights_undo_the_preference(skew):
    """Σ weights·value over evenly spread numbers is a quadrature of the plain mean, whatever the skew."""
    values = jnp.asarray(np.sort(np.random.default_rng(0).exponential(size=1000))[::-1].copy())
    data = Blocks(values, len(values), 1, skew)
    index, weights = data.draw((jnp.arange(200_000) + 0.5) / 200_000)
    assert int(index.min()) == 0
    assert int(index.max()) == 999
    assert float(jnp.mean(weights)) == pytest.approx(1, abs=1e-4)
    assert float(jnp.mean(weights * values[index])) == pytest.approx(float(values.mean()), rel=2e-3)


def test_skewed_batches_hold_more_of_the_first():
    data = Blocks(jnp.zeros(1000), 1000, 1, 2.0)
    index, _ = data.draw(jax.random.uniform(jax.random.key(0), (100_000,)))
    share = float(jnp.mean(index < 10))  # the first hundredth: √0.01
    assert share == pytest.approx(0.1, abs=4 * np.sqrt(0.1 * 0.9 / 100_000))


@pytest.mark.parametrize("expected", [1e-3, 0.05, 0.2, 0.6])
def test_series_order_follows_the_expected_number_of_jumps(expected):
    order = series_order(expected, 1)
    assert poisson.sf(order, expected) <= NEGLECTED or order == 4
    assert order == 1 or poisson.sf(order - 1, expected) > NEGLECTED


def test_series_order_keeps_the_number_of_terms_down():
    assert series_order(0.6, 4) == 2
    assert series_order(0.6, 16) == 1
