"""Transition density of dx = x(1 − x²) dt + σ dW + N(0, τ²)-jumps of rate λ, by quadrature.

Strang splitting with exact parts: the flow of the drift has a closed form, and noise and jumps are a
convolution. Over many short steps the Chapman–Kolmogorov integral is taken on a grid that resolves the
noise of one of them, where the trapezoidal rule is accurate to rounding.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

LONGEST_STEP = 1 / 256  # of the splitting, in units of the well's own time


@dataclass(frozen=True)
class CubicWell:
    """The transition density of one coordinate of the double well, by quadrature.

    Attributes:
        noise: Strength σ of the noise, > 0.
        rate: Jump rate λ ≥ 0.
        jump_scale: Standard deviation τ of a jump.

    Example:
        >>> well = CubicWell(noise=0.5, rate=0.0, jump_scale=1.0)
        >>> y = np.linspace(-2.0, 3.0, 101)
        >>> float(np.trapezoid(np.exp(well.log_prob(y, np.full(101, 0.5), 0.1)), y).round(6))
        1.0
    """

    noise: float
    rate: float
    jump_scale: float

    def log_prob(
        self, y: Float[np.ndarray, " n"], x: Float[np.ndarray, " n"], step: float, refine: int = 1
    ) -> Float[np.ndarray, " n"]:
        """Computes log p(y | x) after a time ``step``.

        Args:
            y: States reached, shape (n,).
            x: States started from, shape (n,).
            step: Time elapsed.
            refine: How many times more parts the step is split into than by default.

        Returns:
            Log density of each pair, shape (n,).
        """
        count = refine * _parts(step)
        short = step / count
        reach = max(np.abs(x).max(), np.abs(y).max(), 1.0) + 6 * self.noise * np.sqrt(step)
        reach += 3 * self.jump_scale if self.rate > 0 else 0.0
        grid = np.linspace(-reach, reach, 2 * self._intervals(reach, short) + 1)
        width = grid[1] - grid[0]
        between = np.linalg.matrix_power(width * self._kernel(grid[None, :], grid[:, None], short), count - 2)
        log_density = np.empty(len(x))
        rows = 4096  # at a time
        for start in range(0, len(x), rows):
            part = slice(start, start + rows)
            leaving = width * self._kernel(grid[None, :], x[part, None], short)
            arriving = self._kernel(y[part, None], grid[None, :], short)
            with np.errstate(divide="ignore"):
                log_density[part] = np.log(np.sum(leaving @ between * arriving, axis=1))
        return log_density

    def density_on(self, grid: Float[np.ndarray, " g"], step: float) -> Float[np.ndarray, "g g"]:
        """Computes p(y | x) for every x (rows) and y (columns) of a grid.

        Args:
            grid: Evenly spaced states, fine enough to resolve the noise of a step, shape (g,).
            step: Time elapsed.

        Returns:
            Transition densities, shape (g, g).
        """
        count = _parts(step)
        width, short = grid[1] - grid[0], step / count
        fewest = self._intervals(width, short)
        fine = np.linspace(grid[0], grid[-1], fewest * (len(grid) - 1) + 1)
        width = fine[1] - fine[0]
        kernel = width * self._kernel(fine[None, :], fine[:, None], short)
        return (np.linalg.matrix_power(kernel, count) / width)[::fewest, ::fewest]

    def _intervals(self, length: float, short: float) -> int:
        """Grid intervals over a length: 1.5 per standard deviation of a splitting step, an error of exp(−2π²·1.5²)."""
        return int(np.ceil(length * 1.5 / (self.noise * np.sqrt(short))))

    def _kernel(
        self, y: Float[np.ndarray, "#n #m"], x: Float[np.ndarray, "#n #m"], step: float
    ) -> Float[np.ndarray, "n m"]:
        """Computes the density of one splitting step: half the drift, noise and jumps, half the drift."""
        before, slope = _backward(y, step / 2)
        moved = before - _flow(x, step / 2)
        density = np.zeros(moved.shape)
        chance, jumps = np.exp(-self.rate * step), 0
        while chance > 1e-9:  # of that many jumps in a splitting step
            variance = self.noise**2 * step + jumps * self.jump_scale**2
            density += chance * np.exp(-(moved**2) / (2 * variance)) / np.sqrt(2 * np.pi * variance)
            jumps += 1
            chance *= self.rate * step / jumps
        return slope * density


def _parts(step: float) -> int:
    """Number of splitting steps: a power of two, at least two."""
    return 2 ** max(1, int(np.ceil(np.log2(step / LONGEST_STEP))))


def _flow(x: Float[np.ndarray, "*n"], time: float) -> Float[np.ndarray, "*n"]:
    """Computes where ẋ = x(1 − x²) carries x."""
    return x * np.exp(time) / np.sqrt(1 + x**2 * np.expm1(2 * time))


def _backward(y: Float[np.ndarray, "*n"], time: float) -> tuple[Float[np.ndarray, "*n"], Float[np.ndarray, "*n"]]:
    """Computes where the flow came from and the derivative of that; slope 0 where it comes from nowhere."""
    room = 1 + y**2 * np.expm1(-2 * time)
    reached = room > 0
    room = np.where(reached, room, 1.0)
    return y * np.exp(-time) / np.sqrt(room), np.where(reached, np.exp(-time) / room**1.5, 0.0)
