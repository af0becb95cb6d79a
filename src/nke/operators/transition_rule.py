"""Discrete transition models: the law of the displacement over one step, as a mixture.

One of them stands behind ``log_prob``, ``transition`` and the training loss of a model.
"""

import abc
from collections.abc import Callable
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from nke.arrays import cholesky, inverse, inverse_lower
from nke.mixtures import GaussianMixture
from nke.operators.configuration import Configuration, Registry
from nke.operators.generator import Generator
from nke.operators.jump import join
from nke.operators.operator import Step
from nke.operators.quadrature import QUADRATURES, Quadrature, Simplex

RULES = Registry("transition rule")
TINY = 1e-3  # least spread of the points at which the drift is linearised, in standard deviations of the data
NARROW = 0.05  # and over their whole spread, so that slopes across a flat packet can be told
FAR = 1.0  # how far ahead of the state it is linearised at most, likewise
THIN = 1e-3  # least width of a packet over its whole one: what single precision can invert
STIFF = 2.0  # largest norm of sJ/4: the step is far too coarse for the drift beyond


class TransitionRule(eqx.Module):
    """A discrete model of the motion over one step.

    Example:
        >>> import jax.numpy as jnp
        >>> advection = nke.operators.Advection(lambda x: -x)
        >>> generator = nke.operators.Generator(advection, nke.operators.Diffusion(lambda x: jnp.eye(1)))
        >>> law = nke.operators.ForwardPacket().displacement(generator, jnp.array([1.0]), 0.1)
        >>> round(float(law.means[0, 0]), 3), round(float(law.covariances[0, 0, 0]), 3)
        (-0.095, 0.091)
    """

    @abc.abstractmethod
    def packet(self, generator: Generator, x: Float[Array, " d"], step: Step) -> GaussianMixture:
        """The law of the next state minus x, for a generator whose coordinates are all free.

        Args:
            generator: The equation.
            x: State at the start of the step.
            step: Length of the step.

        Returns:
            The law of the displacement.

        Example:
            >>> import jax.numpy as jnp
            >>> diffusion = nke.operators.Diffusion(lambda x: jnp.eye(1))
            >>> generator = nke.operators.Generator(nke.operators.Advection(lambda x: -x), diffusion)
            >>> law = nke.operators.EulerMaruyamaRule().packet(generator, jnp.ones(1), 0.25)
            >>> law.means.tolist(), law.covariances.tolist()  # f·s and a·s
            ([[-0.25]], [[[0.25]]])
        """

    def displacement(self, generator: Generator, x: Float[Array, " d"], step: Step) -> GaussianMixture:
        """The law of the next state minus x.

        Args:
            generator: The equation.
            x: State at the start of the step.
            step: Length of the step.

        Returns:
            The law of the displacement of all coordinates.

        Example:
            >>> import jax.numpy as jnp
            >>> diffusion = nke.operators.Diffusion(lambda x: jnp.eye(1))
            >>> generator = nke.operators.Generator(nke.operators.Advection(lambda x: -x), diffusion)
            >>> nke.operators.EulerMaruyamaRule().displacement(generator, 2 * jnp.ones(1), 0.25).means.tolist()
            [[-0.5]]
        """
        return generator.whole_displacement(self._free_displacement(generator, x, step), x, step)

    def log_prob(
        self, generator: Generator, x: Float[Array, " d"], moved: Float[Array, " d"], step: Step
    ) -> Float[Array, ""]:
        """The log density of a displacement: that of its free coordinates, which the positions follow from.

        Args:
            generator: The equation.
            x: State at the start of the step.
            moved: The displacement.
            step: Length of the step.

        Returns:
            The log density.

        Example:
            >>> import jax.numpy as jnp
            >>> diffusion = nke.operators.Diffusion(lambda x: jnp.eye(1))
            >>> generator = nke.operators.Generator(nke.operators.Advection(lambda x: -x), diffusion)
            >>> rule = nke.operators.EulerMaruyamaRule()
            >>> round(float(rule.log_prob(generator, jnp.zeros(1), jnp.zeros(1), 1.0)), 3)  # −½ log 2π
            -0.919
        """
        return self._free_displacement(generator, x, step).log_prob(generator.free_part(moved))

    def _free_displacement(self, generator: Generator, x: Float[Array, " d"], step: Step) -> GaussianMixture:
        """The law of the displacement of the free coordinates."""
        equation, free = generator.free_equation(x, step)
        return self.packet(equation, free, step)


