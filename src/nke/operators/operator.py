"""What every term of the Kolmogorov equation can do."""

import abc
from typing import NamedTuple

import equinox as eqx
from jaxtyping import Array, Float

from nke.mixtures import GaussianMixture
from nke.operators.quadrature import Quadrature

Step = Float[Array, ""] | float


class PacketRate(NamedTuple):
    """Time derivative of the parameters (π, μ, Σ) of a Gaussian packet.

    Attributes:
        weight: Of the weight π.
        mean: Of the mean μ.
        covariance: Of the covariance Σ.

    Example:
        >>> import jax.numpy as jnp
        >>> advection, rule = nke.operators.Advection(lambda x: -x), nke.operators.Cubature()
        >>> round(float(advection.rate(jnp.array([2.0]), jnp.array([[0.1]]), rule).covariance[0, 0]), 3)
        -0.2
    """

    weight: Float[Array, ""]
    mean: Float[Array, " d"]
    covariance: Float[Array, "d d"]


class Noise(NamedTuple):
    """The random numbers that one particle needs for one step.

    Attributes:
        diffusion: Standard normal.
        choice: Uniform on [0, 1): which component of H^s.
        jump: Standard normal.
        signs: ±1 for every pair of coordinates.

    Example:
        >>> import jax.numpy as jnp
        >>> noise = nke.operators.Noise(jnp.ones(1), jnp.asarray(0.5), jnp.zeros(1), jnp.zeros(0))
        >>> round(float(nke.operators.Diffusion(lambda x: jnp.eye(1)).move(jnp.zeros(1), 0.25, noise)[0]), 3)
        0.5
    """

    diffusion: Float[Array, " d"]
    choice: Float[Array, ""]
    jump: Float[Array, " d"]
    signs: Float[Array, " pairs"]


class Operator(eqx.Module):
    """A term of L = A + D + J, for one packet, one mixture or one particle; vmap for many.

    Example:
        >>> isinstance(nke.operators.Advection(lambda x: -x), nke.operators.Operator)
        True
    """

    @abc.abstractmethod
    def rate(self, mean: Float[Array, " d"], covariance: Float[Array, "d d"], quadrature: Quadrature) -> PacketRate:
        """The projected generator Π₁ ∘ L ∘ Π₁† acting on the packet (1, μ, Σ).

        Args:
            mean: Mean μ of the packet.
            covariance: Covariance Σ of the packet.
            quadrature: Rule for inner products with the packet.

        Returns:
            Time derivatives of weight, mean and covariance.

        Example:
            >>> import jax.numpy as jnp
            >>> advection = nke.operators.Advection(lambda x: -2 * x)
            >>> rate = advection.rate(jnp.ones(1), jnp.eye(1), nke.operators.Cubature())
            >>> rate.mean.tolist(), rate.covariance.tolist()  # −2μ and −4Σ
            ([-2.0], [[-4.0]])
        """

    @abc.abstractmethod
    def semigroup(self, mixture: GaussianMixture, step: Step, quadrature: Quadrature) -> GaussianMixture:
        """The projected semigroup e^{L s} acting on a mixture.

        Args:
            mixture: Law at the start.
            step: The time s.
            quadrature: Rule for inner products with its components.

        Returns:
            Law at the end.

        Example:
            >>> import jax.numpy as jnp
            >>> diffusion = nke.operators.Diffusion(lambda x: jnp.eye(1))
            >>> point = nke.GaussianMixture.point(jnp.zeros(1))
            >>> diffusion.semigroup(point, 0.5, nke.operators.Cubature()).covariances.tolist()  # a·s
            [[[0.5]]]
        """

    @abc.abstractmethod
    def move(self, x: Float[Array, " d"], step: Step, noise: Noise) -> Float[Array, " d"]:
        """One particle moved over the step: a draw from e^{L s} δ_x.

        Args:
            x: State of the particle.
            step: The time s.
            noise: Its random numbers.

        Returns:
            Its new state.

        Example:
            >>> import jax.numpy as jnp
            >>> noise = nke.operators.Noise(jnp.ones(1), jnp.asarray(0.5), jnp.zeros(1), jnp.zeros(0))
            >>> nke.operators.Diffusion(lambda x: 2 * jnp.eye(1)).move(jnp.zeros(1), 0.25, noise).tolist()  # g·√s·ξ
            [1.0]
        """
