"""The Lorenz oscillator with multiplicative noise."""

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike
from scipy.linalg import expm

from nke.arrays import Array, namespace
from nke.systems.euler_maruyama import FineStepped, fine_steps
from nke.systems.parameters import require_numbers


@dataclass(frozen=True)
class Lorenz(FineStepped):
    """The paper's Lorenz benchmark (appendix "Lorenz system"), with noise in proportion to the state.

        x' = σ(y − x),  y' = x(ρ − z) − y,  z' = xy − βz,  g = noise·diag(x, y, z)

    Explicit Euler–Maruyama at dt = 1e-3 loses about 1 % of the paths to overflow at noise = 3. Here
    every factor of the splitting is an exact flow, so no path is lost and no term is tamed. Paths start from N(0, I).

    Args:
        noise: Strength of the noise relative to the state, ≥ 0.
        sigma: Parameter σ.
        rho: Parameter ρ.
        beta: Parameter β.
        dt: Longest step of the simulation, > 0.

    Example:
        >>> system = nke.systems.Lorenz(noise=0.5)
        >>> system.drift([1.0, 2.0, 3.0]).tolist(), system.diffusion([1.0, 2.0, 3.0]).diagonal().tolist()
        ([10.0, 23.0, -6.0], [0.25, 1.0, 2.25])
    """

    noise: float = 3.0
    sigma: float = 10.0
    rho: float = 28.0
    beta: float = 8 / 3
    dimension: int = field(default=3, init=False, repr=False)

    duration: ClassVar[float] = 2.0
    interval: ClassVar[float] = 0.02

    def __post_init__(self):
        super().__post_init__()
        require_numbers(self, "noise", at_least=0)
        require_numbers(self, "sigma", "rho", "beta")

    @property
    def names(self) -> tuple[str, ...]:
        """The names x, y and z.

        Example:
            >>> nke.systems.Lorenz().names
            ('x', 'y', 'z')
        """
        return ("x", "y", "z")

    def drift(self, x: ArrayLike) -> Float[Array, "*batch d"]:
        """Computes the drift of Lorenz's equations, as ``System.drift``."""
        state = self.as_states(x)
        x, y, z = state[..., 0], state[..., 1], state[..., 2]
        rows = [self.sigma * (y - x), x * (self.rho - z) - y, x * y - self.beta * z]
        return namespace(state).stack(rows, axis=-1)

    def noise_matrix(self, x: ArrayLike) -> Float[Array, "*batch d d"]:
        """Computes noise·diag(x, y, z), as ``System.noise_matrix``."""
        state = self.as_states(x)
        return self.noise * state[..., None] * namespace(state).eye(3, dtype=state.dtype)

    def initial(self, trajectories: int, rng: np.random.Generator) -> Float[np.ndarray, "trajectories d"]:
        """Draws states from N(0, I), as ``System.initial``."""
        return rng.standard_normal((trajectories, 3))

    def advance(self, x: Float[np.ndarray, "m d"], step: float, rng: np.random.Generator) -> Float[np.ndarray, "m d"]:
        """Draws the states a time ``step`` later by Strang splitting, as ``System.advance``.

        The exact flow of the noise stands between two half steps of the drift.
        """
        count, h = fine_steps(step, self.dt)
        linear = _linear_flow(self.sigma, self.rho, self.beta, h / 4)
        rows = np.ascontiguousarray(x.T)
        for _ in range(count):
            rows = self._drift_flow(rows, linear, h / 2)
            rows = rows * self._noise_flow(rows.shape, h, rng)
            rows = self._drift_flow(rows, linear, h / 2)
        return rows.T.copy()

    @staticmethod
    def _drift_flow(
        rows: Float[np.ndarray, "3 m"], linear: Float[np.ndarray, "3 3"], t: float
    ) -> Float[np.ndarray, "3 m"]:
        """Moves by the drift over t: y' = −xz, z' = xy turns (y, z) by the angle xt, between linear flows over t/2."""
        x, y, z = linear @ rows
        cos, sin = np.cos(t * x), np.sin(t * x)
        return linear @ np.stack([x, cos * y - sin * z, sin * y + cos * z])

    def _noise_flow(
        self, shape: tuple[int, ...], h: float, rng: np.random.Generator
    ) -> Float[np.ndarray, "3 m"] | float:
        """Draws exp(σΔW − σ²h/2): the exact solution of dX = σX dW, coordinate by coordinate."""
        if self.noise == 0:
            return 1.0
        return np.exp(self.noise * math.sqrt(h) * rng.standard_normal(shape) - self.noise**2 * h / 2)


@lru_cache(maxsize=128)  # a regular grid has a handful of distinct steps
def _linear_flow(sigma: float, rho: float, beta: float, t: float) -> Float[np.ndarray, "3 3"]:
    """Computes the flow of x' = σ(y − x), y' = ρx − y, z' = −βz."""
    return expm(t * np.array([[-sigma, sigma, 0.0], [rho, -1.0, 0.0], [0.0, 0.0, -beta]]))
