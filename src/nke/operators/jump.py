"""Jumps: J p(x) = ∫ p(x−y) h(x−y, y) − p(x) h(x, y) dy splits mass.

h(x, ·) = λ(x)·law(x) is the jump measure; H^s(x) is the law of the displacement by jumps over a
time s, a mixture whose component 0 is δ₀: "no jump".
"""

import abc
import math
from collections.abc import Callable
from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from nke.arrays import cholesky, outer, symmetrise
from nke.errors import InputTypeError
from nke.mixtures import GaussianMixture
from nke.operators.configuration import Configuration, Registry
from nke.operators.kinetic import KinematicConstraint, KineticJump, KineticMixture
from nke.operators.networks import JumpMixture, JumpNetwork, MixtureDensityNetwork
from nke.operators.networks.jumps import FINITE_TIME_LAWS, JUMP_MEASURES
from nke.operators.operator import Noise, Operator, PacketRate, Step
from nke.operators.quadrature import Quadrature

JUMPS = Registry("jump")
SERIES_TERMS = 12
FEW = 2.0  # expected jumps up to which tails are summed from their first term on


class JumpTerms(NamedTuple):
    """H^s = stay·δ₀ + first + more; the parts' weights are their masses."""

    stay: Float[Array, ""]
    first: GaussianMixture  # weight of first order in the step
    more: GaussianMixture | None  # weight of higher order

    def joined(self, x: Float[Array, " d"]) -> GaussianMixture:
        """All parts as one mixture, whose component 0 is δ₀."""
        stay = GaussianMixture.point(jnp.zeros_like(x))
        parts = [GaussianMixture(self.stay[None], stay.means, stay.covariances), self.first]
        return join(parts + ([] if self.more is None else [self.more]))


