"""Array types and the small linear algebra that every layer uses."""

from nke.arrays.compilation import compiled
from nke.arrays.linear_algebra import (
    cholesky,
    inverse,
    inverse_lower,
    log_normal_density,
    outer,
    solve_lower,
    symmetrise,
    tril_matrix,
)
from nke.arrays.namespace import Array, as_numbers, namespace

__all__ = [
    "Array",
    "as_numbers",
    "cholesky",
    "compiled",
    "inverse",
    "inverse_lower",
    "log_normal_density",
    "namespace",
    "outer",
    "solve_lower",
    "symmetrise",
    "tril_matrix",
]
