"""Limits of functions that were learned from data: no larger and no smaller than anywhere in it."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

Limits = tuple[tuple[float, float], ...]


def limits_of(values: Float[np.ndarray, "n o"]) -> Limits:
    """Lowest and highest value of each function over some states.

    Args:
        values: The values there.

    Returns:
        A pair for each function.
    """
    return tuple(zip(values.min(axis=0).tolist(), values.max(axis=0).tolist(), strict=True))


def limited(values: Float[Array, " o"], limits: Limits | None) -> Float[Array, " o"]:
    """The values, cut off where they leave their limits; None: there are none."""
    return values if limits is None else jnp.clip(values, *jnp.array(limits, values.dtype).T)


def stored_limits(limits: Limits | None) -> dict[str, list[list[float]]]:
    """An entry for a configuration; empty where there are none."""
    return {} if limits is None else {"limits": [list(pair) for pair in limits]}


def restored_limits(limits: list[list[float]] | None) -> Limits | None:
    """What ``stored_limits`` stored; None where there was none, as in older files."""
    return None if limits is None else tuple((float(low), float(high)) for low, high in limits)
