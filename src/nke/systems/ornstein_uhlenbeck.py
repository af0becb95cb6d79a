"""The Ornstein–Uhlenbeck process."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float

from nke.arrays import Array
from nke.systems.base import coordinate_names, scaled_identity
from nke.systems.linear_gaussian import LinearGaussian
from nke.systems.parameters import require_dimension, require_numbers


@dataclass(frozen=True)
class OrnsteinUhlenbeck(LinearGaussian):
    """dX = −rate (X − mean) dt + noise dW in each coordinate, started from its stationary law:

    mean ``mean`` and variance noise²/(2 rate).
    """

    rate: float = 1.0
    mean: float = 0.0
    noise: float = 1.0
    dimension: int = 1

    duration: ClassVar[float] = 2.0
    interval: ClassVar[float] = 0.02

    def __post_init__(self):
        require_numbers(self, "rate", "noise", above=0)
        require_numbers(self, "mean")
        require_dimension(self)

    @property
    def names(self) -> tuple[str, ...]:
        return coordinate_names("x", self.dimension)

    @property
    def centre(self) -> float:
        return self.mean

    def drift(self, x: Any) -> Float[Array, "*batch d"]:
        return -self.rate * (self.as_states(x) - self.mean)

    def noise_matrix(self, x: Any) -> Float[Array, "*batch d d"]:
        return scaled_identity(self.as_states(x), self.noise)

    def transition_matrices(
        self, step: Float[np.ndarray, "*batch"]
    ) -> tuple[Float[np.ndarray, "*batch d d"], Float[np.ndarray, "*batch d d"]]:
        """F = e^{−rate s} I and Q = noise² (1 − e^{−2 rate s})/(2 rate) I."""
        identity = np.eye(self.dimension)
        decay = np.exp(-self.rate * step)[..., None, None]
        variance = -np.expm1(-2 * self.rate * step)[..., None, None] * self.noise**2 / (2 * self.rate)
        return decay * identity, variance * identity

    def initial(self, trajectories: int, rng: np.random.Generator) -> Float[np.ndarray, "trajectories d"]:
        spread = self.noise / math.sqrt(2 * self.rate)
        return self.mean + spread * rng.standard_normal((trajectories, self.dimension))