@RULES.register
class EulerMaruyamaRule(TransitionRule):
    """H^s(x) * G_{s·f(x), s·a(x)}: everything frozen at x, first order in s. For comparison.

    Example:
        >>> nke.operators.EulerMaruyamaRule().configuration()
        {'kind': 'euler-maruyama'}
    """

    kind: ClassVar[str] = "euler-maruyama"

    def packet(self, generator: Generator, x: Float[Array, " d"], step: Step) -> GaussianMixture:
        """The law of the next state minus x, for a generator whose coordinates are all free.

        Args:
            generator: The equation.
            x: State at the start of the step.
            step: Length of the step.

        Returns:
            The law of the displacement.
        """
        noise = jnp.sqrt(step) * generator.diffusion.factor(x)
        mean, covariance = step * generator.advection.drift(x), noise @ noise.T
        if generator.jump is None:
            return GaussianMixture(jnp.ones_like(x[:1]), mean[None], covariance[None])
        jumped = generator.jump.displacement(x, step)
        return GaussianMixture(jumped.weights, mean + jumped.means, covariance + jumped.covariances)

    def configuration(self) -> Configuration:
        """The kind of the rule, as JSON values.

        Example:
            >>> nke.operators.EulerMaruyamaRule().configuration()
            {'kind': 'euler-maruyama'}
        """
        return {"kind": self.kind}

    @classmethod
    def from_configuration(cls, configuration: Configuration) -> "EulerMaruyamaRule":
        """The rule that a configuration describes.

        Args:
            configuration: What ``configuration()`` gave.

        Returns:
            The rule.

        Example:
            >>> nke.operators.EulerMaruyamaRule.from_configuration({"kind": "euler-maruyama"}).configuration()
            {'kind': 'euler-maruyama'}
        """
        return cls()


