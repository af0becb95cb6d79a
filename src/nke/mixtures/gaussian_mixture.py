"""The type of a (batch of) Gaussian mixture(s), p(x) = Σ_k π_k G_{μ_k,Σ_k}(x)."""

from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float

from nke.arrays import Array, as_numbers, cholesky, log_normal_density, namespace, outer
from nke.errors import InputError
from nke.mixtures.expectation_maximisation import maximum_likelihood


class GaussianMixture(eqx.Module):
    """A Gaussian mixture, or a batch of them: leading axes are batch axes.

    A zero covariance is allowed and means a point mass (the "no jump" part of a jump law).
    NumPy in, float64 NumPy out; with JAX arrays every method can be traced and differentiated.

    >>> mixture = GaussianMixture([0.9, 0.1], [[0.0], [1.0]], [[[0.01]], [[0.04]]])
    >>> float(round(mixture.mean[0], 3)), float(round(mixture.covariance[0, 0], 3))
    (0.1, 0.103)
    """

    weights: Float[Array, "*batch k"]
    means: Float[Array, "*batch k d"]
    covariances: Float[Array, "*batch k d d"]

    def __init__(self, weights: Any, means: Any, covariances: Any):
        self.weights = as_numbers(weights, "weights")
        self.means = as_numbers(means, "means")
        self.covariances = as_numbers(covariances, "covariances")

    def __check_init__(self):
        *batch, k, d = self.means.shape if self.means.ndim >= 2 else (0, 0, 0)
        if self.means.ndim < 2 or self.weights.shape != (*batch, k):
            raise InputError(
                f"expected weights (..., K) and means (..., K, d), but got shapes {self.weights.shape} "
                f"and {self.means.shape}; a 1-D mixture of two components has means of shape (2, 1)"
            )
        if self.covariances.shape != (*batch, k, d, d):
            raise InputError(
                f"expected covariances of shape {(*batch, k, d, d)}, but got {self.covariances.shape}; "
                "pass full matrices (variances, not standard deviations)"
            )
        if isinstance(self.weights, np.ndarray):
            self._check_values()

    def _check_values(self):
        for name in ("weights", "means", "covariances"):
            if not np.isfinite(getattr(self, name)).all():
                raise InputError(f"expected finite {name}, but got NaN or infinity")
        if (self.weights < 0).any() or not np.allclose(self.weights.sum(-1), 1.0, rtol=0, atol=1e-5):
            raise InputError(f"expected weights ≥ 0 that sum to 1, but got {self.weights}; divide by their sum")
        scale = np.abs(self.covariances).max(axis=(-2, -1), initial=0.0)[..., None]
        asymmetry = np.abs(self.covariances - np.matrix_transpose(self.covariances))
        if (asymmetry > 1e-5 * scale[..., None]).any():
            raise InputError("expected symmetric covariances; use (C + C.T) / 2 if rounding broke the symmetry")
        if (np.linalg.eigvalsh(np.asarray(self.covariances)) < -1e-5 * scale).any():
            raise InputError("expected positive semi-definite covariances, but one has a negative eigenvalue")

    @classmethod
    def point(cls, x: Float[Array, "*batch d"]) -> "GaussianMixture":
        """δ_x as a mixture: one component of zero width."""
        xp = namespace(x)
        return cls(xp.ones_like(x[..., :1]), x[..., None, :], xp.zeros_like(outer(x, x)[..., None, :, :]))

    @classmethod
    def fit(cls, points: Any, components: int, seed: int = 0) -> "GaussianMixture":
        """The projection Π_K of an empirical measure: moments for K = 1, maximum likelihood for K > 1."""
        points = np.asarray(as_numbers(points, "points"))
        if points.ndim != 2 or not np.isfinite(points).all():
            raise InputError(f"expected finite points of shape (n, d), but got shape {points.shape}")
        if not 1 <= components <= len(points):
            raise InputError(f"expected 1 to {len(points)} components for {len(points)} points, got {components}")
        if components == 1:
            centred = points - points.mean(axis=0)
            return cls([1.0], points.mean(axis=0)[None], (centred.T @ centred / len(points))[None])
        return cls(*maximum_likelihood(points, components, seed))

    @property
    def components(self) -> int:
        return self.means.shape[-2]

    @property
    def dimension(self) -> int:
        return self.means.shape[-1]

    @property
    def mean(self) -> Float[Array, "*batch d"]:
        return (self.weights[..., None] * self.means).sum(axis=-2)

    @property
    def covariance(self) -> Float[Array, "*batch d d"]:
        centred = self.means - self.mean[..., None, :]
        spread = self.covariances + outer(centred, centred)
        return (self.weights[..., None, None] * spread).sum(axis=-3)

    def moments(self) -> tuple[Float[Array, "*batch d"], Float[Array, "*batch d d"]]:
        """Mean and covariance: the projection Π₁ of the mixture."""
        return self.mean, self.covariance

    def log_prob(self, x: Any) -> Float[Array, "*points"]:
        """log p(x) for x of shape (..., d); leading axes broadcast against the batch of the mixture."""
        x = as_numbers(x, "x")
        if x.shape[-1:] != (self.dimension,):
            raise InputError(f"expected points of shape (..., {self.dimension}), but got {x.shape}")
        if isinstance(self.weights, np.ndarray):
            self._refuse_point_masses()
        xp = namespace(self.means)
        density = log_normal_density(x[..., None, :] - self.means, self.covariances)
        log_weights = xp.log(xp.where(self.weights > 0, self.weights, 1.0))
        present = (self.weights > 0) & ~xp.any(xp.isinf(x), axis=-1)[..., None]
        return _log_sum_exp(xp.where(present, log_weights + density, -xp.inf))

    def _refuse_point_masses(self):
        diagonal = np.diagonal(cholesky(self.covariances), axis1=-2, axis2=-1)
        if ((diagonal <= 0).any(axis=-1) & (self.weights > 0)).any():
            raise InputError(
                "a component with singular covariance has no density; convolve the mixture with a Gaussian first"
            )

    def sample(self, count: int, seed: int | np.random.Generator) -> Float[np.ndarray, "count *batch d"]:
        """``count`` draws from each mixture of the batch."""
        rng = np.random.default_rng(seed)
        weights, means = np.asarray(self.weights), np.asarray(self.means)
        lower = cholesky(np.asarray(self.covariances))
        batch = weights.shape[:-1]
        cumulative = np.cumsum(weights, axis=-1)
        uniform = rng.random((count, *batch, 1)) * cumulative[..., -1:]
        choice = np.minimum((uniform >= cumulative).sum(axis=-1), self.components - 1)
        index = (*np.ix_(np.arange(count), *map(np.arange, batch))[1:], choice) if batch else choice
        noise = rng.standard_normal((count, *batch, self.dimension))
        return means[index] + (lower[index] @ noise[..., None])[..., 0]

    def convolve(self, other: "GaussianMixture") -> "GaussianMixture":
        """Law of the sum of two independent variables: weights multiply, means and covariances add."""
        if self.dimension != other.dimension:
            raise InputError(f"expected a mixture of dimension {self.dimension}, but got dimension {other.dimension}")
        xp = namespace(self.means)
        weights = self.weights[..., :, None] * other.weights[..., None, :]
        means = self.means[..., :, None, :] + other.means[..., None, :, :]
        covariances = self.covariances[..., :, None, :, :] + other.covariances[..., None, :, :, :]
        k, d = self.components * other.components, self.dimension
        return GaussianMixture(
            xp.reshape(weights, (*weights.shape[:-2], k)),
            xp.reshape(means, (*means.shape[:-3], k, d)),
            xp.reshape(covariances, (*covariances.shape[:-4], k, d, d)),
        )

    def marginal(self, *axes: int) -> "GaussianMixture":
        """Law of the chosen coordinates, in the order given."""
        index = np.asarray(axes)
        return GaussianMixture(
            self.weights, self.means[..., index], self.covariances[..., index[:, None], index[None, :]]
        )

    def affine(self, shift: Float[Array, " d"], scale: Float[Array, " d"]) -> "GaussianMixture":
        """Law of shift + scale·X, coordinate by coordinate: a change of units."""
        return GaussianMixture(self.weights, shift + scale * self.means, self.covariances * outer(scale, scale))

    def numpy(self) -> "GaussianMixture":
        """The same mixture in float64 NumPy, with weights normalised to double precision."""
        weights, means, covariances = (np.asarray(leaf, np.float64) for leaf in jax.tree.leaves(self))
        return GaussianMixture(weights / weights.sum(axis=-1, keepdims=True), means, covariances)


def _log_sum_exp(a: Float[Array, "*batch k"]) -> Float[Array, "*batch"]:
    """log Σ exp over the last axis; the maximum is subtracted, all −∞ gives −∞."""
    xp = namespace(a)
    top = xp.asarray(xp.max(a, axis=-1))
    some = top > -xp.inf
    total = xp.sum(xp.exp(a - xp.where(some, top, 0.0)[..., None]), axis=-1)
    return xp.asarray(xp.where(some, xp.where(some, top, 0.0) + xp.log(xp.where(some, total, 1.0)), -xp.inf))