class Jump(Operator):
    """A jump term: rate λ(x), law of one jump, and the law H^s of the displacement by jumps over a time s.

    Example:
        >>> import jax.numpy as jnp
        >>> law = nke.GaussianMixture(jnp.ones(1), jnp.ones((1, 1)), 0.01 * jnp.ones((1, 1, 1)))
        >>> jump = nke.operators.PoissonJump.from_functions(lambda x: jnp.asarray(3.0), lambda x: law)
        >>> float(jump.intensity(jnp.zeros(1)))
        3.0
    """

    @abc.abstractmethod
    def intensity(self, x: Float[Array, " d"]) -> Float[Array, ""]:
        """The rate λ(x), jumps per unit time.

        Args:
            x: One state.

        Returns:
            The rate.

        Example:
            >>> import jax.numpy as jnp
            >>> law = nke.GaussianMixture.point(jnp.ones(1))  # every jump is by one
            >>> jump = nke.operators.PoissonJump.from_functions(lambda x: 3.0 + x[0], lambda x: law)
            >>> float(jump.intensity(jnp.ones(1)))
            4.0
        """

    @abc.abstractmethod
    def law(self, x: Float[Array, " d"]) -> GaussianMixture:
        """The law of one jump at x.

        Args:
            x: One state.

        Returns:
            The law; its weights sum to one.

        Example:
            >>> import jax.numpy as jnp
            >>> law = nke.GaussianMixture.point(jnp.ones(1))  # every jump is by one
            >>> jump = nke.operators.PoissonJump.from_functions(lambda x: 3.0 + x[0], lambda x: law)
            >>> jump.law(jnp.zeros(1)).means.tolist()
            [[1.0]]
        """

    @abc.abstractmethod
    def terms(self, x: Float[Array, " d"], step: Step) -> "JumpTerms":
        """The law H^s(x) in parts: no jump, one jump, more.

        Args:
            x: One state.
            step: The time s.

        Returns:
            The parts, weighted by their masses.

        Example:
            >>> import jax.numpy as jnp
            >>> law = nke.GaussianMixture.point(jnp.ones(1))  # every jump is by one
            >>> jump = nke.operators.PoissonJump.from_functions(lambda x: 3.0 + x[0], lambda x: law)
            >>> terms = jump.terms(jnp.zeros(1), 0.1)
            >>> round(float(terms.stay), 3), round(float(terms.first.weights[0]), 3)  # e^{−0.3} and 0.3·e^{−0.3}
            (0.741, 0.222)
        """

    def landing_terms(self, x: Float[Array, " d"], step: Step) -> "JumpTerms":
        """The parts of H^s(x) where the rate may be another one after a jump; by default it stays as it is.

        Args:
            x: One state.
            step: The time s.

        Returns:
            The parts, weighted by their masses.

        Example:
            >>> import jax.numpy as jnp
            >>> law = nke.GaussianMixture.point(jnp.ones(1))  # from 0 to 1, where the rate is 0
            >>> jump = nke.operators.PoissonJump.from_functions(lambda x: 3.0 * (1 - x[0]), lambda x: law)
            >>> terms = jump.landing_terms(jnp.zeros(1), 0.1)
            >>> round(float(terms.first.weights[0]), 3)  # 1 − e^{−0.3}: never twice
            0.259
        """
        return self.terms(x, step)

    def displacement(self, x: Float[Array, " d"], step: Step) -> GaussianMixture:
        """The law H^s(x) as one mixture.

        Args:
            x: One state.
            step: The time s.

        Returns:
            The mixture; its component 0 is δ₀.

        Example:
            >>> import jax.numpy as jnp
            >>> law = nke.GaussianMixture.point(jnp.ones(1))  # every jump is by one
            >>> jump = nke.operators.PoissonJump.from_functions(lambda x: 3.0 + x[0], lambda x: law)
            >>> round(float(jump.displacement(jnp.zeros(1), 0.1).moments()[0][0]), 3)  # λ·s jumps by one
            0.3
        """
        return self.terms(x, step).joined(x)

    def rate(self, mean: Float[Array, " d"], covariance: Float[Array, "d d"], quadrature: Quadrature) -> PacketRate:
        """Ĵ(π, μ, Σ) = (0, ⟨β, G⟩, ⟨γ + β(x−μ)ᵀ + (x−μ)βᵀ, G⟩), β and γ the raw moments of h(x, ·).

        Args:
            mean: Mean μ of the packet.
            covariance: Covariance Σ of the packet.
            quadrature: Rule for inner products with the packet.

        Returns:
            Time derivatives of weight, mean and covariance.
        """

        def moments(x):
            first, second = _raw_moments(self.law(x))
            beta, gamma = self.intensity(x) * first, self.intensity(x) * second
            return beta, gamma + 2 * symmetrise(outer(x - mean, beta))

        return PacketRate(jnp.zeros_like(mean[0]), *quadrature.expectation(moments, mean, covariance))

    def semigroup(self, mixture: GaussianMixture, step: Step, quadrature: Quadrature) -> GaussianMixture:
        """Each component convolved with H^s frozen at its mean.

        Args:
            mixture: Law at the start.
            step: The time s.
            quadrature: Not used.

        Returns:
            Law at the end, with more components.
        """

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
        """A draw from x + H^s(x), the rate being that of where a jump leads to after it.

        Args:
            x: State of the particle.
            step: The time s.
            noise: Its random numbers.

        Returns:
            Its new state.
        """
        return x + draw(self.landing_terms(x, step).joined(x), noise)

    def constrained(self, constraint: KinematicConstraint) -> "Jump":
        """The jumps of the whole state from those of its free coordinates.

        Args:
            constraint: Which coordinates are positions, and do not jump.

        Returns:
            The jump term of the whole state.

        Raises:
            InputTypeError: If jumps of this type are always of the whole state.

        Example:
            >>> import jax, jax.numpy as jnp
            >>> options = {"rate": 2.0, "components": 1, "width": 4, "depth": 0, "inputs": 2, "key": jax.random.key(0)}
            >>> network = nke.operators.JumpNetwork(jnp.ones(1), jnp.eye(1), **options)
            >>> stored = {"positions": [0], "velocities": [1], "invariant": []}
            >>> constraint = nke.operators.KinematicConstraint.from_configuration(stored, dimension=2)
            >>> nke.operators.PoissonJump(network).constrained(constraint).law(jnp.zeros(2)).means.shape
            (1, 2)
        """
        raise InputTypeError(f"{type(self).__name__} gives jumps of all coordinates, so none can be a position")

    def unconstrained(self, state: Callable[[Float[Array, " r"]], Float[Array, " d"]]) -> "Jump":
        """The jumps of the free coordinates alone.

        Args:
            state: The visible state of given free coordinates.

        Returns:
            The jump term of the free coordinates.

        Raises:
            InputTypeError: If jumps of this type are always of the whole state.

        Example:
            >>> import jax, jax.numpy as jnp
            >>> options = {"rate": 2.0, "components": 1, "width": 4, "depth": 0, "inputs": 2, "key": jax.random.key(0)}
            >>> network = nke.operators.JumpNetwork(jnp.ones(1), jnp.eye(1), **options)
            >>> jump = nke.operators.PoissonJump(network).unconstrained(lambda q: jnp.append(5.0, q))
            >>> jump.law(jnp.zeros(1)).means.shape
            (1, 1)
        """
        raise InputTypeError(f"{type(self).__name__} gives jumps of all coordinates, so none can be a position")


