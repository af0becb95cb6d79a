"""Which arrays of a network training may change."""

import equinox as eqx
import jax
from jaxtyping import Array, PyTree


class Fixed(eqx.Module):
    """An array that belongs to a network but is not trained.

    Attributes:
        value: The array.

    Example:
        >>> import jax.numpy as jnp
        >>> nke.operators.trainable({"weight": jnp.ones(2), "scale": nke.operators.Fixed(jnp.ones(2))})
        {'scale': False, 'weight': True}
    """

    value: Array


def trainable(network: PyTree) -> PyTree:
    """Tells the arrays that training may change from all else.

    Args:
        network: A network, an operator, a generator, or any tree of them.

    Returns:
        A mask for ``equinox.partition``: True for inexact arrays, False for ``Fixed`` and for what is no array.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> network = nke.operators.DriftNetwork(jnp.ones(1), width=4, depth=0, key=jax.random.key(0))
        >>> mask = nke.operators.trainable(network)
        >>> mask.body.skip.weight, mask.scale
        (True, False)
    """
    return jax.tree.map(eqx.is_inexact_array, network, is_leaf=lambda leaf: isinstance(leaf, Fixed))
