"""Trajectory flow matching: scalar noise, names and units, and the flow at an observation."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from known_paths import STEP
from nke.baselines.trajectory_flow_matching import Flow


def test_names_and_units(fitted):
    model = fitted("flow_matching").model
    assert (model.names, model.units, model.step) == (("east", "north"), ("m", "m"), pytest.approx(STEP))


def test_its_noise_is_a_multiple_of_the_identity(fitted):
    a = fitted("flow_matching").model.diffusion([[0.3, -0.7], [1.0, 0.0]])
    scale = fitted("flow_matching").model.coordinates.scale
    np.testing.assert_allclose(a[:, 0, 1], 0, atol=1e-12)
    np.testing.assert_allclose(a[:, 0, 0] / scale[0] ** 2, a[:, 1, 1] / scale[1] ** 2, rtol=1e-6)


def test_flow_at_observations():
    flow = Flow(jnp.array([1.0, 2.0]), jnp.array([[0.5, 0.0], [0.1, 0.4]]), 8, 2, key=jax.random.key(0))
    rng = np.random.default_rng(0)
    shaken = jax.tree.map(
        lambda leaf: (
            leaf + 0.3 * jnp.asarray(rng.standard_normal(leaf.shape), jnp.float32)
            if eqx.is_inexact_array(leaf)
            else leaf
        ),
        flow,
    )
    generator, x = shaken.at_observations(), jnp.array([0.4, -1.2])
    velocity, uncertainty = shaken(x, jnp.asarray(0.0))
    np.testing.assert_allclose(generator.advection.drift(x), velocity, rtol=1e-5)
    np.testing.assert_allclose(generator.diffusion.factor(x), uncertainty * np.eye(2), rtol=1e-5)
