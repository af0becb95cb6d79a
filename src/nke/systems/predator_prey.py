"""Predator and prey with saturation and noise in proportion to the state."""

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import ArrayLike

from nke.arrays import Array, namespace
from nke.systems.euler_maruyama import FineStepped, fine_steps
from nke.systems.parameters import require_numbers


@dataclass(frozen=True)
class PredatorPrey(FineStepped):
    """Prey u and predator v with a predation that saturates (Holling's type II), and noise in proportion to the state.

        du = (growth u(1 − u/capacity) − predation uv/(half_saturation + u)) dt + noise u dW₁
        dv = (efficiency predation uv/(half_saturation + u) − mortality v) dt + noise v dW₂

    It is simulated by Euler–Maruyama steps of log u and log v, whose drift is the relative growth less noise²/2, so
    that states stay positive whatever the step. Paths start uniformly in [0.4, 2] × [0.2, 0.8], around a stable focus
    at (1, 0.6).

    Args:
        growth: Rate of growth of few prey, > 0.
        capacity: Prey that live without predators, > 0.
        predation: Most prey that a predator takes per unit time, > 0.
        half_saturation: Prey at which it takes half of that, > 0.
        efficiency: Predators born per prey taken, > 0.
        mortality: Rate of death of the predators, > 0.
        noise: Strength of the noise relative to the state, ≥ 0.
        dt: Longest step of the simulation, > 0.

    Example:
        >>> system = nke.systems.PredatorPrey(noise=0.5)
        >>> system.drift([1.0, 1.0]).round(3).tolist(), system.diffusion([1.0, 2.0]).diagonal().tolist()
        ([-0.4, 0.0], [0.25, 1.0])
    """

    growth: float = 1.0
    capacity: float = 2.5
    predation: float = 2.0
    half_saturation: float = 1.0
    efficiency: float = 0.5
    mortality: float = 0.5
    noise: float = 0.15
    dimension: int = field(default=2, init=False, repr=False)

    duration: ClassVar[float] = 10.0
    interval: ClassVar[float] = 0.1

    def __post_init__(self):
        super().__post_init__()
        require_numbers(self, "growth", "capacity", "predation", "half_saturation", above=0)
        require_numbers(self, "efficiency", "mortality", above=0)
        require_numbers(self, "noise", at_least=0)

    @property
    def names(self) -> tuple[str, ...]:
        """The names prey and predator.

        Example:
            >>> nke.systems.PredatorPrey().names
            ('prey', 'predator')
        """
        return ("prey", "predator")

    def drift(self, x: ArrayLike) -> Float[Array, "*batch d"]:
        """Computes births less deaths, as ``System.drift``."""
        state = self.as_states(x)
        return state * self._relative_growth(state)

    def noise_matrix(self, x: ArrayLike) -> Float[Array, "*batch d d"]:
        """Computes noise·diag(u, v), as ``System.noise_matrix``."""
        state = self.as_states(x)
        return self.noise * state[..., None] * namespace(state).eye(2, dtype=state.dtype)

    def inside(self, x: Float[np.ndarray, "*batch d"]) -> Bool[np.ndarray, "*batch"]:
        """Tells where both are positive, as ``System.inside``."""
        return np.asarray((np.isfinite(x) & (x > 0)).all(axis=-1))

    def initial(self, trajectories: int, rng: np.random.Generator) -> Float[np.ndarray, "trajectories d"]:
        """Draws states uniformly in [0.4, 2] × [0.2, 0.8], as ``System.initial``."""
        return rng.uniform([0.4, 0.2], [2.0, 0.8], (trajectories, 2))

    def advance(self, x: Float[np.ndarray, "m d"], step: float, rng: np.random.Generator) -> Float[np.ndarray, "m d"]:
        """Draws the states a time ``step`` later by fine steps of their logarithms, as ``System.advance``."""
        count, h = fine_steps(step, self.dt)
        for _ in range(count):
            kicks = self.noise * math.sqrt(h) * rng.standard_normal(x.shape)
            x = x * np.exp(h * (self._relative_growth(x) - self.noise**2 / 2) + kicks)
        return x

    def _relative_growth(self, state: Float[Array, "*batch d"]) -> Float[Array, "*batch d"]:
        """Computes the drift over the state."""
        prey, predator = state[..., :1], state[..., 1:]
        taken = self.predation / (self.half_saturation + prey)  # per prey and predator
        grown = self.growth * (1 - prey / self.capacity) - taken * predator
        return namespace(state).concatenate([grown, self.efficiency * taken * prey - self.mortality], axis=-1)
