"""A double well with jumps along its axis."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from nke.arrays import Array, namespace, outer
from nke.errors import UnavailableError
from nke.mixtures import GaussianMixture
from nke.systems.base import coordinate_names, scaled_identity
from nke.systems.cubic_well import CubicWell
from nke.systems.euler_maruyama import EulerMaruyamaScheme
from nke.systems.parameters import require_dimension, require_numbers


@dataclass(frozen=True)
class DoubleWell(EulerMaruyamaScheme):
    """The paper's double-well jump diffusion (appendix "Three-dimensional double-well jump-diffusion").

        f₁ = x₁(1 − x₁²),  f_i = −c x_i (i ≥ 2),  g = noise·I,
        λ = rate,  h = N(0, jump_scale² e₁e₁ᵀ)

    The drift is −∇V with V = (x₁² − 1)²/4 + c/2 Σ_{i≥2} x_i². Paths start from N(0, I).

    Args:
        confinement: Strength c ≥ 0 of the confinement across the axis.
        noise: Strength of the noise, ≥ 0.
        rate: Jumps per unit time, ≥ 0; zero switches them off.
        jump_scale: Standard deviation of a jump along the axis, > 0.
        dimension: Number of coordinates, ≥ 1.
        dt: Longest step of the simulation, > 0.

    Example:
        >>> system = nke.systems.DoubleWell(rate=0.5, dimension=2)
        >>> system.drift([0.5, 1.0]).tolist(), system.jump_rate([0.5, 1.0]).tolist()
        ([0.375, -1.0], 0.5)
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
        """The names x1, x2, …; x alone in one dimension.

        Example:
            >>> nke.systems.DoubleWell(dimension=1).names, nke.systems.DoubleWell(dimension=2).names
            (('x',), ('x1', 'x2'))
        """
        return coordinate_names("x", self.dimension)

    @property
    def has_jumps(self) -> bool:
        """Whether ``rate`` is positive.

        Example:
            >>> nke.systems.DoubleWell(rate=0.5).has_jumps, nke.systems.DoubleWell(rate=0).has_jumps
            (True, False)
        """
        return self.rate > 0

    def drift(self, x: ArrayLike) -> Float[Array, "*batch d"]:
        """Computes x₁(1 − x₁²) along the axis and −c x_i across it, as ``System.drift``."""
        state = self.as_states(x)
        axis = state[..., :1]
        return namespace(state).concatenate([axis * (1 - axis * axis), -self.confinement * state[..., 1:]], axis=-1)

    def noise_matrix(self, x: ArrayLike) -> Float[Array, "*batch d d"]:
        """Gives noise·I at every state, as ``System.noise_matrix``."""
        return scaled_identity(self.as_states(x), self.noise)

    def jump_rate(self, x: ArrayLike) -> Float[Array, "*batch"]:
        """Gives ``rate`` at every state, as ``System.jump_rate``."""
        state = self.as_states(x)
        return namespace(state).full_like(state[..., 0], self.rate)

    def jump_law(self, x: ArrayLike) -> GaussianMixture:
        """Gives N(0, jump_scale² e₁e₁ᵀ) at every state, as ``System.jump_law``."""
        if not self.has_jumps:
            self.refuse_jump_law()
        state = self.as_states(x)
        xp = namespace(state)
        along_axis = xp.asarray(np.eye(self.dimension)[0], dtype=state.dtype)
        covariance = self.jump_scale**2 * outer(along_axis, along_axis)
        return GaussianMixture(
            xp.ones_like(state[..., :1]),
            xp.zeros_like(state[..., None, :]),
            xp.broadcast_to(covariance, (*state.shape[:-1], 1, *covariance.shape)),
        )

    def sample_jumps(self, x: Float[np.ndarray, "m d"], rng: np.random.Generator) -> Float[np.ndarray, "m d"]:
        """Draws one jump at each state, without building the law: it is the same everywhere."""
        jumps = np.zeros_like(x)
        jumps[:, 0] = self.jump_scale * rng.standard_normal(len(x))
        return jumps

    def log_density(
        self, x_next: Float[np.ndarray, "*#b d"], x: Float[np.ndarray, "*#b d"], step: Float[np.ndarray, "*#b"]
    ) -> Float[np.ndarray, "*b"]:
        """Computes the log transition density, as ``System.log_density``.

        Along the axis it comes from quadrature of the forward equation (``CubicWell``); across it, it is exact.
        """
        if self.noise == 0:
            raise UnavailableError("a double well without noise has no transition density; set noise > 0")
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
        """Draws states from N(0, I), as ``System.initial``."""
        return rng.standard_normal((trajectories, self.dimension))
