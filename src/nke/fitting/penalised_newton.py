"""Newton's method by scores under Gaussian penalties, the strength of the penalties by evidence at every step.

The log likelihood near the present parameters is a quadratic function; for that function the penalties of the largest
evidence and the parameters under them are known (``evidence.py``). One step goes there, and the next one begins with
the likelihood as it is there.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float, Int

from nke.arrays import compiled
from nke.fitting.batches import Steps
from nke.fitting.evidence import maximise_evidence, parameter_precisions, without_useless_groups
from nke.fitting.newton import BATCH, ParameterVector, may_overflow
from nke.fitting.optimiser import Optimised, Outcome
from nke.fitting.packet_scores import PacketScores
from nke.operators import ForwardPacket, TransitionRule

# Parameters × coordinates × sub-steps × transitions whose derivatives are in memory at a time: a gigabyte or two.
MOST_DERIVATIVES, LEAST_BATCH = 50_000_000, 256


@dataclass(frozen=True)
class PenalisedParameters:
    """Parameters in groups, each with a penalty of its own.

    Attributes:
        vector: The parameters; those that are not active are zero.
        groups: Group of each parameter; −1 for those with a weak prior only.
        precisions: λ of every group.
        blocks: Parameters that are stepped together; between blocks the information is taken for zero.
        constants: Parameters of functions that do not depend on the state, by the coefficient that they belong to.
        linear: The same law as one that is linear in its parameters, whose scores need no compiled program; None where
            it is not.
        optional: Parameters without a group that the law may do without: constants and slopes.
        independent: Share of the transitions that are independent: all sums over them count that much.
    """

    vector: ParameterVector
    groups: Int[np.ndarray, " p"]
    precisions: Float[np.ndarray, " g"]
    blocks: tuple[Int[np.ndarray, " _"], ...]
    constants: dict[str, Int[np.ndarray, " _"]] = field(default_factory=dict)
    linear: PacketScores | None = None
    optional: Int[np.ndarray, " o"] = field(default_factory=lambda: np.zeros(0, int))
    independent: float = 1.0

    @property
    def precision(self) -> Float[np.ndarray, " p"]:
        """Precision of the prior of every parameter; zero for those that are not active."""
        precision = parameter_precisions(self.groups, self.precisions)
        return np.where(self.vector.active & np.isfinite(precision), precision, 0.0)

    def penalty(self, values: Float[np.ndarray, " p"]) -> float:
        """Computes θᵀΛθ/2."""
        return float(self.precision @ values**2 / 2)

    def without(self, off: Bool[np.ndarray, " p"]) -> "PenalisedParameters":
        """Gives the same without some of the parameters."""
        vector = self.vector
        return replace(
            self, vector=replace(vector, values=np.where(off, 0.0, vector.values), active=vector.active & ~off)
        )


@dataclass(frozen=True)
class PenalisedSums:
    """What a step of the method needs, and what it leaves.

    Attributes:
        value: Sum of the log densities.
        gradient: Sum of the scores.
        information: Sum of their products, for each block of parameters.
        evidence: Log evidence of the law and its penalties, by Laplace's method.
        count: The number of independent transitions.
    """

    value: float
    gradient: Float[np.ndarray, " p"]
    information: tuple[Float[np.ndarray, "_ _"], ...]
    evidence: float = -np.inf
    count: float = 0.0

    @property
    def finite(self) -> bool:
        """Whether value and information are finite."""
        return bool(np.isfinite(self.value)) and all(bool(np.isfinite(part).all()) for part in self.information)


@dataclass(frozen=True)
class PenalisedNewton:
    """Steps of Newton's method, until one gains no more than the tolerance.

    Attributes:
        iterations: Steps at most.
        tolerance: Nats that another step would gain.
        halvings: Of a step that gains nothing.
        dropping: Nats that a step may lose by which groups are dropped, and nats of evidence that any step may cost.
        penalties: Whether the penalties are changed too; otherwise they stay as they are.
    """

    iterations: int = 12
    tolerance: float = 0.2
    halvings: int = 4
    dropping: float = 5.0
    penalties: bool = True

    def run(
        self,
        objective: TransitionRule,
        start: PenalisedParameters,
        data: Steps,
        advance: Callable[[int], None] = lambda iterations: None,
    ) -> Optimised[PenalisedSums]:
        """Maximises the penalised log density of transitions.

        Args:
            objective: The discrete model whose density it is.
            start: The parameters to begin with.
            data: The transitions.
            advance: Callback that receives the number of steps taken.

        Returns:
            The parameters, how it ended, and the sums there with the evidence.
        """
        at, now, outcome = start, sums(objective, start, data), Outcome.BUDGET_USED
        # Far from its maximum the likelihood is no quadratic function and may ask for penalties that ruin it: then they
        # stay until the maximum under them is found.
        choosing, refused = self.penalties, False
        for _ in range(self.iterations):
            if not now.finite:
                return Optimised(at, Outcome.NOT_FINITE, now)
            goal = _under_evidence(at, now) if choosing else _under_penalties(at, now)
            slope, moved = now.gradient - goal.precision * at.vector.values, goal.vector.values - at.vector.values
            dropped = _dropped(at, goal).any()
            if ended := not dropped and slope @ moved / 2 < self.tolerance:
                at = replace(at, precisions=goal.precisions)
            elif (step := self._step(objective, at, now, goal, data)) is not None:
                advance(1)
                at, now, refused = step.parameters, step.sums, False
                small = step.gained < self.tolerance
                ended = not dropped and small and (step.whole or not self.penalties)
            elif choosing:
                choosing, refused = False, True
            else:
                outcome = Outcome.NO_PROGRESS
                break
            if ended and (choosing or not self.penalties):
                outcome = Outcome.CONVERGED
                break
            if ended and refused:
                outcome = Outcome.NO_PROGRESS
                break
            choosing = choosing or ended
        return Optimised(at, outcome, replace(now, evidence=laplace_evidence(at, now)))

    def _step(
        self,
        objective: TransitionRule,
        at: PenalisedParameters,
        now: PenalisedSums,
        goal: PenalisedParameters,
        data: Steps,
    ) -> "NewtonStep | None":
        """The longest part of the way that gains likelihood and costs no evidence; None if there is none."""
        moved, dropped = goal.vector.values - at.vector.values, _dropped(at, goal)
        # Groups are dropped for the sake of the evidence, which may cost a little likelihood.
        least = now.value - goal.penalty(at.vector.values) - (self.dropping if dropped.any() else 0.0)
        evidence = laplace_evidence(at, now) - self.dropping
        # All blocks together; where that gains nothing, one after the other.
        parts = [np.ones(len(moved), bool), *(np.isin(np.arange(len(moved)), block) for block in at.blocks)]
        for tried, (part, halving) in enumerate(product(parts, range(self.halvings))):
            values = np.where(dropped, 0.0, at.vector.values + np.where(part, moved, 0.0) / 2**halving)
            trial = replace(goal, vector=goal.vector.at(values))
            if tried > 0 and not log_likelihood(objective, trial, data) - trial.penalty(values) > least:
                continue  # most steps go all the way; where one does not, its derivatives are not worth their time
            new = sums(objective, trial, data)
            gained = new.value - trial.penalty(values) - least
            if new.finite and gained > 0 and laplace_evidence(trial, new) > evidence:
                return NewtonStep(trial, new, gained, bool(part.all()) and halving == 0)
        return None


@dataclass(frozen=True)
class NewtonStep:
    """A step that was taken.

    Attributes:
        parameters: Where it led, with the penalties.
        sums: The sums there.
        gained: Nats of the penalised likelihood that it gained.
        whole: Whether it went all the way that the quadratic function asked for.
    """

    parameters: PenalisedParameters
    sums: PenalisedSums
    gained: float
    whole: bool


def _dropped(at: PenalisedParameters, goal: PenalisedParameters) -> Bool[np.ndarray, " p"]:
    """Parameters that a step sets to zero for good."""
    return at.vector.active & ~goal.vector.active


def _active(at: PenalisedParameters, now: PenalisedSums):
    """The active parameters of every block that has some, with their information."""
    for block, information in zip(at.blocks, now.information, strict=True):
        on = at.vector.active[block]
        if on.any():
            yield block[on], information[np.ix_(on, on)]


def _under_evidence(at: PenalisedParameters, now: PenalisedSums) -> PenalisedParameters:
    """Parameters and penalties of the largest evidence for the likelihood as a quadratic function."""
    values, active, precisions = at.vector.values.copy(), at.vector.active.copy(), at.precisions.copy()
    for block, information in _active(at, now):
        groups = at.groups[block]
        names, local = np.unique(groups[groups >= 0], return_inverse=True)
        numbered = np.full(len(groups), -1)
        numbered[groups >= 0] = local
        linear = information @ at.vector.values[block] + now.gradient[block]
        found = maximise_evidence(information, linear, numbered, at.precisions[names])
        # Larger groups would take more likelihood with them than a step may lose.
        found = without_useless_groups(found, information, linear, numbered, most_effective=1.0)
        values[block], precisions[names] = found.values, found.precisions
        active[block] = np.isfinite(parameter_precisions(numbered, found.precisions))
    return replace(at, vector=replace(at.vector, values=values, active=active), precisions=precisions)


def _under_penalties(at: PenalisedParameters, now: PenalisedSums) -> PenalisedParameters:
    """Parameters at the maximum of the likelihood as a quadratic function, with the present penalties."""
    values, slope = at.vector.values.copy(), now.gradient - at.precision * at.vector.values
    for block, information in _active(at, now):
        values[block] += np.linalg.solve(information + np.diag(at.precision[block]), slope[block])
    return replace(at, vector=at.vector.at(values))


def penalised(at: PenalisedParameters, now: PenalisedSums) -> float:
    """Computes the penalised log density, log p(data | θ) − θᵀΛθ/2.

    Args:
        at: Parameters with their penalties.
        now: The sums there.

    Returns:
        Nats.
    """
    return now.value - at.penalty(at.vector.values)


def laplace_evidence(at: PenalisedParameters, now: PenalisedSums) -> float:
    """Computes log p(data | θ̂) − θ̂ᵀΛθ̂/2 − ½ log |I + Λ^{−½}HΛ^{−½}|.

    Parameters that belong to no group have the prior of as much information as one transition has of them, so that each
    costs about ½ log n, as a parameter of a polynomial law does: all laws are on one scale.

    Args:
        at: Parameters at their maximum, with their penalties.
        now: The sums there.

    Returns:
        The log evidence.
    """
    return float(now.value - sum(evidence_costs(at, now)))


def evidence_costs(at: PenalisedParameters, now: PenalisedSums) -> list[float]:
    """Computes what each block of parameters costs, θ̂ᵀΛθ̂/2 + ½ log |I + Λ^{−½}HΛ^{−½}| over it.

    Args:
        at: Parameters at their maximum, with their penalties.
        now: The sums there.

    Returns:
        Nats for each block; zero for one without active parameters.
    """
    costs, precision = [], at.precision
    for block, information in zip(at.blocks, now.information, strict=True):
        on = at.vector.active[block]
        places, part = block[on], information[np.ix_(on, on)]
        alone = np.maximum(np.diag(part), np.finfo(float).tiny) / now.count
        scale = 1 / np.sqrt(np.where(at.groups[places] < 0, alone, precision[places]))
        volume = np.linalg.slogdet(np.eye(len(places)) + scale[:, None] * part * scale)[1] / 2
        costs.append(float(precision[places] @ at.vector.values[places] ** 2 / 2 + volume))
    return costs


def supported(at: PenalisedParameters, now: PenalisedSums) -> PenalisedParameters:
    """Sets optional parameters that are not supported by the data to zero, one by one, as of a polynomial law.

    The penalised likelihood is taken as quadratic around its maximum. What is dropped costs it less than log(n)/2 each.

    Args:
        at: Parameters at their maximum, with their penalties.
        now: The sums there.

    Returns:
        The maximum under the restriction; the same parameters where all are supported.
    """
    values, active, precision = at.vector.values.copy(), at.vector.active.copy(), at.precision
    for block, information in zip(at.blocks, now.information, strict=True):
        curvature = information + np.diag(precision[block])
        on, best = active[block], values[block]
        may_go = np.isin(block, at.optional)
        while (may_go & on).any():
            off = ~on & at.vector.active[block]
            covariance = np.linalg.inv(curvature[np.ix_(on, on)])
            found = np.zeros_like(best)  # the maximum under the restriction, from the one without it
            found[on] = best[on] + covariance @ curvature[np.ix_(on, off)] @ best[off]
            wald = np.full(len(best), np.inf)
            wald[on] = found[on] ** 2 / np.diag(covariance)
            weakest = int(np.argmin(np.where(may_go, wald, np.inf)))
            if wald[weakest] >= np.log(now.count):
                break
            on[weakest] = False
        dropped = at.vector.active[block] & ~on
        if dropped.any():
            linear = curvature[np.ix_(on, dropped)] @ best[dropped]
            values[block[on]] = best[on] + np.linalg.solve(curvature[np.ix_(on, on)], linear)
            values[block[dropped]] = 0.0
            active[block] = on
    return replace(at, vector=replace(at.vector, values=values, active=active))


def posterior_covariance(
    at: PenalisedParameters, now: PenalisedSums
) -> list[tuple[Int[np.ndarray, " _"], Float[np.ndarray, "_ _"]]]:
    """Computes (H + Λ)⁻¹ of every block.

    Args:
        at: Parameters at their maximum, with their penalties.
        now: The sums there.

    Returns:
        The places of the parameters of each block and their covariance.
    """
    found = []
    for block, information in _active(at, now):
        scale = 1 / np.sqrt(at.precision[block])
        inverse = np.linalg.inv(np.eye(len(block)) + scale[:, None] * information * scale)
        found.append((block, scale[:, None] * inverse * scale))
    return found


@may_overflow
def sums(rule: TransitionRule, at: PenalisedParameters, data: Steps) -> PenalisedSums:
    """Computes value, gradient and the information of every block over all transitions.

    Args:
        rule: The discrete model.
        at: The parameters.
        data: The transitions.

    Returns:
        The sums, without the evidence.
    """
    total = None
    for found in _batches(rule, at, data):
        parts = [np.asarray(a, np.float64) for a in found[2:]]
        total = parts if total is None else [a + b for a, b in zip(total, parts, strict=True)]
    assert total is not None
    value, gradient, *information = (at.independent * part for part in total)
    return PenalisedSums(float(value), gradient, tuple(information), count=at.independent * len(data.step))


@may_overflow
def log_likelihood(rule: TransitionRule, at: PenalisedParameters, data: Steps) -> float:
    """Computes the sum of the log densities of all transitions, without their derivatives where these are dear.

    Args:
        rule: The discrete model.
        at: The parameters.
        data: The transitions.

    Returns:
        Nats; NaN where a density is not finite.
    """
    if at.linear is not None and isinstance(rule, ForwardPacket):
        return at.independent * at.linear.log_likelihood(rule, at.vector.values, data)
    trained, count, total = at.vector.arrays(), len(data.step), 0.0
    for begin in range(0, count, BATCH):
        part = [np.resize(np.asarray(a)[begin : begin + BATCH], (BATCH, *a.shape[1:])) for a in data]
        values = _log_densities(rule, trained, at.vector.fixed, *map(jnp.asarray, part))
        total += float(np.asarray(values, np.float64)[: count - begin].sum())
    return at.independent * total


@compiled
def _log_densities(
    rule: TransitionRule, trained: Any, fixed: Any, x: Array, displacement: Array, step: Array
) -> Float[Array, " t"]:
    generator = eqx.combine(trained, fixed)
    return jax.vmap(lambda x, moved, step: rule.log_prob(generator, x, moved, step))(x, displacement, step)


def examined(
    rule: TransitionRule, at: PenalisedParameters, data: Steps
) -> tuple[Float[np.ndarray, " t"], dict[str, Float[np.ndarray, "t _"]]]:
    """Computes the log density of every transition and its scores by the constants, by the program of ``sums``.

    Args:
        rule: The discrete model.
        at: The parameters.
        data: The transitions.

    Returns:
        The log densities, and the scores by coefficient.
    """
    parts = [[np.asarray(a, np.float64) for a in found[:2]] for found in _batches(rule, at, data)]
    values, scores = (np.concatenate(part)[: len(data.step)] for part in zip(*parts, strict=True))
    ends = np.cumsum([len(places) for places in at.constants.values()])
    return values, dict(zip(at.constants, np.split(scores, ends[:-1], axis=1), strict=True))


def _batches(rule: TransitionRule, at: PenalisedParameters, data: Steps) -> Iterator[Sequence[Array | np.ndarray]]:
    """Log densities, scores by the constants, and the sums: value, gradient, information of every block."""
    vector, count = at.vector, len(data.step)
    if at.linear is not None and isinstance(rule, ForwardPacket):
        constants = np.concatenate([np.zeros(0, int), *at.constants.values()])
        for value, score in at.linear.batches(rule, vector.values, data):
            parts = (score[:, block] for block in at.blocks)
            information = [part.T @ part for part in parts]
            yield value, score[:, constants], value.sum(), score.sum(axis=0, dtype=np.float64), *information
        return
    trained, blocks = vector.arrays(), [jnp.asarray(block) for block in at.blocks]
    constants = jnp.asarray(np.concatenate([np.zeros(0, int), *at.constants.values()]))
    arrays, size = [np.asarray(a) for a in data], BATCH
    points = len(vector.values) * data.x.shape[1] * getattr(rule, "substeps", 1)
    while size > LEAST_BATCH and size * points > MOST_DERIVATIVES:
        size //= 2
    for begin in range(0, count, size):
        # All of one size, the last one filled up: a remainder would be compiled a second time.
        part = [a[begin : begin + size] for a in arrays]
        whole = [jnp.asarray(np.resize(a, (size, *a.shape[1:]))) for a in part]
        there = jnp.arange(size) < count - begin
        yield _sums(rule, trained, vector.fixed, blocks, constants, there, *whole)


@compiled
def _sums(
    rule: TransitionRule,
    trained: Any,
    fixed: Any,
    blocks: list[Int[Array, " _"]],
    constants: Int[Array, " c"],
    there: Bool[Array, " t"],
    x: Array,
    displacement: Array,
    step: Array,
) -> list[Array]:
    def one(x, displacement, step):
        log_prob = lambda trained: rule.log_prob(eqx.combine(trained, fixed), x, displacement, step)  # noqa: E731
        value, gradient = jax.value_and_grad(log_prob)(trained)
        return value, ravel_pytree(gradient)[0]

    value, score = jax.vmap(one)(x, displacement, step)
    score = jnp.where(there[:, None], score, 0.0)
    information = [score[:, block].T @ score[:, block] for block in blocks]
    return [value, score[:, constants], jnp.sum(jnp.where(there, value, 0.0)), score.sum(axis=0), *information]
