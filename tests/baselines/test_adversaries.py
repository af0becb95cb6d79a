"""The critic of the SDE-GAN."""

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from nke.baselines.adversaries import Critic


def test_no_layer_of_the_critic_enlarges_beyond_its_bound():
    critic = jax.tree.map(
        lambda leaf: 9 * leaf if eqx.is_inexact_array(leaf) else leaf, Critic(2, 8, key=jax.random.key(0))
    ).clipped(3.0)
    for layer in (critic.initial.layers[0], critic.control.layers[-1], critic.readout):
        assert jnp.max(jnp.abs(layer.weight)) * layer.weight.shape[1] == pytest.approx(3.0)
