"""A new family of laws, as an exercise: a drift by sines. All that it needs, besides its place in the search.

f_i(x) = Σ_k c_ik sin(k x_i), k = 1, 2, 3, with constant noise, in the user's own coordinates.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from nke.errors import DivergenceError
from nke.fitting.candidate import Candidate, Comparison, Family, LawFit, Problem
from nke.fitting.decisions import Decision
from nke.fitting.form import ModelForm
from nke.fitting.newton import Newton, ParameterVector
from nke.fitting.optimiser import Outcome
from nke.fitting.score_test import score_test
from nke.fitting.stability import diverges
from nke.operators import Generator, trainable

HARMONICS = 3


class SineDrift(eqx.Module):
    """f_i(x) = Σ_k c_ik sin(k x_i)."""

    amplitudes: Float[Array, "d k"]

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, " d"]:
        return jnp.sum(self.amplitudes * jnp.sin(jnp.arange(1, HARMONICS + 1) * x[:, None]), axis=1)


@dataclass(frozen=True)
class SineLaw(Candidate):
    form: ModelForm = field(default_factory=lambda: ModelForm("constant", networks=False, basis="sines"))

    def initial(self, problem: Problem) -> Generator:
        """The noise at its average, no drift."""
        linear = problem.initial.generator(self.form, problem.trainer.key)
        drift = SineDrift(jnp.zeros((problem.initial.sample.x.shape[1], HARMONICS)))
        return eqx.tree_at(lambda law: law.drift_network, linear, drift)

    def fit(self, problem: Problem) -> LawFit:
        rule, begin = problem.transition_rule(self.form), self.initial(problem)
        data = problem.only_valid(problem.data.sample(problem.rules.averaged_transitions))
        found = Newton(iterations=40).run(rule, ParameterVector.of(begin, trainable(begin)), data)
        if found.outcome is Outcome.NOT_FINITE:
            raise DivergenceError(found.outcome.value)
        vector = found.parameters
        scores, states = vector.scores(rule, data), problem.visible(data)
        places = {"drift": vector.places.advection, "noise": vector.places.diffusion}
        tests = {
            name: score_test(
                scores[:, np.concatenate([a.ravel().astype(int) for a in jax.tree.leaves(tree)])],
                states,
                problem.rules,
                same_information=name == "noise",
            )
            for name, tree in places.items()
        }
        losses = -vector.log_prob(rule, problem.held_out)
        valid = problem.valid(problem.held_out)
        return LawFit(self.form, vector.generator, losses, len(vector.values), valid, tests)


class SineFamily(Family):
    name = "sines"

    def propose(self, search) -> Iterator[SineLaw]:
        if search.best is None or not search.best.passes_score_test:
            yield SineLaw()

    def compare(self, fit: LawFit, search) -> Comparison:
        sample = search.problem.initial.sample
        away = diverges(fit.generator, sample.x, sample.typical_step, search.problem.rules)
        gain = None if search.best is None else fit.gain_over(search.best)
        return Comparison(not away and (gain is None or gain.value > gain.error), gain, away)

    def explain(self, search) -> list[Decision]:
        if not search.trials:
            return []
        [trial] = search.trials
        answer = "yes" if trial.comparison.accepted else "no"
        evidence = {str(trial.candidate): trial.evidence()}
        return [Decision("Is the drift a sum of sines?", answer, evidence, "the best held-out score", "sines")]
