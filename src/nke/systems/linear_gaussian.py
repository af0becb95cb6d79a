"""Linear systems with additive noise: Gaussian transitions, known exactly."""

from abc import abstractmethod

import numpy as np
from jaxtyping import Float

from nke.arrays import cholesky, log_normal_density
from nke.systems.base import System


class LinearGaussian(System):
    """A linear system with additive noise around a resting point m.

    X(t+s) | X(t)=x ~ N(m + F(s)(x − m), Q(s))
    """

    @property
    @abstractmethod
    def centre(self) -> float:
        """Resting point m, the same for every coordinate."""

    @abstractmethod
    def transition_matrices(
        self, step: Float[np.ndarray, "*batch"]
    ) -> tuple[Float[np.ndarray, "*batch d d"], Float[np.ndarray, "*batch d d"]]:
        """Computes F(s) and Q(s).

        Args:
            step: Steps s, shape (...).

        Returns:
            Both matrices for every step, shape (..., d, d) each.

        Example:
            >>> flow, covariance = nke.systems.OrnsteinUhlenbeck().transition_matrices(np.array(0.5))
            >>> flow.round(3).tolist(), covariance.round(3).tolist()
            ([[0.607]], [[0.316]])
        """

    def advance(self, x: Float[np.ndarray, "m d"], step: float, rng: np.random.Generator) -> Float[np.ndarray, "m d"]:
        """Draws from the Gaussian transition, as ``System.advance``."""
        flow, covariance = self.transition_matrices(np.asarray(step))
        noise = rng.standard_normal(x.shape) @ cholesky(covariance).T
        return self.centre + (x - self.centre) @ flow.T + noise

    def log_density(
        self, x_next: Float[np.ndarray, "*#b d"], x: Float[np.ndarray, "*#b d"], step: Float[np.ndarray, "*#b"]
    ) -> Float[np.ndarray, "*b"]:
        """Computes the log density of the Gaussian transition, as ``System.log_density``."""
        flow, covariance = self.transition_matrices(step)
        mean = self.centre + np.einsum("...ij,...j->...i", flow, x - self.centre)
        return np.asarray(log_normal_density(x_next - mean, covariance))
