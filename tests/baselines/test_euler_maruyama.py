"""Euler–Maruyama: a diagonal noise matrix, simulated by the rule that it was fitted by."""

import jax.numpy as jnp
import numpy as np

from nke.operators import Euler, EulerMaruyamaRule, Noise


def test_its_noise_is_diagonal(fitted):
    np.testing.assert_allclose(fitted("euler_maruyama").model.diffusion([[0.3, -0.7]])[:, 0, 1], 0, atol=1e-12)


def test_euler_draws_from_its_rule(fitted):
    generator = fitted("euler_maruyama").model.generator
    x, xi, step = jnp.array([0.5, -0.2]), jnp.array([1.0, -2.0]), 0.3
    law = EulerMaruyamaRule().displacement(generator, x, step)
    moved = Euler().move(generator, x, step, Noise(xi, jnp.asarray(0.5), xi, jnp.ones(1))) - x
    expected = law.means[0] + jnp.linalg.cholesky(law.covariances[0]) @ xi
    np.testing.assert_allclose(moved, expected, rtol=1e-4)
