"""Gaussian mixtures that tests share."""

import jax
import jax.numpy as jnp
import numpy as np

from nke.mixtures import GaussianMixture

ROUNDING = 1e-12  # relative, of sums of a few dozen products in float64
TWO_PEAKS = GaussianMixture([0.3, 0.7], [[-1.0], [2.0]], [[[0.25]], [[1.0]]])
PLANAR = GaussianMixture(
    [0.2, 0.5, 0.3],
    [[-1.0, 0.5], [1.0, 1.0], [0.0, -2.0]],
    [[[0.5, 0.2], [0.2, 0.4]], [[0.3, -0.1], [-0.1, 0.6]], [[1.0, 0.0], [0.0, 0.2]]],
)
ATOM_AND_BELL = GaussianMixture([0.6, 0.4], [[1.0, -2.0], [3.0, 0.0]], [np.zeros((2, 2)), np.eye(2)])


def random_mixture(d, components, seed, batch=()):
    """Weights away from zero, covariances with eigenvalues of order one."""
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.full(components, 3.0), batch)
    factors = rng.normal(size=(*batch, components, d, d)) / np.sqrt(d)
    covariances = factors @ np.matrix_transpose(factors) + 0.2 * np.eye(d)
    return GaussianMixture(weights, 2 * rng.normal(size=(*batch, components, d)), covariances)


def to_jax(mixture):
    """The same mixture as JAX arrays, in the precision that JAX has."""
    return jax.tree.map(jnp.asarray, mixture)