@JUMPS.register
class FiniteTimeJump(Jump):
    """The paper's jump semigroup: H^s learned as a mixture density network for one step s.

    The rate follows from the no-jump weight, λ = −log α₀ / s, and the law of one jump is read off as
    H^s without its δ₀. For another step the same rate and law are used with at most one jump per
    step, which is first order in λs.

    Attributes:
        network: From a state to H^s there: the network, or what makes of it the law of a state with positions.
        step: The step s that it was learned for.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> options = {"components": 1, "width": 4, "depth": 1, "key": jax.random.key(0)}
        >>> network = nke.operators.MixtureDensityNetwork(jnp.ones(1), 0.1, **options)
        >>> jump = nke.operators.FiniteTimeJump(network, step=0.05)
        >>> round(float(jump.intensity(jnp.zeros(1))), 2)  # −log 0.9 / 0.05
        2.11
    """

    kind: ClassVar[str] = "finite-time"
    network: Callable[[Float[Array, " d"]], JumpMixture]
    step: float = eqx.field(static=True)

    @property
    def learned(self) -> MixtureDensityNetwork:
        """The network of the coordinates that are no positions.

        Example:
            >>> import jax, jax.numpy as jnp
            >>> options = {"components": 1, "width": 4, "depth": 1, "key": jax.random.key(0)}
            >>> network = nke.operators.MixtureDensityNetwork(jnp.ones(1), 0.1, **options)
            >>> nke.operators.FiniteTimeJump(network, step=0.05).learned is network
            True
        """
        network = self.network.free if isinstance(self.network, KineticMixture) else self.network
        if not isinstance(network, MixtureDensityNetwork):
            raise InputTypeError(f"a finite-time jump law of type {type(self.network).__name__} has no network")
        return network

    def intensity(self, x: Float[Array, " d"]) -> Float[Array, ""]:
        """The rate λ(x) = −log α₀(x) / s.

        Args:
            x: One state.

        Returns:
            The rate.
        """
        return -self.network(x).log_no_jump / self.step

    def law(self, x: Float[Array, " d"]) -> GaussianMixture:
        """The law of one jump at x: H^s without its δ₀.

        Args:
            x: One state.

        Returns:
            The law; its weights sum to one.
        """
        h = self.network(x)
        return GaussianMixture(h.shares, h.means, h.covariances)

    def terms(self, x: Float[Array, " d"], step: Step) -> JumpTerms:
        """The law of the displacement by jumps in two parts: no jump, and one.

        Args:
            x: One state.
            step: The time, the one that was learned or another.

        Returns:
            The parts, weighted by their masses.
        """
        h = self.network(x)
        stay = jnp.exp(h.log_no_jump * (step / self.step))
        return JumpTerms(stay, GaussianMixture((1 - stay) * h.shares, h.means, h.covariances), None)

    def constrained(self, constraint: KinematicConstraint) -> "FiniteTimeJump":
        """The jumps of the whole state from those of its free coordinates.

        Args:
            constraint: Which coordinates are positions, and do not jump.

        Returns:
            The jump term of the whole state.
        """
        return FiniteTimeJump(KineticMixture(self.learned, constraint), self.step)

    def unconstrained(self, state: Callable[[Float[Array, " r"]], Float[Array, " d"]]) -> "FiniteTimeJump":
        """The jumps of the free coordinates alone.

        Args:
            state: The visible state of given free coordinates.

        Returns:
            The jump term of the free coordinates.
        """
        network = self.learned
        return FiniteTimeJump(lambda q: network(state(q)), self.step)

    def configuration(self) -> Configuration:
        """The kind of the jumps and their options, as JSON values.

        Example:
            >>> import jax, jax.numpy as jnp
            >>> options = {"components": 1, "width": 4, "depth": 1, "key": jax.random.key(0)}
            >>> network = nke.operators.MixtureDensityNetwork(jnp.ones(1), 0.1, **options)
            >>> nke.operators.FiniteTimeJump(network, step=0.05).configuration()["step"]
            0.05
        """
        return {"kind": self.kind, "step": self.step, "law": FINITE_TIME_LAWS.describe(self.learned)}

    @classmethod
    def from_configuration(cls, configuration: Configuration, inputs: int, outputs: int) -> "FiniteTimeJump":
        """Jumps of the described structure, their arrays still to be filled.

        Args:
            configuration: What ``configuration()`` gave.
            inputs: Number of coordinates of the state.
            outputs: Number of coordinates that may jump.

        Returns:
            The jump term.

        Example:
            >>> law = {"kind": "mixture-density-network", "components": 1, "width": 4, "depth": 1}
            >>> stored = {"kind": "finite-time", "step": 0.1, "law": law}
            >>> nke.operators.FiniteTimeJump.from_configuration(stored, inputs=1, outputs=1).configuration() == stored
            True
        """
        return cls(FINITE_TIME_LAWS.build(configuration["law"], inputs, outputs), configuration["step"])


