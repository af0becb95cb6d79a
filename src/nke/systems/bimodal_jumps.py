"""Jumps whose rate and law both depend on the state."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float

from nke.arrays import Array, namespace
from nke.mixtures import GaussianMixture
from nke.systems.base import scaled_identity
from nke.systems.euler_maruyama import EulerMaruyamaScheme

NOISE = 0.5
JUMP_LENGTH = 1.5
JUMP_SPREAD = 0.2


@dataclass(frozen=True)
class BimodalJumps(EulerMaruyamaScheme):
    """A planar Ornstein–Uhlenbeck process that jumps to and fro, with S(u) = 1/(1 + e⁻ᵘ):

    f = −x,  g = I/2,  λ(x) = ½ + 3/2·S(2x₁),
    h_x = S(x₂) N(+1.5e₁, 0.2²I) + (1 − S(x₂)) N(−1.5e₁, 0.2²I).
    """

    dimension: int = field(default=2, init=False, repr=False)

    duration: ClassVar[float] = 5.0
    interval: ClassVar[float] = 0.05

    @property
    def names(self) -> tuple[str, ...]:
        return ("x1", "x2")

    @property
    def has_jumps(self) -> bool:
        return True

    def drift(self, x: Any) -> Float[Array, "*batch d"]:
        return -self.as_states(x)

    def noise_matrix(self, x: Any) -> Float[Array, "*batch d d"]:
        return scaled_identity(self.as_states(x), NOISE)

    def jump_rate(self, x: Any) -> Float[Array, "*batch"]:
        x = self.as_states(x)
        return namespace(x).asarray(0.5 + 1.5 * _sigmoid(2 * x)[..., 0])

    def jump_law(self, x: Any) -> GaussianMixture:
        x = self.as_states(x)
        xp = namespace(x)
        forward = _sigmoid(x)[..., 1]
        means = xp.asarray([[JUMP_LENGTH, 0.0], [-JUMP_LENGTH, 0.0]], dtype=x.dtype)
        covariances = xp.stack([JUMP_SPREAD**2 * xp.eye(2, dtype=x.dtype)] * 2)
        batch = x.shape[:-1]
        return GaussianMixture(
            xp.stack([forward, 1 - forward], axis=-1),
            xp.broadcast_to(means, (*batch, 2, 2)),
            xp.broadcast_to(covariances, (*batch, 2, 2, 2)),
        )

    def initial(self, trajectories: int, rng: np.random.Generator) -> Float[np.ndarray, "trajectories d"]:
        return rng.standard_normal((trajectories, 2))


def _sigmoid(u: Float[Array, "*batch"]) -> Float[Array, "*batch"]:
    return (1 + namespace(u).tanh(u / 2)) / 2  # tanh does not overflow where exp(−u) would
