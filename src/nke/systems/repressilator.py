"""The repressilator: three genes that repress each other in a ring, with demographic noise."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from nke.arrays import Array, namespace
from nke.systems.euler_maruyama import EulerMaruyamaScheme
from nke.systems.parameters import require_numbers


@dataclass(frozen=True)
class Repressilator(EulerMaruyamaScheme):
    """Three proteins, each repressing the next in a ring, with the demographic noise of births and deaths.

        dx_i = (b_i − x_i) dt + √((b_i + x_i)/volume) dW_i,  b_i = strength/(1 + x_{i−1}^exponent) + leak

    It is the chemical Langevin equation of the protein-only repressilator; the defaults oscillate. The noise does not
    vanish at x_i = 0, so that a small volume can make a concentration negative: there it represses as zero does, and
    b_i + x_i counts as zero under the root where it is negative. At the default volume no path comes near. Paths start
    uniformly in [0.5, 4]³.

    Args:
        strength: Production without repressor, > 0.
        exponent: Exponent of the Hill function, > 0.
        leak: Production under full repression, > 0.
        volume: Number of molecules per unit of concentration, > 0.
        dt: Longest step of the simulation, > 0.

    Example:
        >>> system = nke.systems.Repressilator()
        >>> system.drift([1.0, 2.0, 0.0]).round(3).tolist()  # repressed by the third, the first, the second
        [9.1, 3.1, 1.211]
    """

    strength: float = 10.0
    exponent: float = 3.0
    leak: float = 0.1
    volume: float = 100.0
    dimension: int = field(default=3, init=False, repr=False)

    duration: ClassVar[float] = 10.0
    interval: ClassVar[float] = 0.1

    def __post_init__(self):
        super().__post_init__()
        require_numbers(self, "strength", "exponent", "leak", "volume", above=0)

    @property
    def names(self) -> tuple[str, ...]:
        """The names x1, x2 and x3.

        Example:
            >>> nke.systems.Repressilator().names
            ('x1', 'x2', 'x3')
        """
        return ("x1", "x2", "x3")

    def drift(self, x: ArrayLike) -> Float[Array, "*batch d"]:
        """Computes b_i − x_i, as ``System.drift``."""
        state = self.as_states(x)
        return self._births(state) - state

    def noise_matrix(self, x: ArrayLike) -> Float[Array, "*batch d d"]:
        """Gives √(max(b_i + x_i, 0)/volume) on the diagonal, as ``System.noise_matrix``."""
        state = self.as_states(x)
        xp = namespace(state)
        events = xp.maximum(self._births(state) + state, 0.0)
        return xp.sqrt(events / self.volume)[..., None] * xp.eye(3, dtype=state.dtype)

    def initial(self, trajectories: int, rng: np.random.Generator) -> Float[np.ndarray, "trajectories d"]:
        """Draws states uniformly in [0.5, 4]³, as ``System.initial``."""
        return rng.uniform(0.5, 4.0, (trajectories, 3))

    def _births(self, state: Float[Array, "*batch d"]) -> Float[Array, "*batch d"]:
        """Computes the production b_i, by the protein before it in the ring."""
        xp = namespace(state)
        repressor = xp.maximum(xp.roll(state, 1, axis=-1), 0.0)
        return self.strength / (1 + repressor**self.exponent) + self.leak