@JUMPS.register
class PoissonJump(Jump):
    """Jumps as a generator: H^s = e^{−λs} Σ_i (λs)^i/i! law^{*i}, rate and law frozen over the step.

    The first ``order`` terms are exact; all that jumped more often is one Gaussian with the right mass,
    mean and covariance.

    Attributes:
        measure: Gives the pair of λ(x) and the law at x.
        order: How many jumps of a step are told apart.

    Example:
        >>> import jax.numpy as jnp
        >>> law = nke.GaussianMixture(jnp.ones(1), jnp.ones((1, 1)), 0.01 * jnp.ones((1, 1, 1)))
        >>> jump = nke.operators.PoissonJump(lambda x: (jnp.asarray(3.0), law), order=2)
        >>> round(float(jump.displacement(jnp.zeros(1), 0.1).weights[0]), 3)  # e^{−0.3}
        0.741
    """

    kind: ClassVar[str] = "poisson"
    measure: Callable[[Float[Array, " d"]], tuple[Float[Array, ""], GaussianMixture]]
    order: int = eqx.field(static=True, default=1)

    @classmethod
    def from_functions(cls, rate: Callable, law: Callable, order: int = 1) -> "PoissonJump":
        """Jumps of known rate and law.

        Args:
            rate: From a state to λ(x).
            law: From a state to the law of one jump.
            order: How many jumps of a step are told apart.

        Returns:
            The jump term.

        Example:
            >>> import jax.numpy as jnp
            >>> law = nke.GaussianMixture.point(jnp.ones(1))  # every jump is by one
            >>> jump = nke.operators.PoissonJump.from_functions(lambda x: 3.0 + x[0], lambda x: law)
            >>> float(jump.intensity(jnp.zeros(1))), jump.order
            (3.0, 1)
        """
        return cls(lambda x: (rate(x), law(x)), order)

    @property
    def network(self) -> JumpNetwork:
        """The network of a learned measure.

        Example:
            >>> import jax, jax.numpy as jnp
            >>> options = {"rate": 2.0, "components": 1, "width": 4, "depth": 0, "inputs": 2, "key": jax.random.key(0)}
            >>> network = nke.operators.JumpNetwork(jnp.ones(1), jnp.eye(1), **options)
            >>> nke.operators.PoissonJump(network).network is network
            True
        """
        network = self.measure.free if isinstance(self.measure, KineticJump) else self.measure
        if not isinstance(network, JumpNetwork):
            raise InputTypeError(f"a jump measure of type {type(self.measure).__name__} has no network")
        return network

    def intensity(self, x: Float[Array, " d"]) -> Float[Array, ""]:
        """The rate λ(x), jumps per unit time.

        Args:
            x: One state.

        Returns:
            The rate.
        """
        return self.measure(x)[0]

    def law(self, x: Float[Array, " d"]) -> GaussianMixture:
        """The law of one jump at x.

        Args:
            x: One state.

        Returns:
            The law; its weights sum to one.
        """
        return self.measure(x)[1]

    def terms(self, x: Float[Array, " d"], step: Step) -> JumpTerms:
        """The Poisson series in parts: no jump, one, and more.

        Args:
            x: One state.
            step: The time s.

        Returns:
            The parts, weighted by their masses.
        """
        rate, law = self.measure(x)
        expected = rate * step
        stay = jnp.exp(-expected)
        chance, jumps, more = stay * expected, law, []
        first = GaussianMixture(chance * law.weights, law.means, law.covariances)
        for i in range(2, self.order + 1):
            chance, jumps = chance * expected / i, jumps.convolve(law)
            more.append(GaussianMixture(chance * jumps.weights, jumps.means, jumps.covariances))
        return JumpTerms(stay, first, join([*more, _more_jumps(expected, law, self.order + 1)]))

    def landing_terms(self, x: Float[Array, " d"], step: Step) -> JumpTerms:
        """The parts where a jump by component k leads to the rate λ_k = λ(x + β_k), the mean of that component.

        Just one jump has the probability α_k λ (e^{−λ_k s} − e^{−λs})/(λ − λ_k); more than one has the rest.

        Args:
            x: One state.
            step: The time s.

        Returns:
            The parts, weighted by their masses.
        """
        frozen, (rate, law) = self.terms(x, step), self.measure(x)
        slower = step * (rate - jax.vmap(self.intensity)(x + law.means))
        once = frozen.first.weights * _mean_exponential(slower)
        assert frozen.more is not None
        rest, before = 1 - frozen.stay - jnp.sum(once), jnp.sum(frozen.more.weights)
        share = jnp.maximum(rest, 0.0) / jnp.maximum(before, jnp.finfo(before.dtype).tiny)
        first = GaussianMixture(once, frozen.first.means, frozen.first.covariances)
        more = GaussianMixture(share * frozen.more.weights, frozen.more.means, frozen.more.covariances)
        return JumpTerms(frozen.stay, first, more)

    def constrained(self, constraint: KinematicConstraint) -> "PoissonJump":
        """The jumps of the whole state from those of its free coordinates.

        Args:
            constraint: Which coordinates are positions, and do not jump.

        Returns:
            The jump term of the whole state.
        """
        return PoissonJump(KineticJump(self.network, constraint), self.order)

    def unconstrained(self, state: Callable[[Float[Array, " r"]], Float[Array, " d"]]) -> "PoissonJump":
        """The jumps of the free coordinates alone.

        Args:
            state: The visible state of given free coordinates.

        Returns:
            The jump term of the free coordinates.
        """
        network = self.network
        return PoissonJump(lambda q: network(state(q)), self.order)

    def configuration(self) -> Configuration:
        """The kind of the jumps and their options, as JSON values.

        Example:
            >>> import jax, jax.numpy as jnp
            >>> options = {"rate": 2.0, "components": 1, "width": 4, "depth": 0, "inputs": 2, "key": jax.random.key(0)}
            >>> network = nke.operators.JumpNetwork(jnp.ones(1), jnp.eye(1), **options)
            >>> nke.operators.PoissonJump(network, order=2).configuration()["order"]
            2
        """
        measure = self.measure.free if isinstance(self.measure, KineticJump) else self.measure
        return {"kind": self.kind, "order": self.order, "measure": JUMP_MEASURES.describe(measure)}

    @classmethod
    def from_configuration(cls, configuration: Configuration, inputs: int, outputs: int) -> "PoissonJump":
        """Jumps of the described structure, their arrays still to be filled.

        Args:
            configuration: What ``configuration()`` gave.
            inputs: Number of coordinates of the state.
            outputs: Number of coordinates that may jump.

        Returns:
            The jump term.

        Example:
            >>> sizes = {"components": 1, "width": 4, "depth": 0}
            >>> measure = {"kind": "jump-network", **sizes, "state_dependent_shapes": False}
            >>> stored = {"kind": "poisson", "order": 2, "measure": measure}
            >>> nke.operators.PoissonJump.from_configuration(stored, inputs=1, outputs=1).configuration() == stored
            True
        """
        return cls(JUMP_MEASURES.build(configuration["measure"], inputs, outputs), configuration["order"])


