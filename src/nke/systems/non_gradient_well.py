"""Two wells with a drift that circulates: the planar example of DynGMA."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from nke.arrays import Array, namespace
from nke.systems.euler_maruyama import EulerMaruyamaScheme


@dataclass(frozen=True)
class NonGradientWell(EulerMaruyamaScheme):
    """Two wells whose drift is no gradient: the planar example of DynGMA (Zhu and Li, arXiv 2402.14475).

        f₁ = x(1 − x²)/5 + y(1 + sin x),  f₂ = −y + 2x(1 − x²)(1 + sin x),  a = diag(1/50, 1/5)

    With V = 5(1 − x²)² + 5y² the drift is −a∇V/2 + l, where l = (1 + sin x)(y, 2x(1 − x²)) circulates along the level
    sets of V: l·∇V = 0. Paths start uniformly in [−2, 2] × [−3, 3]. As published, a recording has 20 steps of 0.05,
    each of ten Euler–Maruyama steps.

    Args:
        dt: Longest step of the simulation, > 0.

    Example:
        >>> system = nke.systems.NonGradientWell()
        >>> system.drift([0.0, 1.0]).tolist(), system.diffusion([0.0, 1.0]).diagonal().round(3).tolist()
        ([1.0, -1.0], [0.02, 0.2])
    """

    dt: float = field(default=5e-3, kw_only=True)
    dimension: int = field(default=2, init=False, repr=False)

    duration: ClassVar[float] = 1.0
    interval: ClassVar[float] = 0.05

    @property
    def names(self) -> tuple[str, ...]:
        """The names x and y.

        Example:
            >>> nke.systems.NonGradientWell().names
            ('x', 'y')
        """
        return ("x", "y")

    def drift(self, x: ArrayLike) -> Float[Array, "*batch d"]:
        """Computes the descent into the wells and the circulation around them, as ``System.drift``."""
        state = self.as_states(x)
        xp = namespace(state)
        along, across = state[..., 0], state[..., 1]
        slope, turn = along * (1 - along * along), 1 + xp.sin(along)
        return xp.stack([slope / 5 + across * turn, -across + 2 * slope * turn], axis=-1)

    def noise_matrix(self, x: ArrayLike) -> Float[Array, "*batch d d"]:
        """Gives diag(√(1/50), √(1/5)) at every state, as ``System.noise_matrix``."""
        state = self.as_states(x)
        xp = namespace(state)
        return xp.broadcast_to(xp.asarray(np.diag([0.02, 0.2]) ** 0.5, dtype=state.dtype), (*state.shape, 2))

    def initial(self, trajectories: int, rng: np.random.Generator) -> Float[np.ndarray, "trajectories d"]:
        """Draws states uniformly in [−2, 2] × [−3, 3], as ``System.initial``."""
        return rng.uniform([-2.0, -3.0], [2.0, 3.0], (trajectories, 2))
