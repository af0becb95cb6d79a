"""Linear algebra on batches of small matrices.

LAPACK calls on batches of 3×3 matrices are slow under XLA, so factorisations are unrolled up to
``LARGEST_UNROLLED`` rows; beyond that the library's own routine is used.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Shaped

from nke.arrays.namespace import Array, namespace

LARGEST_UNROLLED = 8
LEAST_PIVOT = 0.25  # of ``inverse``, whose matrices are near the identity


def symmetrise(a: Shaped[Array, "*batch d d"]) -> Shaped[Array, "*batch d d"]:
    """Averages a with its transpose."""
    return (a + namespace(a).matrix_transpose(a)) / 2


def outer(x: Shaped[Array, "*batch m"], y: Shaped[Array, "*batch n"]) -> Shaped[Array, "*batch m n"]:
    """Multiplies two vectors to the matrix x yᵀ."""
    return x[..., :, None] * y[..., None, :]


def tril_matrix(entries: Shaped[Array, "*batch n"], d: int) -> Shaped[Array, "*batch d d"]:
    """Fills a lower-triangular matrix with its d(d+1)/2 entries, row by row."""
    xp = namespace(entries)
    zero = xp.zeros_like(entries[..., 0])
    rows = [
        xp.stack([entries[..., i * (i + 1) // 2 + j] if j <= i else zero for j in range(d)], axis=-1) for i in range(d)
    ]
    return xp.stack(rows, axis=-2)


def cholesky(a: Float[Array, "*batch d d"]) -> Float[Array, "*batch d d"]:
    """Factorises a = L Lᵀ with L lower triangular, for positive semi-definite ``a``.

    A vanishing pivot gives a zero column (exact for a semi-definite matrix) with zero gradient.
    """
    xp, d = namespace(a), a.shape[-1]
    if d > LARGEST_UNROLLED and xp is not np:
        return _ridged_cholesky(a)
    tiny = xp.finfo(a.dtype).tiny
    lower: list[list] = [[None] * d for _ in range(d)]
    for j in range(d):
        pivot = a[..., j, j] - sum(lower[j][k] ** 2 for k in range(j))
        # Rounding leaves a pivot of about eps·a_jj where the exact one is zero.
        positive = pivot > xp.maximum(4 * xp.finfo(a.dtype).eps * a[..., j, j], tiny)
        root = xp.sqrt(xp.where(positive, pivot, 1.0))
        lower[j][j] = xp.where(positive, root, 0.0)
        for i in range(j + 1, d):
            entry = a[..., i, j] - sum(lower[i][k] * lower[j][k] for k in range(j))
            lower[i][j] = xp.where(positive, entry / root, 0.0)
    entries = [lower[i][j] for i in range(d) for j in range(i + 1)]
    return tril_matrix(xp.stack(entries, axis=-1), d)


def _ridged_cholesky(a: Float[jax.Array, "*batch d d"]) -> Float[jax.Array, "*batch d d"]:
    """Factorises by LAPACK, lifted by a few units of rounding so that a singular matrix has a factor too."""
    d = a.shape[-1]
    top = jnp.max(jnp.diagonal(a, axis1=-2, axis2=-1), axis=-1)[..., None, None]
    point, eye = top <= 0, jnp.eye(d, dtype=a.dtype)
    ridge = 10 * d * jnp.finfo(a.dtype).eps * top * eye
    return jnp.where(point, 0.0, jnp.linalg.cholesky(jnp.where(point, eye, a + ridge)))


def solve_lower(lower: Float[Array, "*batch d d"], b: Float[Array, "*batch d"]) -> Float[Array, "*batch d"]:
    """Solves L u = b by forward substitution."""
    xp = namespace(b)
    u: list = []
    for i in range(b.shape[-1]):
        u.append((b[..., i] - sum(lower[..., i, k] * u[k] for k in range(i))) / lower[..., i, i])
    return xp.stack(u, axis=-1)


def log_normal_density(
    residual: Float[Array, "*#batch d"], covariance: Float[Array, "*#batch d d"]
) -> Float[Array, "*#batch"]:
    """Returns log G_{0,Σ}(r); the covariance must be positive definite."""
    if isinstance(residual, np.ndarray):
        return _log_density(residual, covariance)[0]
    return _log_density_jax(residual, covariance)


def _log_density(residual: Array, covariance: Array) -> tuple[Array, Array, Array]:
    """Returns log G_{0,Σ}(r), the inverse factor L⁻¹ and L⁻¹r."""
    xp = namespace(residual)
    d = residual.shape[-1]
    inverse = inverse_lower(cholesky(covariance))
    white = xp.sum(inverse * residual[..., None, :], axis=-1)
    log_volume = -sum(xp.log(inverse[..., i, i]) for i in range(d))
    value = -0.5 * xp.sum(white**2, axis=-1) - log_volume - 0.5 * d * math.log(2 * math.pi)
    return xp.asarray(value), inverse, white


def inverse_lower(lower: Float[Array, "*batch d d"]) -> Float[Array, "*batch d d"]:
    """Inverts a lower-triangular matrix."""
    xp, d = namespace(lower), lower.shape[-1]
    if d > LARGEST_UNROLLED and xp is not np:
        eye = jnp.broadcast_to(jnp.eye(d, dtype=lower.dtype), lower.shape)
        return jax.scipy.linalg.solve_triangular(lower, eye, lower=True)
    columns = [solve_lower(lower, xp.broadcast_to(xp.eye(d, dtype=lower.dtype)[j], lower.shape[:-1])) for j in range(d)]
    return xp.stack(columns, axis=-1)


@jax.custom_jvp
def inverse(a: Float[jax.Array, "*batch d d"]) -> Float[jax.Array, "*batch d d"]:
    """Inverts by elimination without exchange of rows, for matrices like I − A whose pivots should be near one.

    A pivot below ``LEAST_PIVOT`` is raised to it, so that the result is bounded also where a is singular.
    """
    d = a.shape[-1]
    if d > LARGEST_UNROLLED:
        return jnp.linalg.inv(a)
    eye = jnp.broadcast_to(jnp.eye(d, dtype=a.dtype), a.shape)
    rows = [jnp.concatenate([a[..., i, :], eye[..., i, :]], axis=-1) for i in range(d)]
    for j in range(d):
        rows[j] = rows[j] / jnp.maximum(rows[j][..., j], LEAST_PIVOT)[..., None]
        rows = [row if i == j else row - row[..., j, None] * rows[j] for i, row in enumerate(rows)]
    return jnp.stack([row[..., d:] for row in rows], axis=-2)


@inverse.defjvp
def _inverse_tangent(primals, tangents):
    """Returns d a⁻¹ = −a⁻¹ da a⁻¹: cheaper to transpose than the elimination."""
    value = inverse(*primals)
    return value, -value @ tangents[0] @ value


@jax.custom_jvp
def _log_density_jax(residual: Array, covariance: Array) -> Array:
    return _log_density(residual, covariance)[0]


@_log_density_jax.defjvp
def _log_density_tangent(primals, tangents):
    """Returns d log G = −uᵀdr + ½ uᵀ dΣ u − ½ tr(Σ⁻¹ dΣ), u = Σ⁻¹r: cheaper to transpose than the factorisation."""
    value, inverse, white = _log_density(*primals)
    u = jnp.sum(inverse * white[..., :, None], axis=-2)
    precision = jnp.swapaxes(inverse, -1, -2) @ inverse
    slope = (outer(u, u) - precision) / 2
    return value, jnp.sum(-u * tangents[0], axis=-1) + jnp.sum(slope * tangents[1], axis=(-2, -1))
