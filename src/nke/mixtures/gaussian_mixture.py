"""The type of a (batch of) Gaussian mixture(s), p(x) = Σ_k π_k G_{μ_k,Σ_k}(x)."""

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from nke.arrays import Array, as_numbers, cholesky, log_normal_density, namespace, outer
from nke.errors import InputError
from nke.mixtures.expectation_maximisation import maximum_likelihood


class GaussianMixture(eqx.Module):
    """A Gaussian mixture, or a batch of them: leading axes are batch axes.

    A zero covariance is allowed and means a point mass (the "no jump" part of a jump law).
    NumPy in, float64 NumPy out; with JAX arrays every method can be traced and differentiated.

    Args:
        weights: Weights π_k ≥ 0 that sum to one, shape (..., K).
        means: Means μ_k, shape (..., K, d).
        covariances: Covariance matrices Σ_k (not standard deviations), shape (..., K, d, d).

    Raises:
        InputError: The shapes do not fit each other, or (for NumPy input) a value is not finite, the weights do not
            sum to one, or a covariance is not symmetric and positive semi-definite.
        InputTypeError: An argument does not consist of real numbers.

    Example:
        >>> mixture = GaussianMixture([0.9, 0.1], [[0.0], [1.0]], [[[0.01]], [[0.04]]])
        >>> float(round(mixture.mean[0], 3)), float(round(mixture.covariance[0, 0], 3))
        (0.1, 0.103)
    """

    weights: Float[Array, "*batch k"]
    means: Float[Array, "*batch k d"]
    covariances: Float[Array, "*batch k d d"]

    def __init__(self, weights: ArrayLike, means: ArrayLike, covariances: ArrayLike):
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
    def point(cls, x: ArrayLike) -> "GaussianMixture":
        """Makes the point mass δ_x: one component of zero width.

        Args:
            x: Where the mass lies, shape (..., d).

        Returns:
            A mixture of one component for each point.

        Example:
            >>> GaussianMixture.point([1.0, 2.0]).covariance.tolist()
            [[0.0, 0.0], [0.0, 0.0]]
        """
        place = as_numbers(x, "x")
        xp = namespace(place)
        return cls(
            xp.ones_like(place[..., :1]), place[..., None, :], xp.zeros_like(outer(place, place)[..., None, :, :])
        )

    @classmethod
    def fit(cls, points: ArrayLike, components: int, seed: int = 0) -> "GaussianMixture":
        """Fits a mixture to points: the paper's projection Π_K of an empirical measure.

        One component takes the mean and covariance of the points; more are fitted by maximum likelihood
        (expectation–maximisation, the best of four seeded starts), in order of falling weight.

        Args:
            points: Points, shape (n, d).
            components: Number K of components.
            seed: Seed of the starting means.

        Returns:
            The fitted mixture.

        Raises:
            InputError: The points are not finite or not of shape (n, d), or there are fewer points than components.

        Example:
            >>> points = np.random.default_rng(0).normal(size=(200, 1)) + np.repeat([[0.0], [9.0]], [150, 50], axis=0)
            >>> mixture = GaussianMixture.fit(points, components=2, seed=0)
            >>> mixture.weights.round(2).tolist(), mixture.means.round(0).tolist()
            ([0.75, 0.25], [[0.0], [9.0]])
        """
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
        """Number K of components.

        Example:
            >>> GaussianMixture([0.5, 0.5], [[0.0], [1.0]], np.ones((2, 1, 1))).components
            2
        """
        return self.means.shape[-2]

    @property
    def dimension(self) -> int:
        """Number d of coordinates.

        Example:
            >>> GaussianMixture.point([1.0, 2.0, 3.0]).dimension
            3
        """
        return self.means.shape[-1]

    @property
    def mean(self) -> Float[Array, "*batch d"]:
        """Mean Σ_k π_k μ_k, shape (..., d).

        Example:
            >>> GaussianMixture([0.25, 0.75], [[0.0], [4.0]], np.ones((2, 1, 1))).mean.tolist()
            [3.0]
        """
        return (self.weights[..., None] * self.means).sum(axis=-2)

    @property
    def covariance(self) -> Float[Array, "*batch d d"]:
        """Covariance Σ_k π_k (Σ_k + (μ_k − μ)(μ_k − μ)ᵀ) around the mean μ, shape (..., d, d).

        Example:
            >>> GaussianMixture([0.25, 0.75], [[0.0], [4.0]], np.ones((2, 1, 1))).covariance.tolist()
            [[4.0]]
        """
        centred = self.means - self.mean[..., None, :]
        spread = self.covariances + outer(centred, centred)
        return (self.weights[..., None, None] * spread).sum(axis=-3)

    def moments(self) -> tuple[Float[Array, "*batch d"], Float[Array, "*batch d d"]]:
        """Computes mean and covariance: the projection Π₁ of the mixture.

        Returns:
            The mean, shape (..., d), and the covariance, shape (..., d, d).

        Example:
            >>> mean, covariance = GaussianMixture([0.5, 0.5], [[-1.0], [1.0]], np.zeros((2, 1, 1))).moments()
            >>> mean.tolist(), covariance.tolist()
            ([0.0], [[1.0]])
        """
        return self.mean, self.covariance

    def log_prob(self, x: ArrayLike) -> Float[Array, "*points"]:
        """Computes the logarithm of the density, log p(x).

        Args:
            x: Points, shape (..., d); leading axes broadcast against the batch of the mixture.

        Returns:
            Log density at each point, shape (...).

        Raises:
            InputError: The points have another dimension, or (for NumPy mixtures) a component is a point mass or
                otherwise singular and so has no density.

        Example:
            >>> standard = GaussianMixture([1.0], [[0.0]], [[[1.0]]])
            >>> standard.log_prob([[0.0], [1.0]]).round(3).tolist()
            [-0.919, -1.419]
        """
        points = as_numbers(x, "x")
        if points.shape[-1:] != (self.dimension,):
            raise InputError(f"expected points of shape (..., {self.dimension}), but got {points.shape}")
        if isinstance(self.weights, np.ndarray):
            self._refuse_point_masses()
        xp = namespace(self.means)
        density = log_normal_density(points[..., None, :] - self.means, self.covariances)
        log_weights = xp.log(xp.where(self.weights > 0, self.weights, 1.0))
        present = (self.weights > 0) & ~xp.any(xp.isinf(points), axis=-1)[..., None]
        return _log_sum_exp(xp.where(present, log_weights + density, -xp.inf))

    def _refuse_point_masses(self):
        diagonal = np.diagonal(cholesky(self.covariances), axis1=-2, axis2=-1)
        if ((diagonal <= 0).any(axis=-1) & (self.weights > 0)).any():
            raise InputError(
                "a component with singular covariance has no density; convolve the mixture with a Gaussian first"
            )

    def sample(self, count: int, seed: int | np.random.Generator) -> Float[np.ndarray, "count *batch d"]:
        """Draws samples from each mixture of the batch.

        Args:
            count: Number of draws.
            seed: A seed, or a NumPy generator that is advanced.

        Returns:
            Samples, shape (count, ..., d).

        Example:
            >>> coin = GaussianMixture([0.5, 0.5], [[0.0], [1.0]], np.zeros((2, 1, 1)))
            >>> coin.sample(6, seed=0)[:, 0].tolist()
            [1.0, 0.0, 0.0, 0.0, 1.0, 1.0]
        """
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
        """Computes the law of the sum of two independent variables: weights multiply, means and covariances add.

        Args:
            other: A mixture of the same dimension; batch axes broadcast.

        Returns:
            The convolution, with ``self.components * other.components`` components.

        Raises:
            InputError: The mixtures have different dimensions.

        Example:
            >>> jump = GaussianMixture([0.9, 0.1], [[0.0], [1.0]], np.zeros((2, 1, 1)))
            >>> packet = GaussianMixture([1.0], [[0.5]], [[[0.01]]])
            >>> packet.convolve(jump).means.tolist()
            [[0.5], [1.5]]
        """
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
        """Computes the law of some of the coordinates.

        Args:
            *axes: Numbers of the coordinates, in the order wanted.

        Returns:
            The mixture of these coordinates.

        Example:
            >>> GaussianMixture.point([1.0, 2.0, 3.0]).marginal(2, 0).mean.tolist()
            [3.0, 1.0]
        """
        index = np.asarray(axes)
        return GaussianMixture(
            self.weights, self.means[..., index], self.covariances[..., index[:, None], index[None, :]]
        )

    def affine(self, shift: ArrayLike, scale: ArrayLike) -> "GaussianMixture":
        """Computes the law of shift + scale·X, coordinate by coordinate: a change of units.

        Args:
            shift: What is added to each coordinate, shape (d,).
            scale: What each coordinate is multiplied by first, shape (d,).

        Returns:
            The mixture in the new units.

        Example:
            >>> celsius = GaussianMixture([1.0], [[20.0]], [[[4.0]]])
            >>> fahrenheit = celsius.affine([32.0], [1.8])
            >>> fahrenheit.mean.tolist(), fahrenheit.covariance.round(2).tolist()
            ([68.0], [[12.96]])
        """
        offset, factor = as_numbers(shift, "shift"), as_numbers(scale, "scale")
        return GaussianMixture(self.weights, offset + factor * self.means, self.covariances * outer(factor, factor))

    def numpy(self) -> "GaussianMixture":
        """Converts the mixture to float64 NumPy, with weights normalised to double precision.

        Returns:
            The same mixture, as NumPy arrays.

        Example:
            >>> import jax.numpy as jnp
            >>> single = GaussianMixture(jnp.ones(1), jnp.zeros((1, 2)), jnp.eye(2)[None])
            >>> single.numpy().means.dtype
            dtype('float64')
        """
        weights, means, covariances = (np.asarray(leaf, np.float64) for leaf in jax.tree.leaves(self))
        return GaussianMixture(weights / weights.sum(axis=-1, keepdims=True), means, covariances)


def _log_sum_exp(a: Float[Array, "*batch k"]) -> Float[Array, "*batch"]:
    """Computes log Σ exp over the last axis; the maximum is subtracted, all −∞ gives −∞."""
    xp = namespace(a)
    top = xp.asarray(xp.max(a, axis=-1))
    some = top > -xp.inf
    total = xp.sum(xp.exp(a - xp.where(some, top, 0.0)[..., None]), axis=-1)
    return xp.asarray(xp.where(some, xp.where(some, top, 0.0) + xp.log(xp.where(some, total, 1.0)), -xp.inf))
