"""Coupled phase oscillators, all with all: Kuramoto's model with noise."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from nke.arrays import Array, namespace
from nke.systems.base import coordinate_names, scaled_identity
from nke.systems.euler_maruyama import EulerMaruyamaScheme
from nke.systems.parameters import require_dimension, require_numbers


@dataclass(frozen=True)
class PhaseOscillators(EulerMaruyamaScheme):
    """Kuramoto's phase oscillators, each coupled to all others.

        dθ_i = (ω_i + coupling/n Σ_j sin(θ_j − θ_i)) dt + noise dW_i,  ω_i evenly spaced from −spread to spread

    Phases count full turns, they are not wrapped. Paths start uniformly in [−π, π]ⁿ.

    Args:
        coupling: Strength of the coupling.
        spread: Largest frequency ω_i, ≥ 0.
        noise: Strength of the noise, ≥ 0.
        dimension: Number n of oscillators, ≥ 1.
        dt: Longest step of the simulation, > 0.

    Example:
        >>> system = nke.systems.PhaseOscillators(coupling=3.0, dimension=3)
        >>> system.frequencies.tolist(), system.drift([0.0, np.pi / 2, 0.0]).round(3).tolist()
        ([-1.0, 0.0, 1.0], [0.0, -2.0, 2.0])
    """

    coupling: float = 2.0
    spread: float = 1.0
    noise: float = 0.3
    dimension: int = 5

    duration: ClassVar[float] = 5.0
    interval: ClassVar[float] = 0.05

    def __post_init__(self):
        super().__post_init__()
        require_numbers(self, "coupling")
        require_numbers(self, "spread", "noise", at_least=0)
        require_dimension(self)

    @property
    def names(self) -> tuple[str, ...]:
        """The names theta1, theta2, …; theta alone in one dimension.

        Example:
            >>> nke.systems.PhaseOscillators(dimension=2).names
            ('theta1', 'theta2')
        """
        return coordinate_names("theta", self.dimension)

    @property
    def frequencies(self) -> Float[np.ndarray, " d"]:
        """Frequencies ω_i, shape (d,), with mean zero.

        Example:
            >>> nke.systems.PhaseOscillators(spread=0.5).frequencies.tolist()
            [-0.5, -0.25, 0.0, 0.25, 0.5]
        """
        return self.spread * np.linspace(-1, 1, self.dimension) if self.dimension > 1 else np.zeros(1)

    def drift(self, x: ArrayLike) -> Float[Array, "*batch d"]:
        """Computes ω_i + coupling/n Σ_j sin(θ_j − θ_i), as ``System.drift``."""
        state = self.as_states(x)
        xp = namespace(state)
        pull = xp.sin(state[..., None, :] - state[..., :, None]).mean(axis=-1)
        return xp.asarray(self.frequencies, dtype=state.dtype) + self.coupling * pull

    def noise_matrix(self, x: ArrayLike) -> Float[Array, "*batch d d"]:
        """Gives noise·I at every state, as ``System.noise_matrix``."""
        return scaled_identity(self.as_states(x), self.noise)

    def initial(self, trajectories: int, rng: np.random.Generator) -> Float[np.ndarray, "trajectories d"]:
        """Draws phases uniformly in [−π, π], as ``System.initial``."""
        return rng.uniform(-math.pi, math.pi, (trajectories, self.dimension))
