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


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_trigonometric_polynomials_are_independent(degree):
    """Of cosine and sine without sin²: 2 · degree functions, which span cos kθ and sin kθ."""
    angle = np.linspace(0, 2 * np.pi, 50, endpoint=False)
    x = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    terms = np.column_stack([np.ones(50), monomials(x, degree, ((0, 1),))])
    assert terms.shape[1] == np.linalg.matrix_rank(terms) == 1 + 2 * degree
    for k in range(1, degree + 1):
        for wave in (np.cos(k * angle), np.sin(k * angle)):
            assert np.linalg.lstsq(terms, wave, rcond=None)[1][0] < 1e-20
