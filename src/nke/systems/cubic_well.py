"""Transition density of dx = x(1 − x²) dt + σ dW + N(0, τ²)-jumps of rate λ, by quadrature.

Strang splitting with exact parts: the flow of the drift has a closed form, and noise and jumps are a
convolution. Over many short steps the Chapman–Kolmogorov integral is taken on a grid that resolves the
noise of one of them, where the trapezoidal rule is accurate to rounding.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

SHORT = 1 / 256  # longest splitting step, in units of the well's own time
GRID = 1.5  # grid points per standard deviation of a splitting step: a relative error of exp(−2π²·GRID²)
BATCH = 4096
NEGLIGIBLE = 1e-9  # chance of that many jumps in a splitting step


@dataclass(frozen=True)
class CubicWell:
    noise: float
    rate: float
    jump_scale: float

    def log_prob(
        self, y: Float[np.ndarray, " n"], x: Float[np.ndarray, " n"], step: float, refine: int = 1
    ) -> Float[np.ndarray, " n"]:
        """log p(y | x) after ``step``; ``refine`` splits it into that many times more parts."""
        count = refine * 2 ** max(1, int(np.ceil(np.log2(step / SHORT))))
        short = step / count
        reach = max(np.abs(x).max(), np.abs(y).max(), 1.0) + 6 * self.noise * np.sqrt(step)
        reach += 3 * self.jump_scale if self.rate > 0 else 0.0
        grid = np.linspace(-reach, reach, 2 * int(np.ceil(reach * GRID / (self.noise * np.sqrt(short)))) + 1)
        width = grid[1] - grid[0]
        between = np.linalg.matrix_power(width * self._kernel(grid[None, :], grid[:, None], short), count - 2)
        log_density = np.empty(len(x))
        for start in range(0, len(x), BATCH):
            part = slice(start, start + BATCH)
            leaving = width * self._kernel(grid[None, :], x[part, None], short)
            arriving = self._kernel(y[part, None], grid[None, :], short)
            with np.errstate(divide="ignore"):
                log_density[part] = np.log(np.sum(leaving @ between * arriving, axis=1))
        return log_density

    def density_on(self, grid: Float[np.ndarray, " g"], step: float) -> Float[np.ndarray, "g g"]:
        """p(y | x) for every x (rows) and y (columns) of an even grid, which must resolve the noise of a step."""
        count = 2 ** max(1, int(np.ceil(np.log2(step / SHORT))))
        width, short = grid[1] - grid[0], step / count
        fewest = int(np.ceil(width * GRID / (self.noise * np.sqrt(short))))
        fine = np.linspace(grid[0], grid[-1], fewest * (len(grid) - 1) + 1)
        width = fine[1] - fine[0]
        kernel = width * self._kernel(fine[None, :], fine[:, None], short)
        return (np.linalg.matrix_power(kernel, count) / width)[::fewest, ::fewest]

    def _kernel(
        self, y: Float[np.ndarray, "#n #m"], x: Float[np.ndarray, "#n #m"], step: float
    ) -> Float[np.ndarray, "n m"]:
        """Half the drift, noise and jumps, half the drift."""
        before, slope = _backward(y, step / 2)
        moved = before - _flow(x, step / 2)
        density = np.zeros(moved.shape)
        chance, jumps = np.exp(-self.rate * step), 0
        while chance > NEGLIGIBLE:
            variance = self.noise**2 * step + jumps * self.jump_scale**2
            density += chance * np.exp(-(moved**2) / (2 * variance)) / np.sqrt(2 * np.pi * variance)
            jumps += 1
            chance *= self.rate * step / jumps
        return slope * density


def _flow(x: Float[np.ndarray, "*n"], time: float) -> Float[np.ndarray, "*n"]:
    """Where ẋ = x(1 − x²) carries x."""
    return x * np.exp(time) / np.sqrt(1 + x**2 * np.expm1(2 * time))


def _backward(y: Float[np.ndarray, "*n"], time: float) -> tuple[Float[np.ndarray, "*n"], Float[np.ndarray, "*n"]]:
    """Where the flow came from and the derivative of that; slope 0 where it comes from nowhere."""
    room = 1 + y**2 * np.expm1(-2 * time)
    reached = room > 0
    room = np.where(reached, room, 1.0)
    return y * np.exp(-time) / np.sqrt(room), np.where(reached, np.exp(-time) / room**1.5, 0.0)
