"""The law of a state that forgets its value within a step: a linear drift that leaves the stationary law of the data.

The likelihood of such data says no more of the drift than that it restores within a step, and of the noise only what
is left of it by the end of the step. So nothing is maximised. With dx = −θ(x − μ) dt + g dW + dJ at its stationary law,

    mean μ,   covariance (a + λγ)/(2θ),   fourth cumulant 3λγ²/(4θ) of each coordinate,

a, λ and γ are chosen such that these are the moments of the states: of Gaussian ones of covariance C, a share q of
which deviates by another N(0, G): a = 2θC, γ = 2(1 − q)G, λ = θq/(1 − q).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from nke.fitting.batches import float32
from nke.fitting.candidate import Candidate, Comparison, Family, LawFit, Problem, TransitionLoss, parameter_count
from nke.fitting.decisions import Decision
from nke.fitting.form import ModelForm
from nke.fitting.initial_jump_law import series_order
from nke.fitting.initial_moments import moments_with_jumps
from nke.fitting.stochastic import losses
from nke.mixtures import GaussianMixture
from nke.operators import Advection, ConstantFactor, Diffusion, DriftNetwork, Generator, JumpNetwork, PoissonJump

if TYPE_CHECKING:
    from nke.fitting.search import Search

MOST_SHARE = 0.5  # of the states that jumps may deviate: with more of them the rest are no calm ones


@dataclass(frozen=True)
class MemorylessLaw(Candidate):
    """A linear drift to the mean, the same in all coordinates.

    Attributes:
        form: Of the law.
        correlation: What is left of a deviation after a step.
    """

    form: ModelForm
    correlation: float

    def initial(self, problem: Problem) -> Generator:
        """Takes the moments of the states."""
        initial, key = problem.initial, problem.trainer.key
        sample, rate = initial.sample, -np.log(self.correlation) / initial.sample.typical_step
        states = sample.states + sample.displacement  # where steps end, the first states are forgotten
        mean, d = states.mean(axis=0), states.shape[1]
        calm, jump, share = _moments(states - mean, initial.jumps)
        drift = DriftNetwork(float32(rate * states.std(axis=0)), 0, 0, key=key())
        drift = drift.starting_from(float32(rate * mean), float32(-rate * np.eye(d)))
        noise = float32(np.linalg.cholesky(2 * rate * calm))
        measure = None
        if initial.jumps:
            each, often = 2 * (1 - share) * jump, rate * share / (1 - share)
            size, step = np.sqrt(np.diag(each)), sample.typical_step
            network = JumpNetwork(float32(size), np.sqrt(step) * noise, often, 1, 0, 0, inputs=d, key=key())
            one = GaussianMixture(np.ones(1), np.zeros((1, d)), each[None])
            measure = PoissonJump(network.starting_from(one), series_order(often * step, 1, problem.rules))
        factor = ConstantFactor(noise, width=0, depth=0, inputs=d, key=key())
        return Generator.of_free(Advection(drift), Diffusion(factor), measure, None)

    def fit(self, problem: Problem) -> LawFit:
        """Gives the law as it starts: there is nothing more to learn."""
        law, loss = self.initial(problem), TransitionLoss(problem.transition_rule(self.form))
        held_out = np.asarray(losses(loss, law, problem.data.held_out), np.float64)
        return LawFit(self.form, law, held_out, parameter_count(law))


def _moments(
    deviation: Float[np.ndarray, "t d"], jumps: bool
) -> tuple[Float[np.ndarray, "d d"], Float[np.ndarray, "d d"], float]:
    """Covariance C of the calm states, of what jumps add to it, G, and the share q of states that have it.

    C + qG is the covariance of all states.
    """
    whole = np.atleast_2d(np.cov(deviation.T))
    if not jumps:
        return whole, np.zeros_like(whole), 0.0
    found = moments_with_jumps(deviation, np.ones(len(deviation)))
    share = min(found.rate, MOST_SHARE)
    # What the two together miss of the whole is little, and shared out between them.
    back = np.linalg.cholesky(whole) @ np.linalg.inv(np.linalg.cholesky(found.noise + share * found.jump))
    return back @ found.noise @ back.T, back @ found.jump @ back.T, share


class MemorylessFamily(Family):
    """The one law for states that forget their value within a step."""

    name = "memoryless"

    def __init__(self, correlation: float):
        """Takes the slowest drift that the data allows.

        Args:
            correlation: Between neighbouring states, at most.
        """
        self._correlation = correlation

    def propose(self, search: "Search") -> Iterator[MemorylessLaw]:
        """Yields the law; many sub-steps, since it changes much over a step."""
        problem = search.problem
        substeps = problem.rules.most_substeps if problem.open_substeps else problem.options.substeps or 1
        yield MemorylessLaw(ModelForm("constant", substeps, networks=False), self._correlation)

    def compare(self, fit: LawFit, search: "Search") -> Comparison:
        """Takes it: there is no other."""
        return Comparison(True)

    def explain(self, search: "Search") -> list[Decision]:
        """Says that nothing was compared."""
        return [
            Decision(
                "Which drift and noise?",
                "a linear drift to the mean, constant noise",
                {"correlation that is left after a step": self._correlation},
                "the slowest that the data allows, with mean, covariance and tails of the states as stationary law",
                self.name,
            )
        ]
