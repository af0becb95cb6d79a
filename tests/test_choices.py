"""What a fit decides by itself: noise, sub-steps, jumps and their law; and what it says about it."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from nke.model.evaluation import finer, sample

import nke
from nke.operators import (
    Advection,
    Diffusion,
    ForwardPacket,
    Generator,
    JumpNetwork,
    RelativeFactor,
    Strang,
    monomials,
)


class TestNoise:
    def test_relative_noise_is_in_proportion_to_the_state(self):
        """g = √(c² + x²)·start as long as the network is at its start; x counted from the user's zero."""
        start, origin = jnp.array([[0.3, 0.0], [0.1, 0.2]]), jnp.array([-2.0, 1.0])
        factor = RelativeFactor(start, 8, 1, origin, jnp.full(2, 1e-3), key=jax.random.key(0))
        g = factor(origin + jnp.array([4.0, -3.0]))
        np.testing.assert_allclose(g, np.array([[4.0], [3.0]]) * start, rtol=2e-3)


@pytest.mark.usefixtures("double_precision")
def test_substeps_bring_the_packet_closer_to_a_known_law():
    """dX = ½X dt + X dW over s = 0.5: mean e^{s/2} − 1, variance e^{s}(e^{s} − 1) of the displacement from 1.

    The rule is of first order in the variance for multiplicative noise, so halving the step must at least take
    away a third of its error.
    """
    drift, factor = (lambda x: 0.5 * x), (lambda x: x[:, None])
    generator = Generator(Advection(drift), Diffusion(factor), None)
    exact = np.expm1(0.25), np.exp(0.5) * np.expm1(0.5)
    errors = []
    for substeps in (1, 2, 4):
        law = ForwardPacket(substeps=substeps).displacement(generator, jnp.ones(1), jnp.asarray(0.5))
        errors.append([abs(float(law.mean[0]) - exact[0]), abs(float(law.covariance[0, 0]) - exact[1])])
    errors = np.array(errors)
    assert (errors[1:, 1] < 2 / 3 * errors[:-1, 1]).all(), errors
    assert errors[2, 0] < 1e-3


class TestDrift:
    def test_monomials(self):
        np.testing.assert_array_equal(monomials(np.array([2.0, 3.0]), 2), [2, 3, 4, 6, 9])


class TestJumps:
    def test_a_network_starts_at_a_law_and_drops_components(self):
        law = nke.GaussianMixture(
            np.array([0.5, 0.3, 0.2]),
            np.array([[3.0, 0.0], [-3.0, 1.0], [0.0, 4.0]]),
            np.array([[[1.0, 0.3], [0.3, 2.0]]] * 3),
        )
        network = JumpNetwork(jnp.array([2.0, 1.0]), 0.1 * jnp.eye(2), 1.5, 3, 8, 1, key=jax.random.key(0))
        rate, found = network.starting_from(law)(jnp.zeros(2))
        assert float(rate) == pytest.approx(1.5)
        for wanted, got in zip(jax.tree.leaves(law), jax.tree.leaves(found), strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)
        rate, found = network.starting_from(law).prune([0, 2])(jnp.zeros(2))
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
        (rate, whole), (same, part) = network(x), network.prune(keep)(x)
        assert float(same) == float(rate)
        np.testing.assert_allclose(part.weights, whole.weights[jnp.array(keep)] / (1 - whole.weights[1]), rtol=1e-5)
        np.testing.assert_allclose(part.means, whole.means[jnp.array(keep)], rtol=1e-5)
        np.testing.assert_allclose(part.covariances, whole.covariances[jnp.array(keep)], rtol=1e-5)
        assert bool((network(-x)[1].means == whole.means).all()) is not state_dependent_shapes


class TestSampling:
    def test_substeps_follow_the_noise(self):
        """Noise that changes by 30 % of itself over a step is cut until it changes by 20 %, additive noise is not."""
        z, step, key = jnp.linspace(0.5, 2.0, 400)[:, None], jnp.asarray(0.09), jax.random.key(0)
        still = Advection(lambda x: 0.0 * x)
        multiplicative = Generator(still, Diffusion(lambda x: x[:, None]), None)
        additive = Generator(still, Diffusion(lambda x: jnp.eye(1)), None)
        # The 90 % quantile of ξ² is 2.7 times its mean of one: 2.7 (0.3/0.2)² = 6.1, ± 0.9 over 400 states.
        assert 4 <= int(finer(multiplicative, z, step, key)) <= 9
        assert int(finer(additive, z, step, key)) == 1

    def test_a_superlinear_drift_does_not_explode(self):
        generator = Generator(Advection(lambda x: -(x**5)), Diffusion(lambda x: 0.1 * jnp.eye(1)), None)
        steps, counts = np.full(20, 0.5), np.ones(20, int)
        paths = sample(generator, Strang(), jnp.full((3, 1), 20.0), steps, counts, jax.random.key(0))
        assert np.isfinite(paths).all()
        assert np.abs(paths[-1]).max() < 20
