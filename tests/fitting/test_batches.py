"""What optimisers draw from: the order of transitions, and the weights of batches that prefer some of them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import nke
from nke.data import Coordinates
from nke.fitting import Blocks, Steps
from nke.fitting.batches import TrainingData, motion_size, some_transitions, transition_blocks


@pytest.fixture
def recorded() -> nke.Trajectories:
    """A random walk in units of very different size, with steps that differ."""
    rng = np.random.default_rng(0)
    states = (rng.standard_t(3, size=(40, 26, 2)) * [1e6, 1e-6]).cumsum(axis=1)
    return nke.Trajectories(states, np.cumsum(rng.uniform(0.5, 2.0, 26)))


def test_motion_size_is_free_of_units(recorded):
    seen = recorded.transitions()
    size = motion_size(seen.displacement, seen.step)
    np.testing.assert_allclose(motion_size(seen.displacement * [1e-9, 1e3], seen.step), size)
    np.testing.assert_array_equal(np.argsort(motion_size(seen.displacement, 7 * seen.step)), np.argsort(size))


def test_transitions_come_by_falling_size_of_their_motion(recorded):
    """To the 16 bits of the sort: neighbours may be out of order by 1e-3 of themselves."""
    to, seen = Coordinates.zscore(recorded), recorded.transitions()
    blocks = transition_blocks(seen, to, np.array([0, 1]), skew=2.0)
    steps = blocks.arrays
    assert (blocks.blocks, blocks.particles, blocks.skew) == (len(seen), 1, 2.0)
    size = motion_size(np.asarray(steps.displacement), np.asarray(steps.step))
    assert (size[1:] < size[:-1] * (1 + 1e-3)).all()
    np.testing.assert_allclose(np.sort(steps.x[:, 0]), np.sort(to.to(seen.x)[:, 0]), rtol=1e-6, atol=1e-6)


def test_samples_of_transitions(recorded):
    to, seen = Coordinates.zscore(recorded), recorded.transitions()
    blocks = transition_blocks(seen, to, np.array([0, 1]))
    data = TrainingData(blocks, blocks._replace(most_evaluated=100))
    assert len(data.sample(10_000).step) == len(seen)
    few = data.sample(100)
    np.testing.assert_array_equal(few.x[::99], blocks.arrays.x[:: len(seen) - 1])
    assert [len(part) for part in few] == [100] * 3
    assert isinstance(data.held_out_steps(), Steps)
    assert len(data.held_out_steps().step) == 100


def test_some_transitions_are_all_or_a_random_part_in_order(recorded):
    seen = recorded.transitions()
    assert some_transitions(seen, len(seen), 0) is seen
    first, second = (some_transitions(seen, 50, seed) for seed in (0, 1))
    assert len(first) == 50
    assert (first.x != second.x).any()
    where = [int(np.flatnonzero((seen.x == x).all(axis=1))[0]) for x in first.x]
    assert where == sorted(set(where))


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
