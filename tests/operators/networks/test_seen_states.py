"""States of the data that stand for all others."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nke.operators import SeenStates


@pytest.fixture
def ring() -> np.ndarray:
    """States on a ring of radius 1 to 1.2: its middle has not been seen."""
    rng = np.random.default_rng(0)
    angle, radius = rng.uniform(0, 2 * np.pi, 5000), rng.uniform(1, 1.2, 5000)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)


def test_every_state_of_the_data_stays_where_it_is(ring):
    moved = jax.vmap(SeenStates.of(ring).nearest)(jnp.asarray(ring, jnp.float32))
    np.testing.assert_allclose(moved, ring, atol=1e-6)


def test_other_states_are_led_to_the_data(ring):
    """No farther from it than the reach, by a search over all states of the data."""
    seen = SeenStates.of(ring)
    far = np.random.default_rng(1).uniform(-30, 30, (500, 2))
    led = np.asarray(jax.vmap(seen.nearest)(jnp.asarray(far, jnp.float32)))
    gap = np.linalg.norm(led[:, None] - ring, axis=-1).min(axis=1)
    assert gap.max() <= 1.01 * float(seen.reach.value)
    assert np.linalg.norm(np.asarray(seen.nearest(jnp.array([0.1, 0.0])))) > 0.9  # not the middle of the ring


def test_the_reach_is_the_farthest_any_state_is_from_those_taken(ring):
    seen = SeenStates.of(ring, most=20)
    gap = np.linalg.norm(ring[:, None] - np.asarray(seen.states.value), axis=-1).min(axis=1)
    np.testing.assert_allclose(gap.max(), float(seen.reach.value), rtol=1e-6)


def test_a_single_state_is_its_own_nearest():
    seen = SeenStates.of(np.ones((7, 2)))
    assert seen.nearest(jnp.array([4.0, -4.0])).tolist() == [1.0, 1.0]
