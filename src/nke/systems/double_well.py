"""A double well with jumps along its axis."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float

from nke.arrays import Array, namespace, outer
from nke.errors import UnavailableError
from nke.mixtures import GaussianMixture
from nke.systems.base import coordinate_names, scaled_identity
from nke.systems.cubic_well import CubicWell
from nke.systems.euler_maruyama import EulerMaruyamaScheme
from nke.systems.parameters import require_dimension, require_numbers


@dataclass(frozen=True)
class DoubleWell(EulerMaruyamaScheme):
    """The paper's double-well jump diffusion (appendix "Three-dimensional double-well jump-diffusion"):

        f₁ = x₁(1 − x₁²),  f_i = −c x_i (i ≥ 2),  g = noise·I,
        λ = rate,  h = N(0, jump_scale² e₁e₁ᵀ).

    The drift is −∇V with V = (x₁² − 1)²/4 + c/2 Σ_{i≥2} x_i²; ``rate = 0`` switches the jumps off.
    """

    confinement: float = 1.0
    noise: float = 0.5
    rate: float = 1.0
    jump_scale: float = 1.0
    dimension: int = 3

    duration: ClassVar[float] = 5.0
    interval: ClassVar[float] = 0.05

    def __post_init__(self):
        super().__post_init__()
        require_numbers(self, "confinement", "noise", "rate", at_least=0)
        require_numbers(self, "jump_scale", above=0)
        require_dimension(self)

    @property
    def names(self) -> tuple[str, ...]:
        return coordinate_names("x", self.dimension)

    @property
    def has_jumps(self) -> bool:
        return self.rate > 0

    def drift(self, x: Any) -> Float[Array, "*batch d"]:
        x = self.as_states(x)
        axis = x[..., :1]
        return namespace(x).concatenate([axis * (1 - axis * axis), -self.confinement * x[..., 1:]], axis=-1)

    def noise_matrix(self, x: Any) -> Float[Array, "*batch d d"]:
        return scaled_identity(self.as_states(x), self.noise)

    def jump_rate(self, x: Any) -> Float[Array, "*batch"]:
        x = self.as_states(x)
        return namespace(x).full_like(x[..., 0], self.rate)

    def jump_law(self, x: Any) -> GaussianMixture:
        if not self.has_jumps:
            self.refuse_jump_law()
        x = self.as_states(x)
        xp = namespace(x)
        along_axis = xp.asarray(np.eye(self.dimension)[0], dtype=x.dtype)
        covariance = self.jump_scale**2 * outer(along_axis, along_axis)
        return GaussianMixture(
            xp.ones_like(x[..., :1]),
            xp.zeros_like(x[..., None, :]),
            xp.broadcast_to(covariance, (*x.shape[:-1], 1, *covariance.shape)),
        )

    def sample_jumps(self, x: Float[np.ndarray, "m d"], rng: np.random.Generator) -> Float[np.ndarray, "m d"]:
        """One jump at each state, without building the law: it is the same everywhere."""
        jumps = np.zeros_like(x)
        jumps[:, 0] = self.jump_scale * rng.standard_normal(len(x))
        return jumps

    def log_prob(self, x_next: Any, x: Any, step: Any) -> Float[np.ndarray, "*batch"]:
        """Along the axis by quadrature of the forward equation (``CubicWell``), across it exactly."""
        if self.noise == 0:
            raise UnavailableError("a double well without noise has no transition density; set noise > 0")
        x_next, x, step = self.as_transitions(x_next, x, step)
        batch = np.broadcast_shapes(x_next.shape[:-1], x.shape[:-1], step.shape)
        y, x = (np.broadcast_to(a, (*batch, self.dimension)).reshape(-1, self.dimension) for a in (x_next, x))
        step = np.broadcast_to(step, batch).ravel()
        decay = np.exp(-self.confinement * step)[:, None]
        time = step if self.confinement == 0 else -np.expm1(-2 * self.confinement * step) / (2 * self.confinement)
        variance = self.noise**2 * time[:, None]
        across = -((y - decay * x)[:, 1:] ** 2) / (2 * variance) - np.log(2 * np.pi * variance) / 2
        log_density = across.sum(axis=1)
        well = CubicWell(self.noise, self.rate, self.jump_scale)
        # Differences of recording times are equal only up to rounding.
        lengths, kind = np.unique(step.astype(np.float32), return_inverse=True)
        for i in range(len(lengths)):
            same = kind == i
            log_density[same] += well.log_prob(y[same, 0], x[same, 0], float(step[same].mean()))
        return log_density.reshape(batch)

    def initial(self, trajectories: int, rng: np.random.Generator) -> Float[np.ndarray, "trajectories d"]:
        return rng.standard_normal((trajectories, self.dimension))
