"""Which arrays of every network are trained."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nke.operators import (
    ConstantFactor,
    DiagonalFactor,
    DriftNetwork,
    Fixed,
    FullFactor,
    JumpNetwork,
    MixtureDensityNetwork,
    trainable,
)
from operator_cases import (
    random_network,
)

FACTOR_CLASSES = [FullFactor, DiagonalFactor, ConstantFactor]
START = np.array([[0.5, 0.0, 0.0], [0.2, 1.5, 0.0], [-0.3, 0.4, 2.0]])


@pytest.mark.parametrize(
    ("build", "fixed"),
    [
        (lambda key: DriftNetwork(jnp.ones(3), 8, 1, key=key), 1),
        *((lambda key, kind=kind: kind(jnp.asarray(START), 8, 1, key=key), 1) for kind in FACTOR_CLASSES),
        (lambda key: MixtureDensityNetwork(jnp.ones(3), 0.1, 2, 8, 1, key=key), 1),
        (lambda key: JumpNetwork(jnp.ones(3), 0.1 * jnp.eye(3), 1.0, 2, 8, 1, key=key), 3),
    ],
    ids=["drift", "full", "diagonal", "constant", "mixture density", "jump"],
)
def test_fixed_arrays_are_not_trained(build, fixed):
    """The gradient reaches every free array and no ``Fixed`` one."""
    network = build(jax.random.key(0))
    free, rest = eqx.partition(network, trainable(network))
    arrays = jax.tree.leaves(eqx.filter(network, eqx.is_inexact_array))
    held = [
        leaf.value
        for leaf in jax.tree.leaves(network, is_leaf=lambda leaf: isinstance(leaf, Fixed))
        if isinstance(leaf, Fixed)
    ]
    assert len(held) == fixed
    kept_back = jax.tree.leaves(eqx.filter(rest, eqx.is_inexact_array))
    for array, other in zip(held, kept_back, strict=True):
        np.testing.assert_array_equal(array, other)
    assert len(jax.tree.leaves(free)) == len(arrays) - fixed
    drawn = eqx.partition(random_network(network, 5), trainable(network))[0]

    def loss(free):
        return sum(jnp.sum(jnp.sin(leaf)) for leaf in jax.tree.leaves(eqx.combine(free, rest)(jnp.ones(3))))

    gradients = jax.tree.leaves(jax.jit(jax.grad(loss))(drawn))
    assert len(gradients) == len(arrays) - fixed
    assert all(np.abs(gradient).max() > 0 for gradient in gradients)
