"""The Langevin equation: a heavy particle in the limit of infinitely many, infinitely weak collisions."""

import math
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from nke.arrays import Array, namespace
from nke.systems.base import coordinate_names
from nke.systems.harmonic_oscillator import van_loan
from nke.systems.linear_gaussian import LinearGaussian
from nke.systems.parameters import require_grid, require_numbers


@dataclass(frozen=True)
class Langevin(LinearGaussian):
    """The Langevin equation of a heavy particle in three dimensions.

        dX = V dt,  dV = −friction V dt + friction √(2 diffusivity) dW

    Paths start at the origin with the stationary velocity, of variance friction·diffusivity per component.

    Args:
        friction: Rate at which the velocity decays, > 0.
        diffusivity: Diffusion coefficient of the position over long times, > 0.
        duration: Time at which a recording ends.
        interval: Time between two records; ``duration`` is a whole number of them.

    Example:
        >>> system = nke.systems.Langevin(friction=2.0)
        >>> system.drift([0.0, 0.0, 0.0, 1.0, 0.0, -1.0]).tolist()
        [1.0, 0.0, -1.0, -2.0, -0.0, 2.0]
    """

    friction: float = 1.0
    diffusivity: float = 1.0
    duration: float = 2.0  # pyright: ignore[reportIncompatibleVariableOverride]
    interval: float = 0.02  # pyright: ignore[reportIncompatibleVariableOverride]
    dimension: int = field(default=6, init=False, repr=False)

    def __post_init__(self):
        require_numbers(self, "friction", "diffusivity", above=0)
        require_grid(self)

    @property
    def names(self) -> tuple[str, ...]:
        """The names x1, x2, x3 of the position and v1, v2, v3 of the velocity.

        Example:
            >>> nke.systems.Langevin().names
            ('x1', 'x2', 'x3', 'v1', 'v2', 'v3')
        """
        return coordinate_names("x", 3) + coordinate_names("v", 3)

    @property
    def centre(self) -> float:
        """Resting point of every coordinate, zero.

        Example:
            >>> nke.systems.Langevin().centre
            0.0
        """
        return 0.0

    @property
    def noise(self) -> float:
        """Strength of the noise of the velocity, friction √(2 diffusivity).

        Example:
            >>> nke.systems.Langevin(friction=3.0, diffusivity=2.0).noise
            6.0
        """
        return self.friction * math.sqrt(2 * self.diffusivity)

    def drift(self, x: ArrayLike) -> Float[Array, "*batch d"]:
        """Computes (V, −friction V), as ``System.drift``."""
        state = self.as_states(x)
        return namespace(state).concatenate([state[..., 3:], -self.friction * state[..., 3:]], axis=-1)

    def noise_matrix(self, x: ArrayLike) -> Float[Array, "*batch d 3"]:
        """Gives noise·I on the velocity at every state, as ``System.noise_matrix``."""
        state = self.as_states(x)
        xp = namespace(state)
        kicks = xp.concatenate([xp.zeros((3, 3), dtype=state.dtype), self.noise * xp.eye(3, dtype=state.dtype)])
        return xp.broadcast_to(kicks, (*state.shape, 3))

    def transition_matrices(
        self, step: Float[np.ndarray, "*batch"]
    ) -> tuple[Float[np.ndarray, "*batch d d"], Float[np.ndarray, "*batch d d"]]:
        """Computes F(s) and Q(s) of one position and its velocity, the same for each of the three."""
        distinct, place = np.unique(step, return_inverse=True)
        pairs = [van_loan(0.0, self.friction, self.noise, float(s)) for s in distinct]
        flows, covariances = ([np.kron(matrix, np.eye(3)) for matrix in part] for part in zip(*pairs, strict=True))
        return np.stack(flows)[place], np.stack(covariances)[place]

    def initial(self, trajectories: int, rng: np.random.Generator) -> Float[np.ndarray, "trajectories d"]:
        """Draws stationary velocities at the origin, as ``System.initial``."""
        speed = math.sqrt(self.friction * self.diffusivity)
        return np.hstack([np.zeros((trajectories, 3)), speed * rng.standard_normal((trajectories, 3))])
