"""The Cox–Ingersoll–Ross process: mean reversion that stays positive."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import ArrayLike
from scipy.special import xlogy

from nke.arrays import Array, namespace
from nke.systems.base import System
from nke.systems.bessel import log_bessel_ratio
from nke.systems.parameters import require_numbers


@dataclass(frozen=True)
class CoxIngersollRoss(System):
    """The Cox–Ingersoll–Ross process: a rate that reverts to its mean and stays positive.

        dX = speed (level − X) dt + volatility √X dW,  X₀ = start

    With c = 2 speed/(volatility² (1 − e^{−speed s})), 2cX(t+s) given X(t) = x is noncentral χ² with
    4 speed level/volatility² degrees of freedom and noncentrality 2cx e^{−speed s} (Feller, 1951).

    Args:
        speed: Speed of reversion, > 0.
        level: Mean in the long run, > 0.
        volatility: Strength of the noise, > 0.
        start: Value at the start of every path, > 0.

    Example:
        >>> system = nke.systems.CoxIngersollRoss(speed=3.0, level=0.3)
        >>> system.drift([0.5]).round(3).tolist(), bool((system.simulate_states(50, seed=0) > 0).all())
        ([-0.6], True)
    """

    speed: float = 3.0
    level: float = 0.3
    volatility: float = 0.2
    start: float = 0.4
    dimension: int = field(default=1, init=False, repr=False)

    duration: ClassVar[float] = 2.0
    interval: ClassVar[float] = 0.02

    def __post_init__(self):
        require_numbers(self, "speed", "level", "volatility", "start", above=0)

    @property
    def names(self) -> tuple[str, ...]:
        """The name rate.

        Example:
            >>> nke.systems.CoxIngersollRoss().names
            ('rate',)
        """
        return ("rate",)

    @property
    def order(self) -> float:
        """Order q = 2 speed level/volatility² − 1 of the Bessel function; the process can reach zero if q < 0.

        Example:
            >>> round(nke.systems.CoxIngersollRoss(speed=3.0, level=0.3, volatility=0.2).order, 6)
            44.0
        """
        return 2 * self.speed * self.level / self.volatility**2 - 1

    def drift(self, x: ArrayLike) -> Float[Array, "*batch d"]:
        """Computes speed (level − x), as ``System.drift``."""
        return self.speed * (self.level - self.as_states(x))

    def noise_matrix(self, x: ArrayLike) -> Float[Array, "*batch d d"]:
        """Computes volatility √x, as ``System.noise_matrix``."""
        state = self.as_states(x)
        xp = namespace(state)
        return self.volatility * xp.sqrt(xp.maximum(state, 0.0))[..., None]

    def inside(self, x: Float[np.ndarray, "*batch d"]) -> Bool[np.ndarray, "*batch"]:
        """Tells where x ≥ 0, as ``System.inside``."""
        return np.asarray((np.isfinite(x) & (x >= 0)).all(axis=-1))

    def initial(self, trajectories: int, rng: np.random.Generator) -> Float[np.ndarray, "trajectories d"]:
        """Gives ``start`` for every path, as ``System.initial``."""
        return np.full((trajectories, 1), self.start)

    def advance(self, x: Float[np.ndarray, "m d"], step: float, rng: np.random.Generator) -> Float[np.ndarray, "m d"]:
        """Draws from the noncentral χ² law, as ``System.advance``."""
        c = self._precision(np.array([step]))
        noncentrality = 2 * c * x * np.exp(-self.speed * step)
        return rng.noncentral_chisquare(2 * self.order + 2, noncentrality) / (2 * c)

    def log_density(
        self, x_next: Float[np.ndarray, "*#b d"], x: Float[np.ndarray, "*#b d"], step: Float[np.ndarray, "*#b"]
    ) -> Float[np.ndarray, "*b"]:
        """Computes log[c e^{−u−v} (v/u)^{q/2} I_q(2√(uv))], as ``System.log_density``.

        Here u = cx e^{−speed s} and v = c x_next.
        """
        step = step[..., None]
        c = self._precision(step)
        u = c * x * np.exp(-self.speed * step)
        v = c * np.maximum(x_next, 0.0)
        log_ratio = xlogy(self.order, v) + log_bessel_ratio(self.order, 2 * np.sqrt(u * v))
        density = np.log(c) - (np.sqrt(u) - np.sqrt(v)) ** 2 + log_ratio
        return np.where(self.inside(x_next), density[..., 0], -np.inf)

    def _precision(self, step: Float[np.ndarray, "*batch"]) -> Float[np.ndarray, "*batch"]:
        """Computes c for each step."""
        return 2 * self.speed / (self.volatility**2 * -np.expm1(-self.speed * step))
