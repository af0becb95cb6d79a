"""Integration of a jump diffusion on a fine grid, for systems without a closed-form transition."""

import math
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from nke.systems.base import System
from nke.systems.parameters import require_numbers

ROUNDING = 1e-9  # an interval of 20.0000000001 fine steps is one of 20


def fine_steps(interval: float, dt: float) -> tuple[int, float]:
    """Number and length of the equal fine steps, none longer than dt, that fill an interval."""
    count = max(1, math.ceil(interval / dt - ROUNDING))
    return count, interval / count


@dataclass(frozen=True)
class FineStepped(System):
    """A system integrated with fine steps of at most ``dt``."""

    dt: float = field(default=1e-3, kw_only=True)

    def __post_init__(self):
        require_numbers(self, "dt", above=0)


@dataclass(frozen=True)
class EulerMaruyamaScheme(FineStepped):
    """X ← X + f(X) h + g(X) ΔW + the sum of Poisson(λ(X) h) jumps, all evaluated before the step."""

    def advance(self, x: Float[np.ndarray, "m d"], step: float, rng: np.random.Generator) -> Float[np.ndarray, "m d"]:
        count, h = fine_steps(step, self.dt)
        clock = rng.exponential(size=len(x))
        for _ in range(count):
            g = self.noise_matrix(x)
            kicks = math.sqrt(h) * rng.standard_normal((len(x), g.shape[-1]))
            change = h * self.drift(x) + np.einsum("mij,mj->mi", g, kicks)
            if self.has_jumps:
                clock -= h * self.jump_rate(x)
                self._add_jumps(change, x, clock, rng)
            x = x + change
        return x

    def _add_jumps(
        self,
        change: Float[np.ndarray, "m d"],
        x: Float[np.ndarray, "m d"],
        clock: Float[np.ndarray, " m"],
        rng: np.random.Generator,
    ):
        """Adds one jump for every time that a path's clock runs out.

        A clock holds a unit exponential and loses λ(x) h per step, so that the number of jumps in a
        step is Poisson(λ(x) h) given the past, at the cost of random numbers only where paths jump.
        """
        due = np.flatnonzero(clock < 0)
        while due.size:
            change[due] += self.sample_jumps(x[due], rng)
            clock[due] += rng.exponential(size=due.size)
            due = due[clock[due] < 0]

    def sample_jumps(self, x: Float[np.ndarray, "m d"], rng: np.random.Generator) -> Float[np.ndarray, "m d"]:
        """One jump at each state."""
        return self.jump_law(x).sample(1, rng)[0]
