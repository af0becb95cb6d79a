"""Lower-triangular factors of covariances, with a diagonal that stays positive whatever a network gives."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from nke.arrays import tril_matrix

FLOOR = 1e-3  # smallest standard deviation, as a fraction of the data's own
BEND = 0.1  # how sharply a noise factor bends away from the straight line to stay positive


def positive(raw: Array) -> Array:
    """Softplus, shifted so that 0 maps to 1."""
    return jax.nn.softplus(raw + np.log(np.expm1(1.0)))


def nearly_linear(raw: Array) -> Array:
    """(u + √(u² + b))/2, shifted so that 0 maps to 1: positive, and close to 1 + raw where it can be.

    Noise in proportion to the state is then almost within reach of a linear skip.
    """
    u = raw + 1 - BEND / 4
    return (u + jnp.sqrt(u**2 + BEND)) / 2


def lower_factor(raw: Float[Array, " n"], d: int, positive: Callable[[Array], Array] = positive) -> Float[Array, "d d"]:
    """The lower-triangular factor of d(d+1)/2 numbers, its diagonal made positive; raw = 0 is the identity."""
    lower = tril_matrix(raw, d)
    diagonal = jnp.diagonal(lower)
    return lower - jnp.diag(diagonal) + jnp.diag(positive(diagonal) + FLOOR)
