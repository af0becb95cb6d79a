"""Linear systems with additive noise: Gaussian transitions, known exactly."""

from abc import abstractmethod
from typing import Any

import numpy as np
from jaxtyping import Float

from nke.arrays import cholesky, log_normal_density
from nke.systems.base import System


class LinearGaussian(System):
    """X(t+s) | X(t)=x ~ N(m + F(s)(x − m), Q(s)) around a resting point m."""

    @property
    @abstractmethod
    def centre(self) -> float:
        """m, the same for every coordinate."""

    @abstractmethod
    def transition_matrices(
        self, step: Float[np.ndarray, "*batch"]
    ) -> tuple[Float[np.ndarray, "*batch d d"], Float[np.ndarray, "*batch d d"]]:
        """F(s) and Q(s) for every step."""

    def advance(self, x: Float[np.ndarray, "m d"], step: float, rng: np.random.Generator) -> Float[np.ndarray, "m d"]:
        flow, covariance = self.transition_matrices(np.asarray(step))
        noise = rng.standard_normal(x.shape) @ cholesky(covariance).T
        return self.centre + (x - self.centre) @ flow.T + noise

    def log_prob(self, x_next: Any, x: Any, step: Any) -> Float[np.ndarray, "*batch"]:
        x_next, x, step = self.as_transitions(x_next, x, step)
        flow, covariance = self.transition_matrices(step)
        mean = self.centre + np.einsum("...ij,...j->...i", flow, x - self.centre)
        return np.asarray(log_normal_density(x_next - mean, covariance))