def _tail_series(expected: Float[Array, ""], n: int) -> Float[Array, ""]:
    """P(N ≥ n) over its first term e^{−λs} (λs)^n/n!; accurate up to ``FEW`` expected jumps."""
    total = jnp.ones_like(expected)
    for i in range(SERIES_TERMS, 0, -1):
        total = 1 + total * expected / (n + i)
    return total


def _tail_complement(expected: Float[Array, ""], n: int) -> Float[Array, ""]:
    """P(N ≥ n) as one minus the terms before n; accurate from ``FEW`` expected jumps on."""
    return 1 - jnp.exp(-expected) * sum(expected**i / math.factorial(i) for i in range(n))


def _tail_moments(expected: Float[Array, ""], n: int) -> tuple[Float[Array, ""], Float[Array, ""], Float[Array, ""]]:
    """P(N ≥ n), E[N | N ≥ n] and Var[N | N ≥ n] for N ~ Poisson; no cancellation, no 0/0 as λs → 0."""
    few, many = jnp.minimum(expected, FEW), jnp.maximum(expected, FEW)
    first = jnp.exp(-few) * few**n / math.factorial(n)
    mass = jnp.where(expected < FEW, first * _tail_series(few, n), _tail_complement(many, n))

    def factorial_moment(k: int) -> Float[Array, ""]:
        """E[N(N−1)…(N−k+1) | N ≥ n] = (λs)^k P(N ≥ n−k)/P(N ≥ n)."""
        series = math.perm(n, k) * _tail_series(few, n - k) / _tail_series(few, n)
        return jnp.where(expected < FEW, series, many**k * _tail_complement(many, n - k) / _tail_complement(many, n))

    mean = factorial_moment(1)
    return mass, mean, jnp.maximum(factorial_moment(2) + mean - mean**2, 0.0)


