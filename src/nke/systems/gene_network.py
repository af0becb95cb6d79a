"""A gene network of ten coordinates: the high-dimensional example of DynGMA."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from nke.arrays import Array, namespace
from nke.systems.base import coordinate_names, scaled_identity
from nke.systems.euler_maruyama import EulerMaruyamaScheme
from nke.systems.parameters import require_numbers


@dataclass(frozen=True)
class GeneNetwork(EulerMaruyamaScheme):
    """The gene network of the epithelial–mesenchymal transition in DynGMA (Zhu and Li, arXiv 2402.14475).

        y₁' = 0.8(H⁻(y₁,1) + H⁻(y₅,2) + H⁻(y₇,4)) − y₁
        y₂' = 0.2(H⁺(y₁,1) + H⁺(y₂,2)) + 0.8(H⁻(y₄,6) + H⁻(y₆,4)) − y₂
        y₃' = 0.2(H⁺(y₃,2) + H⁺(y₉,4)) + 0.8 H⁻(y₆,4) − y₃
        y₄' = 0.2 H⁺(y₃,4) + 0.8(H⁻(y₁,1) + H⁻(y₂,3)) − y₄
        y₅' = 0.8(H⁻(y₁,1) + H⁻(y₂,2)) − y₅
        y₆' = 0.8(H⁻(y₂,4) + H⁻(y₃,4)) − y₆
        y₇' = 0.8 H⁺(y₇,2) + 7 H⁺(y₈,5) + 0.8 H⁻(y₉,4) − 4 y₇ y₁₀ − y₇
        y₈' = 0.8(H⁻(y₁,4) + H⁻(y₁₀,1)) − y₈
        y₉' = 0.2 H⁺(y₉,2) + 0.8 H⁻(y₇,4) − y₉
        y₁₀' = 0.1 + 4/(1 + y₁₀³) − 4 y₇ y₁₀ − y₁₀
        H⁺(y, n) = yⁿ/(½ⁿ + yⁿ),  H⁻(y, n) = 1 − H⁺(y, n),  g = noise·I

    The noise can make a coordinate negative, where the formulas hold as they stand. Odd powers, of y₁, y₂, y₈ and y₁₀,
    have a pole at −½ or below; the lowest of these coordinates in 20,000 paths was −0.44. Paths start uniformly in
    [0, 2], y₇ in [0, 6].

    Args:
        noise: Strength of the noise, ≥ 0.
        dt: Longest step of the simulation, > 0.

    Example:
        >>> system = nke.systems.GeneNetwork()
        >>> system.drift(np.zeros(10)).round(3).tolist()
        [2.4, 1.6, 0.8, 1.6, 1.6, 1.6, 0.8, 1.6, 0.8, 4.1]
    """

    noise: float = 0.2
    dimension: int = field(default=10, init=False, repr=False)

    duration: ClassVar[float] = 8.0
    interval: ClassVar[float] = 0.08

    def __post_init__(self):
        super().__post_init__()
        require_numbers(self, "noise", at_least=0)

    @property
    def names(self) -> tuple[str, ...]:
        """The names y1 to y10.

        Example:
            >>> nke.systems.GeneNetwork().names[-2:]
            ('y9', 'y10')
        """
        return coordinate_names("y", 10)

    def drift(self, x: ArrayLike) -> Float[Array, "*batch d"]:
        """Computes activation, repression and decay, as ``System.drift``."""
        state = self.as_states(x)
        y1, y2, y3, y4, y5, y6, y7, y8, y9, y10 = (state[..., i : i + 1] for i in range(10))
        production = [
            0.8 * (_off(y1, 1) + _off(y5, 2) + _off(y7, 4)),
            0.2 * (_on(y1, 1) + _on(y2, 2)) + 0.8 * (_off(y4, 6) + _off(y6, 4)),
            0.2 * (_on(y3, 2) + _on(y9, 4)) + 0.8 * _off(y6, 4),
            0.2 * _on(y3, 4) + 0.8 * (_off(y1, 1) + _off(y2, 3)),
            0.8 * (_off(y1, 1) + _off(y2, 2)),
            0.8 * (_off(y2, 4) + _off(y3, 4)),
            0.8 * _on(y7, 2) + 7 * _on(y8, 5) + 0.8 * _off(y9, 4) - 4 * y7 * y10,
            0.8 * (_off(y1, 4) + _off(y10, 1)),
            0.2 * _on(y9, 2) + 0.8 * _off(y7, 4),
            0.1 + 4 / (1 + y10**3) - 4 * y7 * y10,
        ]
        return namespace(state).concatenate(production, axis=-1) - state

    def noise_matrix(self, x: ArrayLike) -> Float[Array, "*batch d d"]:
        """Gives noise·I at every state, as ``System.noise_matrix``."""
        return scaled_identity(self.as_states(x), self.noise)

    def initial(self, trajectories: int, rng: np.random.Generator) -> Float[np.ndarray, "trajectories d"]:
        """Draws states uniformly in [0, 2], y₇ in [0, 6], as ``System.initial``."""
        return rng.uniform(0.0, [2.0] * 6 + [6.0] + [2.0] * 3, (trajectories, 10))


def _on(y: Float[Array, "*batch"], n: int) -> Float[Array, "*batch"]:
    """Computes the activation H⁺(y, n) = yⁿ/(½ⁿ + yⁿ)."""
    return y**n / (0.5**n + y**n)


def _off(y: Float[Array, "*batch"], n: int) -> Float[Array, "*batch"]:
    """Computes the repression H⁻(y, n) = ½ⁿ/(½ⁿ + yⁿ)."""
    return 0.5**n / (0.5**n + y**n)
