"""A driven, damped pendulum that turns over: also the phase across a Josephson junction."""

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from nke.arrays import Array, namespace
from nke.systems.euler_maruyama import EulerMaruyamaScheme
from nke.systems.parameters import require_numbers


@dataclass(frozen=True)
class Pendulum(EulerMaruyamaScheme):
    """A driven, damped pendulum that turns over; the phase across a Josephson junction obeys the same equation.

        dq = v dt,  dv = (torque − sin q − damping v) dt + noise dW

    The angle counts full turns, it is not wrapped. At the default torque and damping a pendulum can hang or rotate, and
    noise takes it from one to the other. The noise moves only the velocity: the diffusion tensor is singular. Paths
    start with a uniform angle in [−π, π] and a velocity from N(0, 1).

    Args:
        torque: Constant torque, or current through the junction.
        damping: Rate of damping, ≥ 0.
        noise: Strength of the noise, ≥ 0.
        dt: Longest step of the simulation, > 0.

    Example:
        >>> system = nke.systems.Pendulum(torque=0.5, damping=0.2, noise=0.5)
        >>> system.drift([0.0, 1.0]).tolist(), system.diffusion([0.0, 1.0]).tolist()
        ([1.0, 0.3], [[0.0, 0.0], [0.0, 0.25]])
    """

    torque: float = 0.5
    damping: float = 0.2
    noise: float = 0.5
    dimension: int = field(default=2, init=False, repr=False)

    duration: ClassVar[float] = 10.0
    interval: ClassVar[float] = 0.1

    def __post_init__(self):
        super().__post_init__()
        require_numbers(self, "torque")
        require_numbers(self, "damping", "noise", at_least=0)

    @property
    def names(self) -> tuple[str, ...]:
        """The names angle and velocity.

        Example:
            >>> nke.systems.Pendulum().names
            ('angle', 'velocity')
        """
        return ("angle", "velocity")

    def drift(self, x: ArrayLike) -> Float[Array, "*batch d"]:
        """Computes (v, torque − sin q − damping v), as ``System.drift``."""
        state = self.as_states(x)
        xp = namespace(state)
        angle, velocity = state[..., 0], state[..., 1]
        return xp.stack([velocity, self.torque - xp.sin(angle) - self.damping * velocity], axis=-1)

    def noise_matrix(self, x: ArrayLike) -> Float[Array, "*batch d 1"]:
        """Gives (0, noise)ᵀ at every state, as ``System.noise_matrix``."""
        state = self.as_states(x)
        xp = namespace(state)
        return xp.broadcast_to(xp.asarray([[0.0], [self.noise]], dtype=state.dtype), (*state.shape, 1))

    def initial(self, trajectories: int, rng: np.random.Generator) -> Float[np.ndarray, "trajectories d"]:
        """Draws a uniform angle and a velocity from N(0, 1), as ``System.initial``."""
        return np.stack([rng.uniform(-math.pi, math.pi, trajectories), rng.standard_normal(trajectories)], axis=-1)
