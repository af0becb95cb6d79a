"""Geometric Brownian motion: one price."""

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from nke.systems.log_normal import LogNormal
from nke.systems.parameters import require_numbers


@dataclass(frozen=True)
class GeometricBrownianMotion(LogNormal):
    """Geometric Brownian motion: one price.

        dS = growth·S dt + volatility·S dW,  S₀ = exp(0.1 N(0, 1))

    Args:
        growth: Rate of growth.
        volatility: Volatility, > 0.

    Example:
        >>> system = nke.systems.GeometricBrownianMotion(growth=0.1)
        >>> system.drift([2.0]).tolist(), system.simulate(8, seed=0).names
        ([0.2], ('price',))
    """

    growth: float = 0.05
    volatility: float = 0.2
    dimension: int = field(default=1, init=False, repr=False)

    def __post_init__(self):
        require_numbers(self, "growth")
        require_numbers(self, "volatility", above=0)

    @property
    def names(self) -> tuple[str, ...]:
        """The name price.

        Example:
            >>> nke.systems.GeometricBrownianMotion().names
            ('price',)
        """
        return ("price",)

    @property
    def growth_rates(self) -> Float[np.ndarray, " 1"]:
        """Rate of growth, shape (1,).

        Example:
            >>> nke.systems.GeometricBrownianMotion(growth=0.1).growth_rates.tolist()
            [0.1]
        """
        return np.array([self.growth])

    @property
    def volatility_matrix(self) -> Float[np.ndarray, "1 1"]:
        """Volatility, shape (1, 1).

        Example:
            >>> nke.systems.GeometricBrownianMotion(volatility=0.5).volatility_matrix.tolist()
            [[0.5]]
        """
        return np.array([[self.volatility]])
