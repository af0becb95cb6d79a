"""The Kolmogorov forward equation on a Gaussian mixture: its density carried forward in time without sampling.

A step of length s on slots (π, μ, Σ), of which those with π = 0 are empty:

1. Components that are too wide for the local non-linearity are split, the worst first.
2. Noise and flow are composed as D(s/6) A(s/2) D(2s/3) A(s/2) D(s/6): Strang's splitting with the noise spread over the
   step as in Simpson's rule, which makes the covariance of a linear equation right to fourth order. The flow carries
   cubature points, D is Heun's rule on dΣ/dt = E[a].
3. With jumps the parts of a step are 2 over s/2, jumps, 1 and 2 over s/2. At each cubature point a part
   1 − exp(−s λ(x)) of the weight jumps by the law at that point, so that a rate or a law that varies over a component
   tilts it; what jumped is reduced and split by itself.
4. Back to the budget by Runnalls' merging, and weights that bring the result nearest to what was merged.

Everything is in dimensionless coordinates. Moments are differences of small numbers: run it in double precision.
"""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from nke.arrays import cholesky, inverse_lower, outer
from nke.mixtures import GaussianMixture
from nke.mixtures.reduction import reduced, side_by_side, split_into, with_empty_slots
from nke.operators.generator import Generator
from nke.operators.jump import Jump
from nke.operators.operator import Step
from nke.operators.quadrature import Cubature, Quadrature

Flow = Callable[[Float[Array, " d"], Step], Float[Array, " d"]]
REACH = 3**0.5  # where the flow is compared with its linearisation, in standard deviations
RESOLVED = 0.01  # differences that matter, in standard deviations of the whole mixture
CHILDREN, LANDED = 5, 9  # parts of a component, and of what has just jumped, which is wide and of little weight
LINEAR = 1e-6  # what a flow misses by rounding
MOST_STEPS = 100_000  # of one call
FINEST_FLOW = 32  # Runge–Kutta steps in a half step
STIFF = 1e-6  # least weight of a component whose stiffness counts


class Evolved(NamedTuple):
    """Where a density has got to.

    Attributes:
        mixture: The law at the end, in as many slots as there are components.
        steps: How many steps were taken.
        left: Time that is left: more than zero where the most steps were not enough, NaN where it became infinite.
    """

    mixture: GaussianMixture
    steps: Int[Array, ""]
    left: Float[Array, ""]


