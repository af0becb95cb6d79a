"""The stochastic harmonic oscillator of the paper's first figure."""

from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike
from scipy.linalg import expm

from nke.arrays import Array, namespace, symmetrise
from nke.systems.linear_gaussian import LinearGaussian
from nke.systems.parameters import require_numbers


@dataclass(frozen=True)
class HarmonicOscillator(LinearGaussian):
    """The stochastic harmonic oscillator of the paper's first figure.

        dq = v dt,  dv = (−frequency² q − damping v) dt + noise dW

    The noise moves only the velocity: the diffusion tensor is singular, the transition density is not. Paths start
    from N(0, I).

    Args:
        frequency: Angular frequency, > 0.
        damping: Rate of damping, ≥ 0.
        noise: Strength of the noise, > 0.

    Example:
        >>> system = nke.systems.HarmonicOscillator(frequency=2.0, damping=0.5)
        >>> system.drift([1.0, 1.0]).tolist(), system.diffusion([1.0, 1.0]).tolist()
        ([1.0, -4.5], [[0.0, 0.0], [0.0, 0.25]])
    """

    frequency: float = 1.0
    damping: float = 0.5
    noise: float = 0.5
    dimension: int = field(default=2, init=False, repr=False)

    duration: ClassVar[float] = 10.0
    interval: ClassVar[float] = 0.1

    def __post_init__(self):
        require_numbers(self, "frequency", "noise", above=0)
        require_numbers(self, "damping", at_least=0)

    @property
    def names(self) -> tuple[str, ...]:
        """The names position and velocity.

        Example:
            >>> nke.systems.HarmonicOscillator().names
            ('position', 'velocity')
        """
        return ("position", "velocity")

    @property
    def centre(self) -> float:
        """Resting point of every coordinate, zero.

        Example:
            >>> system = nke.systems.HarmonicOscillator()
            >>> abs(system.drift([system.centre, system.centre])).tolist()  # at rest
            [0.0, 0.0]
        """
        return 0.0

    def drift(self, x: ArrayLike) -> Float[Array, "*batch d"]:
        """Computes (v, −frequency² q − damping v), as ``System.drift``."""
        state = self.as_states(x)
        position, velocity = state[..., 0], state[..., 1]
        force = -(self.frequency**2) * position - self.damping * velocity
        return namespace(state).stack([velocity, force], axis=-1)

    def noise_matrix(self, x: ArrayLike) -> Float[Array, "*batch d 1"]:
        """Gives (0, noise)ᵀ at every state, as ``System.noise_matrix``."""
        state = self.as_states(x)
        xp = namespace(state)
        return xp.broadcast_to(xp.asarray([[0.0], [self.noise]], dtype=state.dtype), (*state.shape, 1))

    def transition_matrices(
        self, step: Float[np.ndarray, "*batch"]
    ) -> tuple[Float[np.ndarray, "*batch d d"], Float[np.ndarray, "*batch d d"]]:
        """Computes F(s) and Q(s) by matrix exponentials, as ``LinearGaussian.transition_matrices``."""
        distinct, place = np.unique(step, return_inverse=True)
        pairs = [van_loan(self.frequency, self.damping, self.noise, float(s)) for s in distinct]
        flows, covariances = zip(*pairs, strict=True)
        return np.stack(flows)[place], np.stack(covariances)[place]

    def initial(self, trajectories: int, rng: np.random.Generator) -> Float[np.ndarray, "trajectories d"]:
        """Draws states from N(0, I), as ``System.initial``."""
        return rng.standard_normal((trajectories, 2))


@lru_cache(maxsize=128)  # a regular grid has a handful of distinct steps
def van_loan(
    frequency: float, damping: float, noise: float, step: float
) -> tuple[Float[np.ndarray, "2 2"], Float[np.ndarray, "2 2"]]:
    """Computes F = e^{As} and Q = ∫₀ˢ e^{Au} BBᵀ e^{Aᵀu} du from one matrix exponential (Van Loan, 1978).

    The exponential is taken for a fraction h of the step, in which its entries stay of order one,
    and with position in units of h, so that Q₁₁ ~ h³ is not lost beside Q₂₂ ~ h; then
    F(2h) = F(h)², Q(2h) = Q(h) + F(h) Q(h) F(h)ᵀ up to the whole step.
    """
    doublings = max(0, int(np.ceil(np.log2(step * (frequency + damping)))))
    h = step / 2**doublings
    drift = np.array([[0.0, 1.0], [-((frequency * h) ** 2), -damping * h]])
    kick = np.diag([0.0, noise**2 * h])
    block = expm(np.block([[-drift, kick], [np.zeros((2, 2)), drift.T]]))
    flow = block[2:, 2:].T
    covariance = np.asarray(symmetrise(flow @ block[:2, 2:]))
    for _ in range(doublings):
        covariance = covariance + flow @ covariance @ flow.T
        flow = flow @ flow
    units = np.array([h, 1.0])
    return flow * units[:, None] / units, covariance * units[:, None] * units
