"""Discrete transition models: the law of the displacement over one step, as a mixture.

One of them stands behind ``log_prob``, ``transition`` and the training loss of a model.
"""

import abc
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from nke.arrays import cholesky
from nke.mixtures import GaussianMixture
from nke.operators.generator import Generator
from nke.operators.jump import join
from nke.operators.operator import Step
from nke.operators.quadrature import Quadrature, Simplex


class TransitionRule(eqx.Module):
    @abc.abstractmethod
    def displacement(self, generator: Generator, x: Float[Array, " d"], step: Step) -> GaussianMixture:
        """Law of the next state minus x."""


class EulerMaruyama(TransitionRule):
    """H^s(x) * G_{s·f(x), s·a(x)}: everything frozen at x, first order in s. For comparison."""

    def displacement(self, generator: Generator, x: Float[Array, " d"], step: Step) -> GaussianMixture:
        noise = jnp.sqrt(step) * generator.diffusion.factor(x)
        mean, covariance = step * generator.advection.drift(x), noise @ noise.T
        if generator.jump is None:
            return GaussianMixture(jnp.ones_like(x[:1]), mean[None], covariance[None])
        jumped = generator.jump.displacement(x, step)
        return GaussianMixture(jumped.weights, mean + jumped.means, covariance + jumped.covariances)


class ForwardPacket(TransitionRule):
    """e^{L s} δ_x as a mixture, by a trapezoidal rule for the moments of each packet.

    With f₀ = f(x), M = s·a(x + s/2·f₀) and H^s(x) = Σ_k α_k G_{β_k,γ_k}, a packet that did not jump ends as

        mean x + s/2·(f₀ + ⟨f, G_{m,M}⟩),   covariance (I + s/2·J) M (I + s/2·J)ᵀ,   m = x + s f₀,

    where J M = ⟨f(x)(x−m)ᵀ, G_{m,M}⟩, and one that jumped by component k on average halfway through as

        mean x + β_k + s/2·(f₀ + ⟨f, G_{m+β_k,γ_k}⟩),   covariance as above + (I + s/2·J_k) γ_k (I + s/2·J_k)ᵀ.

    It is a normalised density for any f, a and H, of second order in s in mean and covariance for additive
    noise. Inner products take a quadrature rule of few points.
    """

    quadrature: Quadrature = Simplex()

    def displacement(self, generator: Generator, x: Float[Array, " d"], step: Step) -> GaussianMixture:
        drift = generator.advection.drift
        f0 = drift(x)
        noise = jnp.sqrt(step) * generator.diffusion.factor(x + step / 2 * f0)
        average, stretched = self._ride(drift, x + step * f0, noise, step)
        mean, covariance = step / 2 * (f0 + average), stretched @ stretched.T
        if generator.jump is None:
            return GaussianMixture(jnp.ones_like(x[:1]), mean[None], covariance[None])
        terms = generator.jump.terms(x, step)
        averages, spreads = jax.vmap(lambda centre, factor: self._ride(drift, centre, factor, step))(
            x + step * f0 + terms.first.means, cholesky(terms.first.covariances)
        )
        parts = [
            GaussianMixture(terms.stay[None], mean[None], covariance[None]),
            GaussianMixture(
                terms.first.weights,
                terms.first.means + step / 2 * (f0 + averages),
                covariance + spreads @ jnp.swapaxes(spreads, -1, -2),
            ),
        ]
        if terms.more is not None:
            # Their weight is of higher order, so that a common drift and no stretching do.
            means = terms.more.means + step / 2 * (f0 + jnp.mean(averages, axis=0))
            parts.append(GaussianMixture(terms.more.weights, means, covariance + terms.more.covariances))
        return join(parts)

    def _ride(
        self, drift: Callable, centre: Float[Array, " d"], factor: Float[Array, "d n"], step: Step
    ) -> tuple[Float[Array, " d"], Float[Array, "d n"]]:
        """⟨f, G⟩ over the packet with covariance factor·factorᵀ, and the factor stretched by I + s/2·J."""
        nodes, weights = (jnp.asarray(a, centre.dtype) for a in self.quadrature.nodes(factor.shape[-1]))
        f = jax.vmap(drift)(centre + nodes @ factor.T)
        return weights @ f, factor + step / 2 * (f.T * weights) @ nodes
