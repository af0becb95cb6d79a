"""The Langevin equation: a heavy particle in the limit of infinitely many, infinitely weak collisions."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float

from nke.arrays import Array, namespace
from nke.systems.base import coordinate_names
from nke.systems.harmonic_oscillator import van_loan
from nke.systems.linear_gaussian import LinearGaussian
from nke.systems.parameters import require_grid, require_numbers


@dataclass(frozen=True)
class Langevin(LinearGaussian):
    """dX = V dt,  dV = −friction V dt + friction √(2 diffusivity) dW in three dimensions.

    Started at the origin with its stationary velocity, of variance friction·diffusivity per component.
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
        return coordinate_names("x", 3) + coordinate_names("v", 3)

    @property
    def centre(self) -> float:
        return 0.0

    @property
    def noise(self) -> float:
        return self.friction * math.sqrt(2 * self.diffusivity)

    def drift(self, x: Any) -> Float[Array, "*batch d"]:
        x = self.as_states(x)
        return namespace(x).concatenate([x[..., 3:], -self.friction * x[..., 3:]], axis=-1)

    def noise_matrix(self, x: Any) -> Float[Array, "*batch d 3"]:
        x = self.as_states(x)
        xp = namespace(x)
        kicks = xp.concatenate([xp.zeros((3, 3), dtype=x.dtype), self.noise * xp.eye(3, dtype=x.dtype)])
        return xp.broadcast_to(kicks, (*x.shape, 3))

    def transition_matrices(
        self, step: Float[np.ndarray, "*batch"]
    ) -> tuple[Float[np.ndarray, "*batch d d"], Float[np.ndarray, "*batch d d"]]:
        """Those of one position and its velocity, the same for each of the three."""
        distinct, place = np.unique(step, return_inverse=True)
        pairs = [van_loan(0.0, self.friction, self.noise, float(s)) for s in distinct]
        flows, covariances = ([np.kron(matrix, np.eye(3)) for matrix in part] for part in zip(*pairs, strict=True))
        return np.stack(flows)[place], np.stack(covariances)[place]

    def initial(self, trajectories: int, rng: np.random.Generator) -> Float[np.ndarray, "trajectories d"]:
        speed = math.sqrt(self.friction * self.diffusivity)
        return np.hstack([np.zeros((trajectories, 3)), speed * rng.standard_normal((trajectories, 3))])
