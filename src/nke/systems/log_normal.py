"""Prices that grow at constant rates: log-normal transitions, known exactly."""

from abc import abstractmethod
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import ArrayLike

from nke.arrays import Array, log_normal_density, namespace
from nke.systems.base import System


class LogNormal(System):
    """Prices whose logarithm is a Brownian motion with drift.

    dS_i = S_i (μ_i dt + Σ_j B_ij dW_j),  S₀ = exp(0.1 N(0, I))
    """

    duration: ClassVar[float] = 2.0
    interval: ClassVar[float] = 0.02

    @property
    @abstractmethod
    def growth_rates(self) -> Float[np.ndarray, " d"]:
        """Rates of growth μ, shape (d,)."""

    @property
    @abstractmethod
    def volatility_matrix(self) -> Float[np.ndarray, "d d"]:
        """Matrix B, by which the Brownian motions drive the log-prices, shape (d, d)."""

    @property
    def log_covariance(self) -> Float[np.ndarray, "d d"]:
        """Covariance BBᵀ of the log-returns per unit time, shape (d, d).

        Example:
            >>> nke.systems.GeometricBrownianMotion(volatility=0.5).log_covariance.tolist()
            [[0.25]]
        """
        return self.volatility_matrix @ self.volatility_matrix.T

    @property
    def log_growth(self) -> Float[np.ndarray, " d"]:
        """Mean μ − ½ diag(BBᵀ) of the log-returns per unit time, shape (d,).

        Example:
            >>> nke.systems.GeometricBrownianMotion(growth=0.25, volatility=0.5).log_growth.tolist()
            [0.125]
        """
        return self.growth_rates - np.diag(self.log_covariance) / 2

    def drift(self, x: ArrayLike) -> Float[Array, "*batch d"]:
        """Computes μ_i S_i, as ``System.drift``."""
        price = self.as_states(x)
        return price * namespace(price).asarray(self.growth_rates, dtype=price.dtype)

    def noise_matrix(self, x: ArrayLike) -> Float[Array, "*batch d d"]:
        """Computes S_i B_ij, as ``System.noise_matrix``."""
        price = self.as_states(x)
        return price[..., None] * namespace(price).asarray(self.volatility_matrix, dtype=price.dtype)

    def inside(self, x: Float[np.ndarray, "*batch d"]) -> Bool[np.ndarray, "*batch"]:
        """Tells where all prices are positive, as ``System.inside``."""
        return np.asarray((np.isfinite(x) & (x > 0)).all(axis=-1))

    def initial(self, trajectories: int, rng: np.random.Generator) -> Float[np.ndarray, "trajectories d"]:
        """Draws prices exp(0.1 N(0, I)), as ``System.initial``."""
        return np.exp(0.1 * rng.standard_normal((trajectories, self.dimension)))

    def advance(self, x: Float[np.ndarray, "m d"], step: float, rng: np.random.Generator) -> Float[np.ndarray, "m d"]:
        """Draws from the log-normal transition, as ``System.advance``."""
        noise = np.sqrt(step) * rng.standard_normal(x.shape) @ self.volatility_matrix.T
        return x * np.exp(step * self.log_growth + noise)

    def log_density(
        self, x_next: Float[np.ndarray, "*#b d"], x: Float[np.ndarray, "*#b d"], step: Float[np.ndarray, "*#b"]
    ) -> Float[np.ndarray, "*b"]:
        """Computes the log density of the log-normal transition, as ``System.log_density``."""
        possible = self.inside(x_next)
        log_next = np.log(np.where(possible[..., None], x_next, 1.0))
        residual = log_next - np.log(x) - step[..., None] * self.log_growth
        density = log_normal_density(residual, step[..., None, None] * self.log_covariance)
        return np.where(possible, density - log_next.sum(axis=-1), -np.inf)
