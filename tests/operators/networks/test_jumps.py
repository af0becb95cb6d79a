"""Networks of jump laws: where they start, what pruning keeps, and jumps no smaller than the noise."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nke.mixtures import GaussianMixture
from nke.operators import (
    JumpNetwork,
    MixtureDensityNetwork,
)
from nke.operators.networks.triangular import FLOOR
from operator_cases import (
    at_each,
    mixture_density_network,
    random_states,
)


class TestMixtureDensityNetwork:
    def test_begins_at_the_given_probability(self):
        network = MixtureDensityNetwork(jnp.asarray([1.0, 2.0]), 0.2, 3, 8, 1, key=jax.random.key(0))
        head = jax.tree.map(np.asarray, at_each(network, random_states(d=2)))
        np.testing.assert_allclose(np.exp(head.log_no_jump), 0.8, rtol=1e-5)
        np.testing.assert_allclose(head.shares, 1 / 3, rtol=1e-6)
        truth = (1 + FLOOR) ** 2 * np.diag([1.0, 4.0])
        np.testing.assert_allclose(head.covariances, np.broadcast_to(truth, (16, 3, 2, 2)), rtol=1e-5)
        assert len(np.unique(head.means[0, :, 0])) == 3

    def test_is_a_mixture_for_any_parameters(self):
        head = jax.tree.map(np.asarray, at_each(mixture_density_network(seed=3), random_states(d=2)))
        assert (head.log_no_jump < 0).all()
        np.testing.assert_allclose(head.shares.sum(axis=-1), 1, atol=1e-6)
        # det γ is the squared product of the factor's diagonal, each at least FLOOR·scale.
        assert (np.linalg.det(head.covariances.astype(np.float64)) > (FLOOR**2 * 2) ** 2).all()

    @pytest.mark.parametrize("keep", [[0, 2], [1], [2, 0]])
    def test_pruning_keeps_the_kept(self, keep):
        """Same no-jump weight, means and covariances; shares divided by what is left."""
        network = mixture_density_network(seed=1)
        smaller = network.prune(keep)
        assert smaller.components == len(keep)
        before, after = (jax.tree.map(np.asarray, at_each(n, random_states(d=2))) for n in (network, smaller))
        shares = before.shares[:, keep]
        np.testing.assert_allclose(after.log_no_jump, before.log_no_jump, rtol=1e-5)
        np.testing.assert_allclose(after.shares, shares / shares.sum(axis=-1, keepdims=True), rtol=1e-5)
        np.testing.assert_allclose(after.means, before.means[:, keep], rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(after.covariances, before.covariances[:, keep], rtol=1e-4, atol=1e-4)


@eqx.filter_jit
def at(network, x):
    """Rate and law at one state, compiled."""
    return network(x)


class TestJumpNetwork:
    def test_a_network_starts_at_a_law_and_drops_components(self):
        law = GaussianMixture(
            np.array([0.5, 0.3, 0.2]),
            np.array([[3.0, 0.0], [-3.0, 1.0], [0.0, 4.0]]),
            np.array([[[1.0, 0.3], [0.3, 2.0]]] * 3),
        )
        network = JumpNetwork(jnp.array([2.0, 1.0]), 0.1 * jnp.eye(2), 1.5, 3, 8, 1, key=jax.random.key(0))
        rate, found = at(network.starting_from(law), jnp.zeros(2))
        assert float(rate) == pytest.approx(1.5)
        for wanted, got in zip(jax.tree.leaves(law), jax.tree.leaves(found), strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)
        rate, found = at(network.starting_from(law).prune([0, 2]), jnp.zeros(2))
        assert float(rate) == pytest.approx(1.5)
        np.testing.assert_allclose(found.weights, [5 / 7, 2 / 7], rtol=1e-5)
        np.testing.assert_allclose(found.means, law.means[[0, 2]], atol=1e-5)

    @pytest.mark.parametrize("state_dependent_shapes", [False, True])
    def test_pruning_changes_nothing_for_the_components_kept(self, state_dependent_shapes):
        network = JumpNetwork(
            jnp.ones(2), 0.1 * jnp.eye(2), 1.5, 3, 8, 1, state_dependent_shapes, key=jax.random.key(0)
        )
        last = jax.random.normal(jax.random.key(1), network.mlp.layers[-1].weight.shape)
        network = eqx.tree_at(lambda n: n.mlp.layers[-1].weight, network, last)
        x, keep = jnp.array([0.3, -0.7]), [2, 0]
        (rate, whole), (same, part) = at(network, x), at(network.prune(keep), x)
        assert float(same) == float(rate)
        np.testing.assert_allclose(part.weights, whole.weights[jnp.array(keep)] / (1 - whole.weights[1]), rtol=1e-5)
        np.testing.assert_allclose(part.means, whole.means[jnp.array(keep)], rtol=1e-5)
        np.testing.assert_allclose(part.covariances, whole.covariances[jnp.array(keep)], rtol=1e-5)
        assert bool((at(network, -x)[1].means == whole.means).all()) is not state_dependent_shapes

    def test_a_jump_is_never_smaller_than_the_noise_of_a_step(self):
        noise = jnp.array([[0.5, 0.0], [0.2, 0.3]])
        network = JumpNetwork(jnp.full(2, 1e-3), noise, 1.0, 3, 8, 1, key=jax.random.key(0))
        np.testing.assert_allclose(eqx.filter_jit(network.size_over_noise)(jnp.zeros(2)), 1.0, rtol=1e-5)
        large = JumpNetwork(jnp.full(2, 5.0), noise, 1.0, 1, 8, 1, key=jax.random.key(0))
        _, law = at(large, jnp.zeros(2))
        np.testing.assert_allclose(law.means, 0)
        np.testing.assert_allclose(law.covariances[0], (5.0 * (1 + 1e-3)) ** 2 * np.eye(2), rtol=1e-6)
