"""Integration of a jump diffusion on a fine grid, for systems without a closed-form transition."""

import math
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from nke.systems.base import System
from nke.systems.parameters import require_numbers


def fine_steps(interval: float, dt: float) -> tuple[int, float]:
    """Computes number and length of the equal fine steps, none longer than dt, that fill an interval."""
    count = max(1, math.ceil(interval / dt - 1e-9))  # an interval of 20.0000000001 fine steps is one of 20
    return count, interval / count


@dataclass(frozen=True)
class FineStepped(System):
    """A system integrated with fine steps.

    Args:
        dt: Longest fine step, > 0.
    """

    dt: float = field(default=1e-3, kw_only=True)

    def __post_init__(self):
        require_numbers(self, "dt", above=0)


@dataclass(frozen=True)
class EulerMaruyamaScheme(FineStepped):
    """A system simulated by the Euler–Maruyama scheme with jumps.

        X ← X + f(X) h + g(X) ΔW + the sum of Poisson(λ(X) h) jumps, all evaluated before the step

    A system that derives from it gives ``names``, ``drift``, ``noise_matrix`` and ``initial``, and where it jumps
    ``has_jumps``, ``jump_rate`` and ``jump_law``.

    Args:
        dt: Longest fine step h, > 0.
    """

    def advance(self, x: Float[np.ndarray, "m d"], step: float, rng: np.random.Generator) -> Float[np.ndarray, "m d"]:
        """Draws the states a time ``step`` later by fine steps, as ``System.advance``."""
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
        """Draws one jump at each state from the jump law.

        Args:
            x: States, shape (m, d).
            rng: Generator that is advanced.

        Returns:
            Displacements, shape (m, d).

        Example:
            >>> jumps = nke.systems.BimodalJumps().sample_jumps(np.zeros((100, 2)), np.random.default_rng(0))
            >>> bool((abs(jumps[:, 0]) > 0.5).all())
            True
        """
        return self.jump_law(x).sample(1, rng)[0]
