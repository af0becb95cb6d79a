"""The law of one velocity jump: an elastic collision of a moving sphere with a particle of an ideal gas."""

import math
from dataclasses import dataclass

import jax
import numpy as np
import scipy.special
from jaxtyping import Float
from numpy.typing import ArrayLike
from scipy.special import ndtr

from nke.arrays import Array, as_numbers, namespace, outer
from nke.errors import InputError


def mean_relative_speed(speed: Float[Array, "*batch"], spread: float) -> Float[Array, "*batch"]:
    """Computes E|v − V| for v ~ N(0, spread² I) and |V| = speed.

    It is σ[√(2/π) e^{−q²/2} + (q + 1/q) erf(q/√2)] with q = |V|/σ.
    """
    xp = namespace(speed)
    q = xp.maximum(speed / spread, 1e-6)  # below, 1/q would not be finite; the value is the limit's to 1e-12
    erf = scipy.special.erf if xp is np else jax.scipy.special.erf
    return xp.asarray(spread * (math.sqrt(2 / math.pi) * xp.exp(-q * q / 2) + (q + 1 / q) * erf(q / math.sqrt(2))))


@dataclass(frozen=True, eq=False)
class CollisionLaw:
    """The law of the jump (0, j) of (X, V) at a collision, or a batch of such laws.

        h_V(j) = ((μ+1)/2)² N(g + V·e; 0, σ²) / (π E|v − V| |j|),  e = j/|j|,  g = (μ+1)|j|/2

    Here e is the direction of the jump and g the speed of approach along the normal.

    Attributes:
        velocity: Velocities V of the sphere before the collision, shape (..., 3).
        mass_ratio: Mass μ of the sphere in masses of a gas particle.
        spread: Standard deviation σ of a component of a gas particle's velocity.

    Example:
        >>> law = nke.systems.RarefiedGas().jump_law(np.zeros(6))
        >>> law.covariance.diagonal().round(2).tolist()
        [0.0, 0.0, 0.0, 0.24, 0.24, 0.24]
    """

    velocity: Float[np.ndarray, "*batch 3"]
    mass_ratio: float
    spread: float

    @property
    def dimension(self) -> int:
        """Six: three coordinates of the position, which does not jump, and three of the velocity."""
        return 6

    def log_prob(self, jump: ArrayLike) -> Float[np.ndarray, "*points"]:
        """Computes log h_V per volume of velocity; −∞ where the position jumps.

        Args:
            jump: Jumps, shape (..., 6).

        Returns:
            Log density of each jump, shape (...).

        Raises:
            InputError: The jumps do not have six coordinates.
        """
        jump = np.asarray(as_numbers(jump, "jumps"), np.float64)
        if jump.shape[-1:] != (6,):
            raise InputError(f"expected jumps of shape (..., 6), but got {jump.shape}")
        size = _length(jump[..., 3:])
        with np.errstate(divide="ignore", invalid="ignore"):
            along = np.sum(self.velocity * jump[..., 3:], axis=-1) / size
            half = (self.mass_ratio + 1) / 2
            flux = math.pi * size * mean_relative_speed(_length(self.velocity), self.spread)
            gaussian = -(((half * size + along) / self.spread) ** 2) / 2 - math.log(
                math.sqrt(2 * math.pi) * self.spread
            )
            density = 2 * math.log(half) + gaussian - np.log(flux)
        still = (jump[..., :3] == 0).all(axis=-1) & (size > 0)
        return np.asarray(np.where(still, density, -math.inf))

    def sample(self, count: int, seed: int | np.random.Generator) -> Float[np.ndarray, "count *batch 6"]:
        """Draws jumps from each law of the batch.

        Args:
            count: Number of draws.
            seed: A seed, or a NumPy generator that is advanced.

        Returns:
            Jumps, shape (count, ..., 6).
        """
        rng = np.random.default_rng(seed)
        velocity = np.broadcast_to(self.velocity, (count, *self.velocity.shape)).reshape(-1, 3)
        approach = np.empty_like(velocity)
        left = np.arange(len(velocity))
        while left.size:  # v ∝ |v − V| f(v) from (|v| + |V|) f(v)
            v, kept = self._propose(velocity[left], rng)
            approach[left[kept]] = v[kept] - velocity[left[kept]]
            left = left[~kept]
        normal = _directions(len(velocity), rng) - _unit(approach)  # the cosine law: a uniform impact disc
        normal /= _length(normal)[:, None]
        kick = 2 / (self.mass_ratio + 1) * np.sum(approach * normal, axis=-1, keepdims=True)
        jumps = np.hstack([np.zeros_like(normal), kick * normal])
        return jumps.reshape(count, *self.velocity.shape[:-1], 6)

    def _propose(self, velocity: Float[np.ndarray, "m 3"], rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Draws gas velocities from (|v| + |V|) f(v) and tells which of them to keep."""
        number, speed = len(velocity), _length(velocity)
        thermal = self.spread * math.sqrt(8 / math.pi)
        fast = np.sqrt(rng.chisquare(4, number))[:, None] * _directions(number, rng)
        weighted = (rng.random(number) * (thermal + speed) < thermal)[:, None]
        v = self.spread * np.where(weighted, fast, rng.standard_normal((number, 3)))
        bound = _length(v) + speed
        return v, rng.random(number) * bound < _length(v - velocity)

    @property
    def mean(self) -> Float[np.ndarray, "*batch 6"]:
        """Mean of a jump, shape (..., 6)."""
        mean = self._moments()[0] * _unit(self.velocity)
        return np.concatenate([np.zeros_like(mean), mean], axis=-1)

    @property
    def covariance(self) -> Float[np.ndarray, "*batch 6 6"]:
        """Covariance of a jump, shape (..., 6, 6)."""
        first, along, across = self._moments()
        axis = _unit(self.velocity)
        covariance = np.zeros((*axis.shape[:-1], 6, 6))
        covariance[..., 3:, 3:] = (along - first**2 - across)[..., None] * outer(axis, axis)
        covariance[..., 3:, 3:] += across[..., None] * np.eye(3)
        return covariance

    def _moments(
        self,
    ) -> tuple[Float[np.ndarray, "*batch 1"], Float[np.ndarray, "*batch 1"], Float[np.ndarray, "*batch 1"]]:
        """Computes E j∥, E j∥² and E j⊥² (of one of two components) along and across V.

        The directions of jumps are integrated by Gauss–Legendre quadrature over c = cos(e, V), the speeds of approach
        in closed form: I_k(a) = ∫₀^∞ g^k N(g + a; 0, σ²) dg, I_{k+1} = −a I_k + k σ² I_{k−1}.
        """
        cosines, weights = np.polynomial.legendre.leggauss(64)
        a = _length(self.velocity)[..., None] * cosines
        zeroth = ndtr(-a / self.spread)
        first = self.spread * np.exp(-((a / self.spread) ** 2) / 2) / math.sqrt(2 * math.pi) - a * zeroth
        second = -a * first + self.spread**2 * zeroth
        third = -a * second + 2 * self.spread**2 * first
        mean, along, square = (
            (weights * values).sum(axis=-1, keepdims=True) / (weights * first).sum(axis=-1, keepdims=True)
            for values in (second * cosines, third * cosines**2, third)
        )
        kick = 2 / (self.mass_ratio + 1)
        return kick * mean, kick**2 * along, kick**2 * (square - along) / 2


def _directions(number: int, rng: np.random.Generator) -> Float[np.ndarray, "m 3"]:
    """Draws directions, uniform on the unit sphere."""
    return _unit(rng.standard_normal((number, 3)))


def _unit(vectors: Float[np.ndarray, "*batch 3"]) -> Float[np.ndarray, "*batch 3"]:
    """Scales vectors to length one; zero stays zero."""
    length = _length(vectors)[..., None]
    return vectors / np.where(length > 0, length, 1.0)


def _length(vectors: Float[np.ndarray, "*batch 3"]) -> Float[np.ndarray, "*batch"]:
    """Computes the lengths of vectors."""
    return np.asarray(np.linalg.norm(vectors, axis=-1))
