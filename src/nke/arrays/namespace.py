"""One formula for NumPy and JAX: the array itself says which library computes with it.

User-facing arithmetic runs in float64 NumPy, training in float32 JAX; formulas that both need
(a Gaussian density, the drift of a known system) are written once against the array API.
"""

from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from numpy.typing import ArrayLike

from nke.errors import InputTypeError

if TYPE_CHECKING:
    Array = Any  # of either library; the checker cannot follow which
else:
    Array = jax.Array | np.ndarray


def namespace(x: Array) -> Any:
    """Returns the library (``numpy`` or ``jax.numpy``) that ``x`` belongs to."""
    return np if isinstance(x, np.ndarray | np.generic) else x.__array_namespace__()


def as_numbers(x: ArrayLike, what: str) -> Array:
    """Returns JAX arrays as they are, anything else as float64 NumPy; refuses what is not a real number."""
    if isinstance(x, jax.Array):
        return x
    array = np.asarray(x)
    if array.dtype.kind not in "fiub":
        raise InputTypeError(
            f"expected {what} to be real numbers, but got data of type {array.dtype}; "
            "convert it to float (for complex data, pass real and imaginary parts as two coordinates)"
        )
    return array.astype(np.float64)