class Evolution(eqx.Module):
    """How a mixture is carried through the Kolmogorov forward equation.

    Attributes:
        components: Largest number of components between two steps.
        pace: Largest change by the coefficients' slopes over a step: s·E|Df| + s·E|Dg|².
        jump_pace: Most jumps expected in a step.
        tolerance: A component is split where what its linearisation misses, in standard deviations, is more than this
            part of the pace.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> advection = nke.operators.Advection(lambda x: -x)
        >>> generator = nke.operators.Generator(advection, nke.operators.Diffusion(lambda x: jnp.eye(1)))
        >>> start = nke.GaussianMixture.point(jnp.ones(1))
        >>> end = nke.operators.Evolution(components=4).advance(generator, start, jnp.asarray(1.0)).mixture
        >>> round(float(end.mean[0]), 4), round(float(end.covariance[0, 0]), 4)  # e⁻¹ and (1 − e⁻²)/2
        (0.3679, 0.4323)
    """

    components: int = eqx.field(static=True, default=64)
    pace: float = 0.05
    jump_pace: float = 0.1
    tolerance: float = 0.1

    @property
    def most_splits(self) -> int:
        """How many components are split at a time."""
        return max(2, self.components // 2)

    def advance(self, generator: Generator, mixture: GaussianMixture, duration: Float[Array, ""]) -> Evolved:
        """Carries a mixture over a time, in equal steps as long as the coefficients allow.

        Args:
            generator: The equation.
            mixture: Law at the start, JAX arrays without batch axes.
            duration: The time.

        Returns:
            The law at the end.
        """

        def going(state: Evolved) -> Bool[Array, ""]:
            return (state.left > 1e-9 * duration) & (state.steps < MOST_STEPS)

        def step(state: Evolved) -> Evolved:
            rates = Rates.of(generator, state.mixture)
            asked = state.left * rates.steps(self)
            count = jnp.ceil(jnp.maximum(jnp.where(asked < MOST_STEPS, asked, jnp.nan), 1.0))  # NaN ends the loop
            moved = self.step(generator, state.mixture, state.left / count, rates)
            return Evolved(moved, state.steps + 1, state.left - state.left / count)

        start = Evolved(reduced(mixture, self.components), jnp.zeros((), jnp.int32), duration)
        return jax.lax.while_loop(going, step, start)

    def step(self, generator: Generator, mixture: GaussianMixture, step: Step, rates: "Rates") -> GaussianMixture:
        """One step.

        Args:
            generator: The equation.
            mixture: Law at the start.
            step: Length of the step.
            rates: How quickly the coefficients change along the mixture.

        Returns:
            Law at the end, in ``components`` slots.
        """
        flow = _flow(generator, jnp.clip(jnp.ceil(step / 2 * rates.stiffest), 1, FINEST_FLOW).astype(jnp.int32))
        missed = self.tolerance * (rates.slope + rates.noise)
        if generator.jump is None:
            mixture = self._split(generator, mixture, step, flow, missed)
            return reduced(_moved(generator, mixture, step, flow), self.components)
        half = step / 2
        stayed, landed = self._jump(generator.jump, _moved(generator, mixture, half, flow), step)
        landed = self._split(generator, landed, half, flow, missed, LANDED)
        mixture = self._split(generator, side_by_side(stayed, landed), half, flow, missed)
        return reduced(_moved(generator, mixture, half, flow), self.components)

    def _split(
        self,
        generator: Generator,
        mixture: GaussianMixture,
        step: Step,
        flow: Flow,
        missed: Float[Array, ""],
        children: int = CHILDREN,
    ) -> GaussianMixture:
        """Splits the components whose linearisation misses more than so much per unit time, the weightiest first."""
        found, axes = _nonlinearity(generator, mixture, step, flow)
        urgency = jnp.where(found > missed * step + LINEAR, mixture.weights * found, 0.0)
        urgency, chosen = jax.lax.top_k(urgency, min(self.most_splits, mixture.components))
        extra = (children - 1) * len(chosen)
        places = mixture.components + jnp.arange(extra).reshape(len(chosen), -1)
        places = jnp.concatenate([chosen[:, None], places], axis=1)
        return split_into(with_empty_slots(mixture, extra), chosen, axes[chosen], urgency > 0, places)

    def _jump(self, jump: Jump, mixture: GaussianMixture, step: Step) -> tuple[GaussianMixture, GaussianMixture]:
        """What stays, and what jumped: once, or twice as often as makes the mean number of jumps right."""
        budget = max(4, self.components // 4)
        stayed, once = _jumped(jump, mixture, lambda x: -jnp.expm1(-step * jump.intensity(x)))
        again = _jumped(jump, reduced(once, budget), lambda x: _second_jump(step * jump.intensity(x)))
        return stayed, reduced(side_by_side(*again), budget)


class Rates(NamedTuple):
    """How quickly the coefficients change along a mixture, per unit time.

    Attributes:
        slope: E|Df|.
        noise: (E|Dg|)², where g is a factor of the diffusion tensor.
        jumps: E λ.
        stiffest: The largest |Df| at a component that has weight.
    """

    slope: Float[Array, ""]
    noise: Float[Array, ""]
    jumps: Float[Array, ""]
    stiffest: Float[Array, ""]

    @classmethod
    def of(cls, generator: Generator, mixture: GaussianMixture) -> "Rates":
        """Looks at the means of the components."""

        def size(function: Callable) -> Float[Array, " k"]:
            slopes = jax.vmap(jax.jacfwd(function))(mixture.means)
            found = jnp.sqrt(jnp.sum(slopes**2, axis=tuple(range(1, slopes.ndim))))
            return jnp.where(mixture.weights > 0, found, 0.0)

        weights, jump = mixture.weights, generator.jump
        drift, noise = size(generator.advection.drift), size(generator.diffusion.factor)
        rate = jnp.zeros_like(weights) if jump is None else jax.vmap(jump.intensity)(mixture.means)
        stiffest = jnp.max(jnp.where(weights > STIFF, drift, 0.0))
        return cls(weights @ drift, (weights @ noise) ** 2, weights @ rate, stiffest)

    def steps(self, evolution: Evolution) -> Float[Array, ""]:
        """Steps per unit time."""
        return jnp.maximum((self.slope + self.noise) / evolution.pace, self.jumps / evolution.jump_pace)


def _flow(generator: Generator, substeps: Int[Array, ""]) -> Flow:
    """The flow of the drift, in as many Runge–Kutta steps as its stiffest component asks for."""

    def flow(x, step):
        return jax.lax.fori_loop(0, substeps, lambda _, x: generator.advection.flow(x, step / substeps), x)

    return flow


def _moved(generator: Generator, mixture: GaussianMixture, step: Step, flow: Flow) -> GaussianMixture:
    """Noise and flow over one step."""
    rule = Cubature()
    for noise in (step / 6, 2 * step / 3):
        mixture = generator.diffusion.semigroup(mixture, noise, rule)
        mixture = carried(mixture, lambda x: flow(x, step / 2), rule)
    return generator.diffusion.semigroup(mixture, step / 6, rule)


def carried(mixture: GaussianMixture, end: Callable, rule: Quadrature) -> GaussianMixture:
    """Each component as the Gaussian of its quadrature points at the ends of their ways.

    Args:
        mixture: Law at the start.
        end: From a state to where it is carried.
        rule: Gives the points.

    Returns:
        Law at the end.
    """

    def one(mean, covariance):
        weights = rule.weights(len(mean), mean.dtype)
        return _gaussian(weights, jax.vmap(end)(rule.points(mean, covariance)))[1:]

    return GaussianMixture(mixture.weights, *jax.vmap(one)(mixture.means, mixture.covariances))


def _nonlinearity(
    generator: Generator, mixture: GaussianMixture, step: Step, flow: Flow
) -> tuple[Float[Array, " k"], Float[Array, "k d"]]:
    """What linear flow and constant noise miss over a step along the worst axis of each component, and that axis.

    The axes are the columns of the Cholesky factor; the measure is the covariance at the end of the step. A difference
    of points on either side alone would be blind where the drift is odd about the mean, as at a saddle.
    """
    tensor = generator.diffusion.tensor
    floor = RESOLVED**2 * jnp.diag(jnp.diagonal(mixture.covariance)) + jnp.finfo(mixture.means.dtype).tiny

    def one(mean, covariance):
        axes = cholesky(covariance).T
        ends, slopes = jax.vmap(lambda axis: jax.jvp(lambda x: flow(x, step), (mean,), (axis,)))(axes)
        noise = tensor(mean)
        whiten = _inverse_root(slopes.T @ slopes + step * noise + floor)

        def along(axis, end, slope):
            def miss(side):
                x = mean + side * axis
                bent = whiten @ (flow(x, step) - end - side * slope)
                uneven = step * whiten @ (tensor(x) - noise) @ whiten.T
                return jnp.sum(bent**2) + jnp.sum(uneven**2)

            return jnp.sqrt((miss(REACH) + miss(-REACH)) / 2)

        found = jax.vmap(along)(axes, ends, slopes)
        worst = jnp.argmax(found)
        return found[worst], axes[worst]

    return jax.vmap(one)(mixture.means, mixture.covariances)


def _inverse_root(covariance: Float[Array, "d d"]) -> Float[Array, "d d"]:
    """W with W Σ Wᵀ = 1, also where Σ is all but singular."""
    scale = jnp.sqrt(jnp.diagonal(covariance))
    correlation = covariance / outer(scale, scale) + 1e-9 * jnp.eye(len(scale), dtype=scale.dtype)
    return inverse_lower(cholesky(correlation)) / scale


def _jumped(
    jump: Jump, mixture: GaussianMixture, chance: Callable[[Float[Array, " d"]], Float[Array, ""]]
) -> tuple[GaussianMixture, GaussianMixture]:
    """The part of a mixture that stays and the part that jumps once, a component for each of both laws."""
    rule = Cubature()

    def one(weight, mean, covariance):
        points = rule.points(mean, covariance)
        mass = weight * rule.weights(len(mean), mean.dtype)
        share = jnp.clip(jax.vmap(chance)(points), 0.0, 1.0)
        laws = jax.vmap(jump.law)(points)
        leaving = (mass * share)[:, None] * laws.weights
        landed = jax.vmap(lambda w, shift: _gaussian(w, points + shift), (1, 1))(leaving, laws.means)
        part = leaving / jnp.maximum(jnp.sum(leaving, axis=0), jnp.finfo(mean.dtype).tiny)
        width = jnp.einsum("nj,njab->jab", part, laws.covariances)
        return _gaussian(mass * (1 - share), points), (landed[0], landed[1], landed[2] + width)

    stayed, landed = jax.vmap(one)(mixture.weights, mixture.means, mixture.covariances)
    flat = (part.reshape(-1, *part.shape[2:]) for part in landed)
    return GaussianMixture(*stayed), GaussianMixture(*flat)


def _gaussian(
    mass: Float[Array, " n"], points: Float[Array, "n d"]
) -> tuple[Float[Array, ""], Float[Array, " d"], Float[Array, "d d"]]:
    """Total, mean and covariance of weighted points."""
    total = jnp.sum(mass)
    share = mass / jnp.maximum(total, jnp.finfo(mass.dtype).tiny)
    mean = share @ points
    centred = points - mean
    return total, mean, jnp.einsum("n,ni,nj->ij", share, centred, centred)


def _second_jump(expected: Float[Array, ""]) -> Float[Array, ""]:
    """x/(1 − e^{−x}) − 1: so likely must a second jump be after a first one for x of them in the mean."""
    few = expected < 1e-3
    exact = expected / -jnp.expm1(-jnp.where(few, 1.0, expected)) - 1
    return jnp.minimum(jnp.where(few, expected / 2, exact), 1.0)
