"""Monomials in their order, for NumPy and JAX alike."""

import jax.numpy as jnp
import numpy as np
import pytest

from nke.operators import (
    monomial_degrees,
    monomial_variables,
    monomials,
)


def test_monomials():
    np.testing.assert_array_equal(monomials(np.array([2.0, 3.0]), 2), [2, 3, 4, 6, 9])


@pytest.mark.parametrize("degree", [0, 1, 3])
def test_variables_and_degrees_tell_of_the_monomials(degree):
    """Each monomial is the product of its variables, and has as many as its degree says."""
    x = np.random.default_rng(0).normal(size=(5, 3))
    variables = [v for same in monomial_variables(3, degree) for v in same]
    products = np.stack([x[:, list(v)].prod(axis=1) for v in variables], axis=1) if variables else x[:, :0]
    np.testing.assert_allclose(monomials(x, degree), products, rtol=1e-12)
    assert monomial_degrees(3, degree).tolist() == [len(v) for v in variables]
    assert monomials(jnp.asarray(x), degree).shape == products.shape
