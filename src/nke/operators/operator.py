"""What every term of the Kolmogorov equation can do."""

import abc
from typing import NamedTuple

import equinox as eqx
from jaxtyping import Array, Float

from nke.mixtures import GaussianMixture
from nke.operators.quadrature import Quadrature

Step = Float[Array, ""] | float


class PacketRate(NamedTuple):
    """Time derivative of the parameters (π, μ, Σ) of a Gaussian packet."""

    weight: Float[Array, ""]
    mean: Float[Array, " d"]
    covariance: Float[Array, "d d"]


class Noise(NamedTuple):
    """The random numbers that one particle needs for one step."""

    diffusion: Float[Array, " d"]  # standard normal
    choice: Float[Array, ""]  # uniform on [0, 1): which component of H^s
    jump: Float[Array, " d"]  # standard normal
    signs: Float[Array, " pairs"]  # ±1 for every pair of coordinates


class Operator(eqx.Module):
    """A term of L = A + D + J, for one packet, one mixture or one particle; vmap for many."""

    @abc.abstractmethod
    def rate(self, mean: Float[Array, " d"], covariance: Float[Array, "d d"], quadrature: Quadrature) -> PacketRate:
        """The projected generator Π₁ ∘ L ∘ Π₁† acting on the packet (1, μ, Σ)."""

    @abc.abstractmethod
    def semigroup(self, mixture: GaussianMixture, step: Step, quadrature: Quadrature) -> GaussianMixture:
        """The projected semigroup e^{L s} acting on a mixture."""

    @abc.abstractmethod
    def move(self, x: Float[Array, " d"], step: Step, noise: Noise) -> Float[Array, " d"]:
        """One particle moved over the step: a draw from e^{L s} δ_x."""
