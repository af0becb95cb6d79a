"""Linear algebra of small matrices against NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nke.arrays import inverse
from nke.arrays.linear_algebra import LEAST_PIVOT


@pytest.mark.usefixtures("double_precision")
@pytest.mark.parametrize("d", [1, 2, 3, 6, 9])
def test_inverse_near_the_identity(d):
    a = np.eye(d) + 0.2 * np.random.default_rng(d).normal(size=(5, d, d)) / np.sqrt(d)
    np.testing.assert_allclose(inverse(jnp.asarray(a)), np.linalg.inv(a), rtol=1e-10, atol=1e-12)


@pytest.mark.usefixtures("double_precision")
def test_gradient_of_the_inverse():
    a = jnp.asarray(np.eye(3) + 0.2 * np.random.default_rng(0).normal(size=(3, 3)))
    change = 1e-6 * np.random.default_rng(1).normal(size=(3, 3))
    _, tangent = jax.jvp(inverse, (a,), (jnp.asarray(change),))
    np.testing.assert_allclose(tangent, (inverse(a + change) - inverse(a - change)) / 2, rtol=1e-6, atol=1e-14)


def test_the_inverse_of_a_singular_matrix_is_bounded():
    a = jnp.zeros((2, 2))
    np.testing.assert_allclose(inverse(a), np.eye(2) / LEAST_PIVOT)
