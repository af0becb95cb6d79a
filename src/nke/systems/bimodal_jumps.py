"""Jumps whose rate and law both depend on the state."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from nke.arrays import Array, namespace
from nke.mixtures import GaussianMixture
from nke.systems.base import scaled_identity
from nke.systems.euler_maruyama import EulerMaruyamaScheme


@dataclass(frozen=True)
class BimodalJumps(EulerMaruyamaScheme):
    """A planar Ornstein–Uhlenbeck process that jumps to and fro, at a rate and with a law that follow the state.

        f = −x,  g = I/2,  λ(x) = ½ + 3/2·S(2x₁),
        h_x = S(x₂) N(+1.5e₁, 0.2²I) + (1 − S(x₂)) N(−1.5e₁, 0.2²I),  S(u) = 1/(1 + e⁻ᵘ)

    Args:
        dt: Longest step of the simulation, > 0.

    Example:
        >>> system = nke.systems.BimodalJumps()
        >>> system.jump_rate([0.0, 0.0]).tolist(), system.jump_law([0.0, 0.0]).components
        (1.25, 2)
    """

    dimension: int = field(default=2, init=False, repr=False)

    duration: ClassVar[float] = 5.0
    interval: ClassVar[float] = 0.05

    @property
    def names(self) -> tuple[str, ...]:
        """The names x1 and x2.

        Example:
            >>> nke.systems.BimodalJumps().names
            ('x1', 'x2')
        """
        return ("x1", "x2")

    @property
    def has_jumps(self) -> bool:
        """True: the rate is at least ½ everywhere.

        Example:
            >>> nke.systems.BimodalJumps().has_jumps
            True
        """
        return True

    def drift(self, x: ArrayLike) -> Float[Array, "*batch d"]:
        """Computes f = −x, as ``System.drift``."""
        return -self.as_states(x)

    def noise_matrix(self, x: ArrayLike) -> Float[Array, "*batch d d"]:
        """Gives g = I/2 at every state, as ``System.noise_matrix``."""
        return scaled_identity(self.as_states(x), 0.5)

    def jump_rate(self, x: ArrayLike) -> Float[Array, "*batch"]:
        """Computes λ(x) = ½ + 3/2·S(2x₁), as ``System.jump_rate``."""
        state = self.as_states(x)
        return namespace(state).asarray(0.5 + 1.5 * _sigmoid(2 * state)[..., 0])

    def jump_law(self, x: ArrayLike) -> GaussianMixture:
        """Gives the two components of h_x, forward and back, as ``System.jump_law``."""
        state = self.as_states(x)
        xp = namespace(state)
        forward = _sigmoid(state)[..., 1]
        means = xp.asarray([[1.5, 0.0], [-1.5, 0.0]], dtype=state.dtype)
        covariances = xp.stack([0.2**2 * xp.eye(2, dtype=state.dtype)] * 2)
        batch = state.shape[:-1]
        return GaussianMixture(
            xp.stack([forward, 1 - forward], axis=-1),
            xp.broadcast_to(means, (*batch, 2, 2)),
            xp.broadcast_to(covariances, (*batch, 2, 2, 2)),
        )

    def initial(self, trajectories: int, rng: np.random.Generator) -> Float[np.ndarray, "trajectories d"]:
        """Draws states from N(0, I), as ``System.initial``."""
        return rng.standard_normal((trajectories, 2))


def _sigmoid(u: Float[Array, "*batch"]) -> Float[Array, "*batch"]:
    """Computes S(u) = 1/(1 + e⁻ᵘ)."""
    return (1 + namespace(u).tanh(u / 2)) / 2  # tanh does not overflow where exp(−u) would
