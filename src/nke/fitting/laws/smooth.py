"""Smooth laws: drift, noise and log rate as polynomials plus kernels, penalised, the penalties by evidence.

The regression of ``smooth_regression.py`` gives the start and the features; Newton's method under the same transition
density as for every law (``penalised_newton.py``) gives the law and its posterior covariance.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast

import jax
import numpy as np
from jaxtyping import Float, Int

from nke.errors import DivergenceError
from nke.fitting.batches import Steps, float32
from nke.fitting.candidate import Candidate, Comparison, Family, LawFit, Problem, Trial
from nke.fitting.decisions import Decision
from nke.fitting.form import ModelForm
from nke.fitting.laws.polynomial import PolynomialFit
from nke.fitting.newton import BATCH
from nke.fitting.optimiser import Optimised, Outcome
from nke.fitting.penalised_newton import (
    PenalisedNewton,
    PenalisedParameters,
    PenalisedSums,
    examined,
    expected_gain,
    posterior_covariance,
    sums,
)
from nke.fitting.score_test import ScoreTest, score_test
from nke.fitting.smooth_basis import FeatureSet, jump_group_sizes
from nke.fitting.smooth_parameters import smooth_generator, smooth_parameters
from nke.fitting.stability import diverges
from nke.model.batched import relative_changes
from nke.operators import Generator, PoissonJump, SmoothDrift

if TYPE_CHECKING:
    from nke.fitting.search import Search

BASIS = "powers and kernels"
APPROACH = PenalisedNewton(iterations=4, tolerance=2.0, penalties=False)  # over few transitions
FINAL = PenalisedNewton()


@dataclass(frozen=True)
class SmoothFit(LawFit):
    """A smooth law at its maximum.

    Attributes:
        evidence: Log evidence of the law over the transitions it was fitted to.
        effective: Effective number of parameters.
        fitted: Number of these transitions.
        posterior: Places of the parameters of each block in the vector of all, and their posterior covariance.
    """

    evidence: float = -np.inf
    effective: float = np.nan
    fitted: int = 0
    posterior: list[tuple[Int[np.ndarray, " _"], Float[np.ndarray, "_ _"]]] = field(default_factory=list)

    @property
    def drift_kernels(self) -> bool:
        """Whether the drift uses kernels beside powers of the state."""
        drift = cast(SmoothDrift, self.generator.drift_network)
        return bool(drift.body.table[:, drift.body.basis.powers :].any())


@dataclass(frozen=True)
class SmoothLaw(Candidate):
    """A smooth law of one form.

    Attributes:
        form: Its noise, highest power and sub-steps.
    """

    form: ModelForm

    def initial(self, problem: Problem) -> Generator:
        """Starts at the regression."""
        return self._start(problem).vector.generator

    def _start(self, problem: Problem) -> PenalisedParameters:
        initial, form = problem.initial, self.form
        regression = initial.smooth_regression(form.degree, form.noise == "constant")
        jump, features = None, None
        if initial.jumps:
            features = FeatureSet.of(initial.sample.x, 1, jump_group_sizes, initial.seed, initial.sample.pairs)
            measure, order = initial.jump_network(problem.trainer.key())
            jump = PoissonJump(measure.with_basis(features.basis()), order)
        return smooth_parameters(smooth_generator(regression, jump, initial.constraint), regression, features)

    def fit(self, problem: Problem) -> SmoothFit:
        """Maximises the penalised likelihood, with more sub-steps where these raise the evidence."""
        trainer, form = problem.trainer, self.form
        with trainer.clock("smooth regression"):
            at = self._start(problem)
        some = problem.data.sample(problem.rules.averaged_transitions)
        advance = trainer.run.progress("Newton's method, smooth law", APPROACH.iterations + FINAL.iterations)
        with trainer.clock("Newton's method"):
            if problem.open_substeps:
                while drift_change(at.vector.generator, form, problem) > 2 * problem.rules.fast_drift_change:
                    form = replace(form, substeps=2 * form.substeps)
            found = self._maximum(at, form, problem, some, advance)
            while (
                problem.open_substeps
                and drift_change(found.parameters.vector.generator, form, problem) > problem.rules.fast_drift_change
                and self._promising(found, form, problem, len(some.step))
            ):
                finer = replace(form, substeps=2 * form.substeps)
                refined = self._maximum(found.parameters, finer, problem, some, advance)
                if refined.evidence.evidence < found.evidence.evidence + problem.rules.evidence_gain:
                    break
                found, form = refined, finer
            return self._examine(found, form, problem, some)

    def _maximum(
        self, start: PenalisedParameters, form: ModelForm, problem: Problem, some: Steps, advance
    ) -> Optimised[PenalisedSums]:
        """The maximum over all transitions, from that over a part of them where there are many more."""
        rule, few = problem.transition_rule(form), problem.data.sample(2 * BATCH)
        if 2 * len(few.step) < len(some.step):
            near = APPROACH.run(rule, start, few, advance)
            start = start if near.outcome is Outcome.NOT_FINITE else near.parameters
        found = FINAL.run(rule, start, some, advance)
        if found.outcome is Outcome.NOT_FINITE:
            raise DivergenceError("the likelihood or its derivatives became NaN or infinite: it has no maximum")
        return found

    def _promising(self, found: Optimised[PenalisedSums], form: ModelForm, problem: Problem, count: int) -> bool:
        """Whether twice as many sub-steps gain likelihood over one batch, in proportion to all transitions."""
        finer, batch = replace(form, substeps=2 * form.substeps), problem.data.sample(BATCH)
        now, then = (sums(problem.transition_rule(f), found.parameters, batch) for f in (form, finer))
        gain = then.value - now.value + expected_gain(found.parameters, then) - expected_gain(found.parameters, now)
        return gain * count / len(batch.step) > problem.rules.evidence_gain

    def _examine(self, found: Optimised[PenalisedSums], form: ModelForm, problem: Problem, some: Steps) -> SmoothFit:
        at, rule = found.parameters, problem.transition_rule(form)
        _, scores = examined(rule, at, some)
        losses, _ = examined(rule, at, problem.held_out)
        covariance = posterior_covariance(at, found.evidence)
        precision = at.precision
        effective = sum(len(block) - precision[block] @ np.diag(part) for block, part in covariance)
        return SmoothFit(
            form,
            at.vector.generator,
            -losses,
            int(at.vector.active.sum()),
            None,
            _score_tests(scores, some, problem),
            found.evidence.evidence,
            float(effective),
            len(some.step),
            covariance,
        )


def drift_change(generator: Generator, form: ModelForm, problem: Problem) -> float:
    """Computes the median relative change of the drift over a sub-step; none where no more sub-steps are allowed.

    Args:
        generator: The law.
        form: Its sub-steps.
        problem: States and steps.

    Returns:
        The change.
    """
    if form.substeps >= problem.rules.most_substeps:
        return 0.0
    sample = problem.initial.sample
    some = slice(None, None, max(1, len(sample.x) // BATCH))
    x, step = float32(sample.states[some]), float32(sample.step[some] / form.substeps)
    return float(np.median(relative_changes(generator, x, step, jax.random.key(0))[1]))


def _score_tests(scores: dict[str, Float[np.ndarray, "t _"]], some: Steps, problem: Problem) -> dict[str, ScoreTest]:
    jumped = float(problem.initial.moments.jumped.mean())
    x = problem.visible(some)
    return {
        name: score_test(
            part,
            x,
            problem.rules,
            same_information=name != "drift",
            informative_fraction=jumped if name == "jumps" else 1.0,
        )
        for name, part in scores.items()
    }


class SmoothFamily(Family):
    """Smooth laws, where a polynomial shows lack of fit."""

    name = "smooth"

    def propose(self, search: "Search") -> Iterator[SmoothLaw]:
        """Yields a smooth law; without higher powers where with them it diverges in simulation."""
        problem, best = search.problem, search.best
        options = problem.options
        if options.networks or options.noise not in (None, "constant", "plain"):
            return
        if problem.initial.noiseless.any() or options.jump_shapes == "state-dependent":
            return
        if best is not None and best.passes_score_test and not self._worth_a_try(problem):
            return
        for noise, degree in self._forms(problem):
            last = search.trials[-1] if search.trials else None
            if last is not None and self._settles(last):
                return
            yield SmoothLaw(ModelForm(noise, options.substeps or 1, degree, networks=False, basis=BASIS))

    def _settles(self, trial: Trial) -> bool:
        """Whether no further form is to be tried: not where it diverges, nor where constant noise is not enough."""
        if trial.fit is None or trial.comparison.diverges:
            return False
        noise = trial.fit.score_tests["noise"]
        return trial.candidate.form.noise != "constant" or noise.nats < 2 * noise.chance  # the evidence decides

    def _forms(self, problem: Problem) -> Iterator[tuple[str, int]]:
        """Forms of the noise and highest powers: constant noise first where the regression may mistake it."""
        initial, asked, degree = problem.initial, problem.options.noise, problem.rules.most_degree
        noises = ["constant", "plain"] if asked is None else [asked]
        if asked is None:
            regression = initial.smooth_regression(degree, False)
            noises = noises if not regression.state_dependent_noise or initial.turns_fast else noises[1:]
        for noise in noises:
            yield noise, degree
        yield noises[-1], 1  # without higher powers, where with them it diverges in simulation

    def compare(self, fit: LawFit, search: "Search") -> Comparison:
        """Takes a law that does not diverge and has more evidence than the law so far.

        Where that was fitted to other transitions, it must predict held-out ones better.
        """
        sample = search.problem.initial.sample
        away = diverges(fit.generator, sample.states, sample.typical_step, search.problem.rules)
        if search.best is None:
            return Comparison(not away, diverges=away)
        gain, best = fit.gain_over(search.best), search.best
        if isinstance(fit, SmoothFit) and isinstance(best, PolynomialFit | SmoothFit) and best.fitted == fit.fitted:
            better = fit.evidence > best.evidence + search.problem.rules.evidence_gain
        else:
            better = gain.value > 0
        return Comparison(not away and better, gain, away)

    def _worth_a_try(self, problem: Problem) -> bool:
        """Whether kernels gain evidence over powers in a regression, where the score test sees no lack of fit."""
        rules = problem.rules
        return problem.initial.smooth_regression(rules.most_degree, False).kernel_gain > rules.kernel_gain

    def explain(self, search: "Search") -> list[Decision]:
        """Says what the smooth law gained."""
        if not search.trials:
            return []
        taken, last = any(trial.comparison.accepted for trial in search.trials), search.trials[-1]
        return [
            Decision(
                "Is a smooth law better?",
                "yes" if taken else "no" + (f": {last.failure}" if last.failure else ""),
                {str(one.candidate): _evidence(one) for one in search.trials},
                f"taken where its evidence is {search.problem.rules.evidence_gain:g} nats ahead and it does not "
                "diverge in simulation; its penalties by evidence",
                "smooth",
            )
        ]


def _evidence(trial: Trial) -> dict[str, object] | str:
    facts = trial.evidence()
    if isinstance(facts, dict) and isinstance(trial.fit, SmoothFit):
        facts["effective parameters"] = trial.fit.effective
        facts["log evidence"] = trial.fit.evidence
    return facts