def _more_jumps(expected: Float[Array, ""], law: GaussianMixture, n: int) -> GaussianMixture:
    """The law of n or more jumps as one Gaussian of the right mass, mean and covariance."""
    mass, count, variance = _tail_moments(expected, n)
    mean, covariance = law.moments()
    total = count * covariance + variance * outer(mean, mean)
    return GaussianMixture(mass[None], (count * mean)[None], total[None])


def _mean_exponential(u: Float[Array, " k"], small: float = 1e-3) -> Float[Array, " k"]:
    """∫₀¹ e^{ut} dt = (e^u − 1)/u, also for small u."""
    near = jnp.abs(u) < small
    return jnp.where(near, 1 + u / 2 + u * u / 6, jnp.expm1(u) / jnp.where(near, 1.0, u))


def draw(law: GaussianMixture, noise: Noise) -> Float[Array, " d"]:
    """One displacement by jumps with given random numbers."""
    k = jnp.minimum(jnp.sum(noise.choice >= jnp.cumsum(law.weights)), law.components - 1)
    return law.means[k] + cholesky(law.covariances)[k] @ noise.jump


def join(mixtures: list[GaussianMixture]) -> GaussianMixture:
    """All components side by side; the weights stay as they are."""
    return GaussianMixture(*map(jnp.concatenate, zip(*map(jax.tree.leaves, mixtures), strict=True)))


def _raw_moments(law: GaussianMixture) -> tuple[Float[Array, " d"], Float[Array, "d d"]]:
    """Mean and second moment about zero."""
    mean, covariance = law.moments()
    return mean, covariance + outer(mean, mean)
