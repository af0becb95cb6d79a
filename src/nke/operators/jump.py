"""Jumps: J p(x) = ∫ p(x−y) h(x−y, y) − p(x) h(x, y) dy splits mass.

h(x, ·) = λ(x)·law(x) is the jump measure; H^s(x) is the law of the displacement by jumps over a
time s, a mixture whose component 0 is δ₀: "no jump".
"""

import abc
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from nke.arrays import cholesky, outer, symmetrise
from nke.mixtures import GaussianMixture
from nke.operators.networks import MixtureDensityNetwork
from nke.operators.operator import Noise, Operator, PacketRate, Step
from nke.operators.quadrature import Quadrature


class Jump(Operator):
    @abc.abstractmethod
    def intensity(self, x: Float[Array, " d"]) -> Float[Array, ""]:
        """λ(x), jumps per unit time."""

    @abc.abstractmethod
    def law(self, x: Float[Array, " d"]) -> GaussianMixture:
        """Law of one jump at x."""

    @abc.abstractmethod
    def displacement(self, x: Float[Array, " d"], step: Step) -> GaussianMixture:
        """H^s(x); component 0 is δ₀."""

    def rate(self, mean: Float[Array, " d"], covariance: Float[Array, "d d"], quadrature: Quadrature) -> PacketRate:
        """Ĵ(π, μ, Σ) = (0, ⟨β, G⟩, ⟨γ + β(x−μ)ᵀ + (x−μ)βᵀ, G⟩), β and γ the raw moments of h(x, ·)."""

        def moments(x):
            first, second = _raw_moments(self.law(x))
            beta, gamma = self.intensity(x) * first, self.intensity(x) * second
            return beta, gamma + 2 * symmetrise(outer(x - mean, beta))

        return PacketRate(jnp.zeros_like(mean[0]), *quadrature.expectation(moments, mean, covariance))

    def semigroup(self, mixture: GaussianMixture, step: Step, quadrature: Quadrature) -> GaussianMixture:
        """Each component convolved with H^s frozen at its mean."""

        def split(weight, mean, covariance):
            packet = GaussianMixture(weight[None], mean[None], covariance[None])
            return packet.convolve(self.displacement(mean, step))

        children = jax.vmap(split)(mixture.weights, mixture.means, mixture.covariances)
        d = mixture.dimension
        return GaussianMixture(
            children.weights.reshape(-1),
            children.means.reshape(-1, d),
            children.covariances.reshape(-1, d, d),
        )

    def move(self, x: Float[Array, " d"], step: Step, noise: Noise) -> Float[Array, " d"]:
        law = self.displacement(x, step)
        k = jnp.minimum(jnp.sum(noise.choice >= jnp.cumsum(law.weights)), law.components - 1)
        return x + law.means[k] + cholesky(law.covariances)[k] @ noise.jump


class FiniteTimeJump(Jump):
    """The paper's jump semigroup: H^s learned as a mixture density network for one step s.

    The rate follows from the no-jump weight, λ = −log α₀ / s, and the law of one jump is read off as
    H^s without its δ₀. For another step the same rate and law are used with at most one jump per
    step, which is first order in λs.
    """

    network: MixtureDensityNetwork
    step: float = eqx.field(static=True)

    def intensity(self, x: Float[Array, " d"]) -> Float[Array, ""]:
        return -self.network(x).log_no_jump / self.step

    def law(self, x: Float[Array, " d"]) -> GaussianMixture:
        h = self.network(x)
        return GaussianMixture(h.shares, h.means, h.covariances)

    def displacement(self, x: Float[Array, " d"], step: Step) -> GaussianMixture:
        h = self.network(x)
        stay = jnp.exp(h.log_no_jump * (step / self.step))
        return _with_no_jump(stay, GaussianMixture((1 - stay) * h.shares, h.means, h.covariances))


class PoissonJump(Jump):
    """Jumps as a generator: H^s = e^{−λs} Σ_i (λs)^i/i! law^{*i}, frozen at the start of the step.

    The Poisson mass beyond ``order`` jumps is put on the last term.
    """

    rate_function: Callable[[Float[Array, " d"]], Float[Array, ""]]
    law_function: Callable[[Float[Array, " d"]], GaussianMixture]
    order: int = eqx.field(static=True, default=2)

    def intensity(self, x: Float[Array, " d"]) -> Float[Array, ""]:
        return self.rate_function(x)

    def law(self, x: Float[Array, " d"]) -> GaussianMixture:
        return self.law_function(x)

    def displacement(self, x: Float[Array, " d"], step: Step) -> GaussianMixture:
        expected = self.rate_function(x) * step
        chance = jnp.exp(-expected)
        law = self.law_function(x)
        jumps, terms, rest = law, [], 1 - chance
        for i in range(1, self.order + 1):
            mass = chance * expected / i if i < self.order else rest
            terms.append(GaussianMixture(mass * jumps.weights, jumps.means, jumps.covariances))
            chance, rest = mass, rest - mass
            if i < self.order:
                jumps = jumps.convolve(law)
        joined = [jnp.concatenate(leaves) for leaves in zip(*map(jax.tree.leaves, terms), strict=True)]
        return _with_no_jump(jnp.exp(-expected), GaussianMixture(*joined))


def _with_no_jump(stay: Float[Array, ""], jumped: GaussianMixture) -> GaussianMixture:
    """Puts δ₀ of weight ``stay`` in front as component 0."""
    return GaussianMixture(
        jnp.concatenate([stay[None], jumped.weights]),
        jnp.concatenate([jnp.zeros_like(jumped.means[:1]), jumped.means]),
        jnp.concatenate([jnp.zeros_like(jumped.covariances[:1]), jumped.covariances]),
    )


def _raw_moments(law: GaussianMixture) -> tuple[Float[Array, " d"], Float[Array, "d d"]]:
    mean, covariance = law.moments()
    return mean, covariance + outer(mean, mean)