@RULES.register
class ForwardPacket(TransitionRule):
    """e^{L s} δ_x as a mixture: the equation linearised in the middle of the step, each packet's moments solved.

    With m = x + s/2·f(x), M = s·a(m) and H^s = Σ_k α_k G_{β_k,γ_k}, the drift near the path is
    f̄ + J (y − m), f̄ = ⟨f, G_{m,M/2}⟩, J = ⟨Df, G_{m,M/2}⟩. A packet that did not jump then ends as

        mean x + s·R (f̄ − J (m − x)),   covariance R M Rᵀ,   R = (I − sJ/4)⁻² ≈ ∫₀¹ e^{sJu} du,

    and one that jumped by component k, on average halfway through, as

        mean x + h + β_k + s/2·⟨f, G_{x+h+β_k,γ_k}⟩,   covariance R M Rᵀ + (I + s/2·J_k) γ_k (I + s/2·J_k)ᵀ,

    h being half of the mean motion of the former; H^s is that of the state halfway, x + h, with the rate of the state
    that a jump leads to after it.

    It is a normalised density for any f, a and H, of second order in s in mean and covariance for additive noise,
    and stays sane where the drift is stiff: R decays with −sJ, m − x and sJ are bounded (``FAR``, ``STIFF``), the drift
    after a jump is tamed where s/2·J_k is large.

    Attributes:
        quadrature: Rule of few points for the inner products.
        substeps: Parts that the motion without a jump is cut into, which helps with coarse steps and noise that
            depends on the state.
        resolution: A standard deviation for each coordinate that every packet is blurred by: that of the ruler with
            which a motion without noise is measured. It belongs to the density, not to the equation, whose noise may
            vanish.

    Example:
        >>> nke.operators.ForwardPacket(substeps=2).configuration()
        {'kind': 'forward-packet', 'quadrature': {'kind': 'simplex'}, 'substeps': 2, 'resolution': None}
    """

    kind: ClassVar[str] = "forward-packet"
    quadrature: Quadrature = Simplex()
    substeps: int = eqx.field(static=True, default=1)
    resolution: tuple[float, ...] | None = eqx.field(static=True, default=None)

    def packet(self, generator: Generator, x: Float[Array, " d"], step: Step) -> GaussianMixture:
        """The law of the next state minus x, for a generator whose coordinates are all free.

        Args:
            generator: The equation.
            x: State at the start of the step.
            step: Length of the step.

        Returns:
            The law of the displacement.
        """
        drift = generator.advection.drift
        mean, covariance, halfway = self._without_jumps(generator, x, step)
        if generator.jump is None:
            return GaussianMixture(jnp.ones_like(x[:1]), mean[None], covariance[None])
        terms = generator.jump.landing_terms(x + halfway, step)

        def land(shift, factor):
            average, change = self._over(drift, x + halfway + shift, factor)
            tame = step / 2 / jnp.sqrt(1 + step**2 / 2 * jnp.sum(change**2) / (jnp.sum(factor**2) + TINY**2))
            return halfway + tame * average, factor + tame * change

        shifts, spreads = jax.vmap(land)(terms.first.means, cholesky(terms.first.covariances))
        parts = [
            GaussianMixture(terms.stay[None], mean[None], covariance[None]),
            GaussianMixture(
                terms.first.weights,
                terms.first.means + shifts,
                covariance + spreads @ jnp.swapaxes(spreads, -1, -2),
            ),
        ]
        if terms.more is not None:
            # Their weight is of higher order, so that a common drift and no stretching do.
            means = terms.more.means + jnp.mean(shifts, axis=0)
            parts.append(GaussianMixture(terms.more.weights, means, covariance + terms.more.covariances))
        return join(parts)

    def configuration(self) -> Configuration:
        """The kind of the rule and its options, as JSON values.

        Example:
            >>> nke.operators.ForwardPacket(resolution=(0.1,)).configuration()["resolution"]
            [0.1]
        """
        return {
            "kind": self.kind,
            "quadrature": QUADRATURES.describe(self.quadrature),
            "substeps": self.substeps,
            "resolution": None if self.resolution is None else list(self.resolution),
        }

    @classmethod
    def from_configuration(cls, configuration: Configuration) -> "ForwardPacket":
        """The rule that a configuration describes.

        Args:
            configuration: What ``configuration()`` gave.

        Returns:
            The rule.

        Example:
            >>> stored = nke.operators.ForwardPacket(substeps=4).configuration()
            >>> nke.operators.ForwardPacket.from_configuration(stored).substeps
            4
        """
        resolution = configuration["resolution"]
        return cls(
            QUADRATURES.build(configuration["quadrature"]),
            configuration["substeps"],
            None if resolution is None else tuple(resolution),
        )

    def _without_jumps(
        self, generator: Generator, x: Float[Array, " d"], step: Step
    ) -> tuple[Float[Array, " d"], Float[Array, "d d"], Float[Array, " d"]]:
        """Mean and covariance of the motion by drift and noise, and its mean halfway through."""
        drift, identity, short = generator.advection.drift, jnp.eye(len(x)), step / self.substeps
        mean, spread, noise, halfway = jnp.zeros_like(x), None, None, None
        for i in range(self.substeps):
            # Only the places to linearise at: no gradient is taken through them (docs/design.md). What the score lacks
            # by that has mean zero under the law, so that its zero is no other.
            ahead = jax.lax.stop_gradient(_bounded(short / 2 * drift(x + mean), FAR))
            middle = x + mean + ahead
            if spread is None or noise is None:
                noise = jnp.sqrt(short) * generator.diffusion.factor(middle)
                factor = _width(noise @ noise.T / 2)
            else:
                # The packet has a width of its own by now, over which the noise is averaged too.
                factor = _width(spread + noise @ noise.T / 2)
                noise = jnp.sqrt(short) * self._noise_over(generator.diffusion.factor, middle, factor)
            average, change = self._over(drift, middle, factor)
            slope = change @ inverse_lower(factor)
            flow = inverse(identity - _bounded(short / 4 * slope, STIFF))
            moved = flow @ (flow @ jnp.concatenate([short * (average - slope @ ahead)[:, None], noise], axis=1))
            if i == self.substeps // 2:
                halfway = mean if self.substeps > 1 else moved[:, 0] / 2
            mean, gained = mean + moved[:, 0], moved[:, 1:] @ moved[:, 1:].T
            if spread is not None:
                carried = flow @ flow @ flow @ flow
                gained = gained + carried @ spread @ carried.T
            spread = _regular(gained, THIN)
        assert spread is not None
        assert halfway is not None
        if self.resolution is not None:
            spread = spread + jnp.diag(jnp.asarray(self.resolution, x.dtype) ** 2)
        return mean, spread, halfway

    def _noise_over(
        self, noise: Callable, centre: Float[Array, " d"], factor: Float[Array, "d d"]
    ) -> Float[Array, "d d"]:
        """The Cholesky factor of ⟨a, G⟩ over the packet of covariance factor·factorᵀ."""
        nodes, weights = (jnp.asarray(a, centre.dtype) for a in self.quadrature.nodes(len(centre)))
        g = jax.vmap(noise)(centre + nodes @ factor.T)
        return cholesky(jnp.tensordot(weights, g @ jnp.swapaxes(g, -1, -2), axes=1))

    def _over(
        self, drift: Callable, centre: Float[Array, " d"], factor: Float[Array, "d d"]
    ) -> tuple[Float[Array, " d"], Float[Array, "d d"]]:
        """⟨f, G⟩ and J·factor = ⟨f(x)(x−m)ᵀ, G⟩ factor⁻ᵀ over the packet of covariance factor·factorᵀ."""
        nodes, weights = (jnp.asarray(a, centre.dtype) for a in self.quadrature.nodes(len(centre)))
        f = jax.vmap(drift)(centre + nodes @ factor.T)
        return weights @ f, (f.T * weights) @ nodes


def _bounded(a: Float[Array, "..."], most: float) -> Float[Array, "..."]:
    """The same where its norm is small, never longer than ``most``."""
    return a * jax.lax.rsqrt(jnp.sqrt(1 + (jnp.sum(a * a) / most**2) ** 2))


def _width(covariance: Float[Array, "d d"]) -> Float[Array, "d d"]:
    """The factor of the packet over which the drift is linearised: not too flat, and not differentiated."""
    widened = _regular(covariance, NARROW) + TINY**2 * jnp.eye(len(covariance))
    return jax.lax.stop_gradient(cholesky(widened))


def _regular(covariance: Float[Array, "d d"], least: float) -> Float[Array, "d d"]:
    """No direction narrower than ``least`` times all of them together."""
    return covariance + least**2 * jnp.trace(covariance) * jnp.eye(len(covariance))
