"""Advection: A p = −∇·(f p) carries mass along the drift."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from nke.arrays import outer, symmetrise
from nke.mixtures import GaussianMixture
from nke.operators.operator import Noise, Operator, PacketRate, Step
from nke.operators.quadrature import Quadrature

LEAP = 5.0  # longest motion by drift in one step of the flow, in standard deviations of the data


class Advection(Operator):
    """The drift term.

    Attributes:
        drift: From a state to f(x).
        flow_steps: Runge–Kutta steps per application.

    Example:
        >>> import jax.numpy as jnp
        >>> advection = nke.operators.Advection(lambda x: -x, flow_steps=8)
        >>> round(float(advection.flow(jnp.array([1.0]), 1.0)[0]), 4)  # e^{−1}
        0.3679
    """

    drift: Callable[[Float[Array, " d"]], Float[Array, " d"]]
    flow_steps: int = eqx.field(static=True, default=1)

    def rate(self, mean: Float[Array, " d"], covariance: Float[Array, "d d"], quadrature: Quadrature) -> PacketRate:
        """Â(π, μ, Σ) = (0, ⟨f, G⟩, ⟨(x−μ)fᵀ + f(x−μ)ᵀ, G⟩).

        Args:
            mean: Mean μ of the packet.
            covariance: Covariance Σ of the packet.
            quadrature: Rule for inner products with the packet.

        Returns:
            Time derivatives of weight, mean and covariance.
        """

        def moments(x):
            f = self.drift(x)
            return f, 2 * symmetrise(outer(x - mean, f))

        return PacketRate(jnp.zeros_like(mean[0]), *quadrature.expectation(moments, mean, covariance))

    def flow(self, x: Float[Array, " d"], step: Step) -> Float[Array, " d"]:
        """Solution of x' = f(x) by the classical Runge–Kutta rule.

        Args:
            x: State at the start.
            step: How far to go in time; a negative step goes back.

        Returns:
            State at the end.

        Example:
            >>> import jax.numpy as jnp
            >>> end = nke.operators.Advection(lambda x: -x).flow(jnp.ones(1), 0.1)
            >>> round(float(end[0]), 4)  # e^{−0.1}
            0.9048
        """
        h = step / self.flow_steps

        def advance(_, x):
            k1 = tamed(h * self.drift(x), x)
            k2 = tamed(h * self.drift(x + k1 / 2), x)
            k3 = tamed(h * self.drift(x + k2 / 2), x)
            k4 = tamed(h * self.drift(x + k3), x)
            return x + (k1 + 2 * k2 + 2 * k3 + k4) / 6

        if self.flow_steps == 1:
            return advance(0, x)
        return jax.lax.fori_loop(0, self.flow_steps, advance, x)

    def semigroup(self, mixture: GaussianMixture, step: Step, quadrature: Quadrature) -> GaussianMixture:
        """Quadrature points of each component ride the flow; their moments are the new packet.

        Args:
            mixture: Law at the start.
            step: The time s.
            quadrature: Rule for inner products with its components.

        Returns:
            Law at the end.
        """
        weights = quadrature.weights(mixture.dimension, mixture.means.dtype)

        def advect(mean, covariance):
            points = jax.vmap(lambda x: self.flow(x, step))(quadrature.points(mean, covariance))
            moved = weights @ points
            centred = points - moved
            return moved, jnp.einsum("n,ni,nj->ij", weights, centred, centred)

        return GaussianMixture(mixture.weights, *jax.vmap(advect)(mixture.means, mixture.covariances))

    def move(self, x: Float[Array, " d"], step: Step, noise: Noise) -> Float[Array, " d"]:
        """The flow; a drift needs no random numbers.

        Args:
            x: State of the particle.
            step: The time s.
            noise: Its random numbers.

        Returns:
            Its new state.
        """
        return self.flow(x, step)


def tamed(shift: Float[Array, " d"], x: Float[Array, " d"]) -> Float[Array, " d"]:
    """A pull back towards the data is at most ``LEAP`` long: one that grows faster than x would overshoot and diverge.

    A drift that leads away is left alone: where its path becomes infinite, that is the model's own doing.

    Args:
        shift: The way that the drift would go in a step.
        x: The state.

    Returns:
        The way, shortened.

    Example:
        >>> import jax.numpy as jnp
        >>> nke.operators.advection.tamed(jnp.array([100.0]), jnp.array([1.0])).tolist()
        [100.0]
    """
    length = jnp.sqrt(jnp.sum(shift**2) + jnp.finfo(shift.dtype).tiny)
    return shift * jnp.where(jnp.sum(shift * x) < 0, jnp.minimum(1.0, LEAP / length), 1.0)
