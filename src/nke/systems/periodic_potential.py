"""A particle in a tilted periodic potential that also jumps, always the same way."""

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from nke.arrays import Array, namespace
from nke.mixtures import GaussianMixture
from nke.systems.euler_maruyama import EulerMaruyamaScheme
from nke.systems.parameters import require_numbers


@dataclass(frozen=True)
class PeriodicPotential(EulerMaruyamaScheme):
    """A particle in a tilted periodic potential, with noise and jumps that follow the state.

        f = tilt − strength sin x,  g = noise(1 + 0.4 cos x),
        λ(x) = rate(1 + 0.5 sin x),  h = N(jump_mean, jump_scale²)

    All coefficients have period 2π; the position is not wrapped. Jumps go one way, since their mean is five standard
    deviations from zero by default. Paths start uniformly in [−π, π].

    Args:
        tilt: Constant force.
        strength: Amplitude of the periodic force.
        noise: Strength of the noise, its mean over a period, ≥ 0.
        rate: Jumps per unit time, their mean over a period, ≥ 0; zero switches them off.
        jump_mean: Mean of a jump.
        jump_scale: Standard deviation of a jump, > 0.
        dt: Longest step of the simulation, > 0.

    Example:
        >>> system = nke.systems.PeriodicPotential()
        >>> system.drift([0.0]).tolist(), system.jump_rate([0.0]).tolist(), system.jump_law([0.0]).mean.tolist()
        ([0.3], 0.5, [1.5])
    """

    tilt: float = 0.3
    strength: float = 1.0
    noise: float = 0.5
    rate: float = 0.5
    jump_mean: float = 1.5
    jump_scale: float = 0.3
    dimension: int = field(default=1, init=False, repr=False)

    duration: ClassVar[float] = 5.0
    interval: ClassVar[float] = 0.05

    def __post_init__(self):
        super().__post_init__()
        require_numbers(self, "tilt", "strength", "jump_mean")
        require_numbers(self, "noise", "rate", at_least=0)
        require_numbers(self, "jump_scale", above=0)

    @property
    def names(self) -> tuple[str, ...]:
        """The name x.

        Example:
            >>> nke.systems.PeriodicPotential().names
            ('x',)
        """
        return ("x",)

    @property
    def has_jumps(self) -> bool:
        """Whether ``rate`` is positive.

        Example:
            >>> nke.systems.PeriodicPotential().has_jumps, nke.systems.PeriodicPotential(rate=0).has_jumps
            (True, False)
        """
        return self.rate > 0

    def drift(self, x: ArrayLike) -> Float[Array, "*batch d"]:
        """Computes tilt − strength sin x, as ``System.drift``."""
        state = self.as_states(x)
        return self.tilt - self.strength * namespace(state).sin(state)

    def noise_matrix(self, x: ArrayLike) -> Float[Array, "*batch d d"]:
        """Computes noise(1 + 0.4 cos x), as ``System.noise_matrix``."""
        state = self.as_states(x)
        return self.noise * (1 + 0.4 * namespace(state).cos(state))[..., None]

    def jump_rate(self, x: ArrayLike) -> Float[Array, "*batch"]:
        """Computes rate(1 + 0.5 sin x), as ``System.jump_rate``."""
        state = self.as_states(x)
        xp = namespace(state)
        return xp.asarray(self.rate * (1 + 0.5 * xp.sin(state))[..., 0])

    def jump_law(self, x: ArrayLike) -> GaussianMixture:
        """Gives N(jump_mean, jump_scale²) at every state, as ``System.jump_law``."""
        if not self.has_jumps:
            self.refuse_jump_law()
        state = self.as_states(x)
        ones = namespace(state).ones_like(state)
        return GaussianMixture(ones, self.jump_mean * ones[..., None], self.jump_scale**2 * ones[..., None, None])

    def initial(self, trajectories: int, rng: np.random.Generator) -> Float[np.ndarray, "trajectories d"]:
        """Draws states uniformly in [−π, π], as ``System.initial``."""
        return rng.uniform(-math.pi, math.pi, (trajectories, 1))
