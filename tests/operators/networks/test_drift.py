"""The drift network: zero to begin with, or a polynomial; in units of its scale."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nke.operators import (
    DriftNetwork,
    monomials,
)
from operator_cases import (
    at_each,
    random_network,
    random_states,
)


def test_begins_at_zero_and_carries_its_scale():
    scale = np.array([1.0, 10.0, 0.1])
    network = DriftNetwork(jnp.asarray(scale), 8, 1, key=jax.random.key(0))
    np.testing.assert_array_equal(at_each(network, random_states()), np.zeros((16, 3)))
    drawn = random_network(network, 0)
    unit = eqx.tree_at(lambda n: n.scale.value, drawn, jnp.ones(3))
    values = [np.asarray(at_each(n, random_states())) for n in (drawn, unit)]
    np.testing.assert_allclose(values[0], scale * values[1], rtol=1e-5)
    assert np.ptp(values[1], axis=0).min() > 0.1


@pytest.mark.parametrize("degree", [1, 2])
def test_starts_at_a_polynomial(degree):
    rng = np.random.default_rng(0)
    x = rng.normal(size=2)
    terms = monomials(x, degree)
    constant, slopes = np.array([0.5, -1.0]), rng.normal(size=(2, len(terms)))
    drift = DriftNetwork(jnp.array([2.0, 3.0]), 8, 1, degree, key=jax.random.key(0))
    drift = drift.starting_from(jnp.asarray(constant), jnp.asarray(slopes))
    np.testing.assert_allclose(drift(jnp.asarray(x, jnp.float32)), constant + slopes @ terms, rtol=1e-5)


class TestSeenStates:
    """f = 2·x³, seen from −1 to 1."""

    @pytest.fixture
    def free(self) -> DriftNetwork:
        drift = DriftNetwork(jnp.array([2.0]), 0, 0, 3, key=jax.random.key(0))
        return drift.starting_from(jnp.zeros(1), jnp.array([[0.0, 0.0, 2.0]]))

    @pytest.fixture
    def seen(self, free) -> DriftNetwork:
        return free.within(np.linspace(-1, 1, 1001)[:, None])

    def test_change_nothing_where_the_data_has_been(self, free, seen):
        x = np.linspace(-1, 1, 1001)[:, None]
        np.testing.assert_array_equal(at_each(seen, x), at_each(free, x))

    def test_hold_the_drift_beyond(self, seen):
        np.testing.assert_allclose(at_each(seen, np.array([[-100.0], [5.0]])), [[-2.0], [2.0]], rtol=1e-6)

    def test_are_stored(self, seen):
        again = DriftNetwork.from_configuration(seen.configuration(), inputs=1, outputs=1)
        assert again.configuration() == seen.configuration()
        assert again.seen.states.value.shape == seen.seen.states.value.shape
