"""Prices that grow at constant rates: log-normal transitions, known exactly."""

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Bool, Float

from nke.arrays import Array, log_normal_density, namespace
from nke.systems.base import System

START_SPREAD = 0.1


class LogNormal(System):
    """dS_i = S_i (μ_i dt + Σ_j B_ij dW_j): log S is a Brownian motion with drift.

    Prices start at S₀ = exp(0.1 N(0, I)).
    """

    duration: ClassVar[float] = 2.0
    interval: ClassVar[float] = 0.02

    @property
    @abstractmethod
    def growth_rates(self) -> Float[np.ndarray, " d"]:
        """μ."""

    @property
    @abstractmethod
    def volatility_matrix(self) -> Float[np.ndarray, "d d"]:
        """B."""

    @property
    def log_covariance(self) -> Float[np.ndarray, "d d"]:
        """BBᵀ, the covariance of the log-returns per unit time."""
        return self.volatility_matrix @ self.volatility_matrix.T

    @property
    def log_growth(self) -> Float[np.ndarray, " d"]:
        """μ − ½ diag(BBᵀ), the mean of the log-returns per unit time."""
        return self.growth_rates - np.diag(self.log_covariance) / 2

    def drift(self, x: Any) -> Float[Array, "*batch d"]:
        x = self.as_states(x)
        return x * namespace(x).asarray(self.growth_rates, dtype=x.dtype)

    def noise_matrix(self, x: Any) -> Float[Array, "*batch d d"]:
        x = self.as_states(x)
        return x[..., None] * namespace(x).asarray(self.volatility_matrix, dtype=x.dtype)

    def inside(self, x: Float[np.ndarray, "*batch d"]) -> Bool[np.ndarray, "*batch"]:
        return np.asarray((np.isfinite(x) & (x > 0)).all(axis=-1))

    def initial(self, trajectories: int, rng: np.random.Generator) -> Float[np.ndarray, "trajectories d"]:
        return np.exp(START_SPREAD * rng.standard_normal((trajectories, self.dimension)))

    def advance(self, x: Float[np.ndarray, "m d"], step: float, rng: np.random.Generator) -> Float[np.ndarray, "m d"]:
        noise = np.sqrt(step) * rng.standard_normal(x.shape) @ self.volatility_matrix.T
        return x * np.exp(step * self.log_growth + noise)

    def log_prob(self, x_next: Any, x: Any, step: Any) -> Float[np.ndarray, "*batch"]:
        x_next, x, step = self.as_transitions(x_next, x, step)
        possible = self.inside(x_next)
        log_next = np.log(np.where(possible[..., None], x_next, 1.0))
        residual = log_next - np.log(x) - step[..., None] * self.log_growth
        density = log_normal_density(residual, step[..., None, None] * self.log_covariance)
        return np.where(possible, density - log_next.sum(axis=-1), -np.inf)
