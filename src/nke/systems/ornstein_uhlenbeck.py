"""The Ornstein–Uhlenbeck process."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from nke.arrays import Array
from nke.systems.base import coordinate_names, scaled_identity
from nke.systems.linear_gaussian import LinearGaussian
from nke.systems.parameters import require_dimension, require_numbers


@dataclass(frozen=True)
class OrnsteinUhlenbeck(LinearGaussian):
    """The Ornstein–Uhlenbeck process, independent in each coordinate.

        dX = −rate (X − mean) dt + noise dW

    Paths start from the stationary law, N(mean, noise²/(2 rate)).

    Args:
        rate: Speed of reversion to the mean, > 0.
        mean: Mean of the stationary law.
        noise: Strength of the noise, > 0.
        dimension: Number of coordinates, ≥ 1.

    Example:
        >>> system = nke.systems.OrnsteinUhlenbeck(rate=2.0, mean=1.0)
        >>> system.drift([0.5]).tolist(), system.simulate(16, seed=0).states.shape
        ([1.0], (16, 101, 1))
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
        """The names x1, x2, …; x alone in one dimension.

        Example:
            >>> nke.systems.OrnsteinUhlenbeck().names, nke.systems.OrnsteinUhlenbeck(dimension=2).names
            (('x',), ('x1', 'x2'))
        """
        return coordinate_names("x", self.dimension)

    @property
    def centre(self) -> float:
        """Resting point of every coordinate, ``mean``.

        Example:
            >>> system = nke.systems.OrnsteinUhlenbeck(mean=2.0)
            >>> system.centre, abs(system.drift([system.centre])).tolist()
            (2.0, [0.0])
        """
        return self.mean

    def drift(self, x: ArrayLike) -> Float[Array, "*batch d"]:
        """Computes −rate (x − mean), as ``System.drift``."""
        return -self.rate * (self.as_states(x) - self.mean)

    def noise_matrix(self, x: ArrayLike) -> Float[Array, "*batch d d"]:
        """Gives noise·I at every state, as ``System.noise_matrix``."""
        return scaled_identity(self.as_states(x), self.noise)

    def transition_matrices(
        self, step: Float[np.ndarray, "*batch"]
    ) -> tuple[Float[np.ndarray, "*batch d d"], Float[np.ndarray, "*batch d d"]]:
        """Computes F = e^{−rate s} I and Q = noise² (1 − e^{−2 rate s})/(2 rate) I."""
        identity = np.eye(self.dimension)
        decay = np.exp(-self.rate * step)[..., None, None]
        variance = -np.expm1(-2 * self.rate * step)[..., None, None] * self.noise**2 / (2 * self.rate)
        return decay * identity, variance * identity

    def initial(self, trajectories: int, rng: np.random.Generator) -> Float[np.ndarray, "trajectories d"]:
        """Draws states from the stationary law, as ``System.initial``."""
        spread = self.noise / math.sqrt(2 * self.rate)
        return self.mean + spread * rng.standard_normal((trajectories, self.dimension))
