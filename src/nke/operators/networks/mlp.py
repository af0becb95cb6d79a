"""Multilayer perceptrons as all networks here use them."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, PRNGKeyArray


def silu(x: Array) -> Array:
    """x·sigmoid(x), by a name that pickles find: that of JAX is not the function that stands under it.

    Args:
        x: Numbers.

    Returns:
        A number for each.
    """
    return jax.nn.silu(x)


def identity(x: Array) -> Array:
    """The number itself, likewise: equinox takes a function without a name.

    Args:
        x: Numbers.

    Returns:
        The same numbers.
    """
    return x


def zero_headed_mlp(inputs: int, outputs: int, width: int, depth: int, key: PRNGKeyArray) -> eqx.nn.MLP:
    """A SiLU network whose last layer starts at zero."""
    # Without a hidden layer nothing is random: each shape of random numbers needs a program of its own.
    made = partial(eqx.nn.MLP, inputs, outputs, width, depth, silu, identity, key=key)
    return eqx.tree_at(
        lambda m: m.layers[-1],
        made() if depth else eqx.filter_eval_shape(made),
        zero_linear(width if depth else inputs, outputs, key),
    )


def zero_linear(inputs: int, outputs: int, key: PRNGKeyArray) -> eqx.nn.Linear:
    """A linear layer of zeros."""
    layer = eqx.filter_eval_shape(eqx.nn.Linear, inputs, outputs, key=key)
    return jax.tree.map(lambda leaf: jnp.asarray(np.zeros(leaf.shape, leaf.dtype)), layer)


def with_outputs(mlp: eqx.nn.MLP, rows: Int[np.ndarray, " n"]) -> eqx.nn.MLP:
    """The network with some of its outputs."""
    last = mlp.layers[-1]
    assert last.bias is not None
    functions = (mlp.activation, mlp.final_activation)
    smaller = eqx.nn.MLP(mlp.in_size, len(rows), mlp.width_size, mlp.depth, *functions, key=jax.random.key(0))
    end = eqx.tree_at(lambda m: (m.weight, m.bias), smaller.layers[-1], (last.weight[rows], last.bias[rows]))
    return eqx.tree_at(lambda m: m.layers, smaller, (*mlp.layers[:-1], end))


def sizes(mlp: eqx.nn.MLP | None) -> dict[str, int]:
    """Width and depth, both 0 where there is no network."""
    return {"width": 0, "depth": 0} if mlp is None else {"width": mlp.width_size, "depth": mlp.depth}
