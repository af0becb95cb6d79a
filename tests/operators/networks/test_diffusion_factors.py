"""Factors of the diffusion tensor: positive definite for any parameters, at the given tensor to begin with."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nke.operators import (
    ConstantFactor,
    DiagonalFactor,
    Diffusion,
    FullFactor,
    RelativeFactor,
)
from nke.operators.networks.triangular import FLOOR
from operator_cases import (
    at_each,
    random_network,
    random_states,
)

FACTOR_CLASSES = [FullFactor, DiagonalFactor, ConstantFactor]
START = np.array([[0.5, 0.0, 0.0], [0.2, 1.5, 0.0], [-0.3, 0.4, 2.0]])


def factor_of(kind, seed=0):
    return kind(jnp.asarray(START), 8, 1, key=jax.random.key(seed))


def tensors(network):
    return np.asarray(at_each(Diffusion(network).tensor, random_states()))


@pytest.mark.parametrize("kind", FACTOR_CLASSES)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_tensors_are_symmetric_positive_definite(kind, seed, double_precision):
    tensor = tensors(random_network(factor_of(kind), seed))
    np.testing.assert_allclose(tensor, np.swapaxes(tensor, -1, -2), rtol=1e-12)
    assert (np.linalg.eigvalsh(tensor) > 0).all()
    # Each diagonal entry of the factor is at least FLOOR times that of the start.
    assert (np.linalg.det(tensor) > (FLOOR**3 * np.diag(START).prod()) ** 2).all()


@pytest.mark.parametrize("kind", FACTOR_CLASSES)
def test_state_dependence_and_shape(kind):
    tensor = tensors(random_network(factor_of(kind), 0))
    spread = np.ptp(tensor, axis=0)
    off_diagonal = ~np.eye(3, dtype=bool)
    if kind is ConstantFactor:
        np.testing.assert_array_equal(spread, np.zeros((3, 3)))
    else:
        assert (np.diagonal(spread) > 1e-3).all()
    if kind is DiagonalFactor:
        np.testing.assert_array_equal(tensor[:, off_diagonal], 0)
    else:
        assert (np.abs(tensor[:, off_diagonal]) > 0).all()


@pytest.mark.parametrize("kind", FACTOR_CLASSES)
def test_training_begins_at_the_given_tensor(kind):
    """Heads at zero: a = (1 + FLOOR)² start startᵀ everywhere, its diagonal for diagonal noise."""
    truth = START @ START.T * (1 + FLOOR) ** 2
    if kind is DiagonalFactor:
        truth = np.diag(np.diag(truth))
    tensor = tensors(factor_of(kind))
    np.testing.assert_allclose(tensor, np.broadcast_to(truth, tensor.shape), rtol=1e-5, atol=1e-6)


def test_relative_noise_is_in_proportion_to_the_state():
    """g = √(c² + x²)·start as long as the network is at its start; x counted from the user's zero."""
    start, origin = jnp.array([[0.3, 0.0], [0.1, 0.2]]), jnp.array([-2.0, 1.0])
    factor = RelativeFactor(start, 8, 1, origin, jnp.full(2, 1e-3), key=jax.random.key(0))
    g = factor(origin + jnp.array([4.0, -3.0]))
    np.testing.assert_allclose(g, np.array([[4.0], [3.0]]) * start, rtol=2e-3)


def test_relative_noise_of_an_angle_does_not_follow_its_cosine():
    """The noise of a column is in proportion to it, that of an angle beside it is the same everywhere."""
    options = {"origin": jnp.zeros(3), "size": jnp.array([1.0, 1e-3, 1.0]), "noisy": (0, 1), "sizeless": (0, 2)}
    factor = RelativeFactor(0.2 * jnp.eye(2), 0, 0, **options, key=jax.random.key(0))
    here, there = (factor(jnp.array([np.cos(a), x, np.sin(a)])) for a, x in ((0.3, 2.0), (1.5, 4.0)))
    np.testing.assert_allclose(jnp.diag(there) / jnp.diag(here), [1.0, 2.0], rtol=1e-5)
    assert RelativeFactor.from_configuration(factor.configuration(), 3, 2).sizeless == (0, 2)
