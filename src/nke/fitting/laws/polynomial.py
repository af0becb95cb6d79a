"""Polynomial laws: drift by powers of the state, noise constant or in proportion to it, jumps alike everywhere.

Maximum likelihood by Newton's method from least squares, without the terms that the data does not support; then a score
test says whether the law shows lack of fit in some part of the states.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import equinox as eqx
import numpy as np
from jaxtyping import Float

from nke.data import Coordinates, Trajectories, Transitions
from nke.errors import DivergenceError
from nke.fitting.batches import Steps
from nke.fitting.candidate import Candidate, Comparison, Family, LawFit, Problem, TransitionLoss, Trial, parameter_count
from nke.fitting.decisions import Decision
from nke.fitting.equation import Equation
from nke.fitting.form import ModelForm
from nke.fitting.law_uncertainty import law_uncertainty, together
from nke.fitting.newton import BATCH, Newton, Sums, inverse_information
from nke.fitting.optimiser import Outcome
from nke.fitting.polynomial_parameters import PolynomialParameters
from nke.fitting.rules import SelectionRules
from nke.fitting.sandwich import ScoreSample, sandwich
from nke.fitting.score_test import ScoreTest, score_test
from nke.fitting.stability import diverges, runs_away
from nke.model import Uncertainty
from nke.operators import DriftNetwork, Generator

if TYPE_CHECKING:
    from nke.fitting.search import Search

APPROACH = Newton(iterations=40, tolerance=5.0)  # over one batch, whose maximum chance moves by more
BEFORE_SELECTION = Newton(tolerance=1.0)  # before terms are dropped that cost a few nats
FINAL = Newton()
ALL_TRANSITIONS = Newton(iterations=2)  # from the maximum over a part of the transitions


@dataclass(frozen=True)
class PolynomialFit(LawFit):
    """A polynomial law at its maximum likelihood.

    Attributes:
        law: Its parameters.
        information: Of the parameters.
        gradient: Of the log likelihood; not zero for terms that were dropped.
        evidence: Log likelihood less log(n)/2 for each parameter, over the transitions that it was fitted to.
        fitted: Their number.
        fitted_loss: Their mean −log density.
        beside: The fit that noise and jumps come from where only the drift is a polynomial; None: they are its own.
    """

    law: PolynomialParameters | None = None
    information: Float[np.ndarray, "p p"] | None = None
    gradient: Float[np.ndarray, " p"] | None = None
    evidence: float = -np.inf
    fitted: int = 0
    fitted_loss: float = np.inf
    beside: LawFit | None = None

    def uncertainty(self, problem: Problem, data: Transitions, coordinates: Coordinates) -> Uncertainty | None:
        """Takes the inverse of the information of all terms up to the degree, those that were dropped too.

        They were dropped because they are within a few standard errors from zero, not because they are known to be
        zero: errors of the law without them would be too small wherever there are weak ones.
        """
        assert self.law is not None
        assert self.information is not None
        assert self.gradient is not None
        known, vector = np.flatnonzero(np.diag(self.information) > 0), self.law.vector
        covariance, offset = inverse_information(self.information[np.ix_(known, known)]), np.zeros(len(self.gradient))
        offset[known] = covariance @ self.gradient[known]  # a step of Newton's method, to the maximum with all terms
        rule = problem.transition_rule(self.form)
        sample = ScoreSample.of(vector.generator, rule, data, coordinates, problem.initial.seed)
        if sample.usable:
            covariance = sandwich(*sample.information(lambda steps: vector.scores(rule, steps)[:, known], self.fitted))
        own = law_uncertainty(vector, [(known, covariance)], offset)
        if self.beside is None:
            return own
        # Of a drift that was learned before, the errors are no longer those of this law.
        rest = self.beside.uncertainty(problem, data, coordinates)
        return None if rest is None else together(own, rest.without("advection."))

    def safeguarded(self, problem: Problem) -> "PolynomialFit":
        """A drift of higher powers that runs away beyond the data becomes that at the nearest state of the data."""
        sample, drift = problem.initial.sample, cast(DriftNetwork, self.generator.drift_network)
        if drift.body.degree < 2 or not runs_away(self.generator, sample.states, sample.typical_step, problem.rules):
            return self
        bounded = drift.within(sample.x)
        return replace(self, generator=eqx.tree_at(lambda g: g.drift_network, self.generator, bounded))

    def safeguards(self, problem: Problem) -> list[Decision]:
        """Says that the equation ends where the data does."""
        seen, rules = cast(DriftNetwork, self.generator.drift_network).seen, problem.rules
        if seen is None:
            return []
        return [
            Decision(
                "Does the drift lead back from beyond the data?",
                "no: beyond the data it is taken as at the nearest state of the data; the equation does not hold there",
                {},
                f"no where its paths from the data, stretched to twice its extent, go {rules.divergence_distance:g} "
                "times as far as the farthest state",
                "bounded drift",
            )
        ]

    def equation(self, data: Trajectories, coordinates: Coordinates) -> Equation | None:
        """Writes the law in the user's units, noise and jumps too unless they are networks."""
        assert self.law is not None
        assert self.information is not None
        noise = self.form.noise if any(group.name == "noise" for group in self.law.groups()) else None
        return self.law.equation(self.information, data, coordinates, noise)


@dataclass(frozen=True)
class PolynomialLaw(Candidate):
    """A polynomial law of one form.

    Attributes:
        form: Its degree, noise and sub-steps.
        known: A law of the same degree with other sub-steps to start from.
    """

    form: ModelForm
    known: Generator | None = None

    def initial(self, problem: Problem) -> Generator:
        """Starts at the law that is known, or at least squares."""
        return self.known or problem.initial.generator(self.form, problem.trainer.key)

    def fit(self, problem: Problem) -> PolynomialFit:
        """Maximises the likelihood by Newton's method; where that gets stuck, after a short training."""
        begin, trainer = self.initial(problem), problem.trainer
        few = problem.only_valid(problem.data.sample(BATCH))
        with trainer.clock("Newton's method"):
            advance = trainer.run.progress("Newton's method, approach", APPROACH.iterations)
            law, near = self._approach(begin, few, problem, advance)
        if not near:
            loss = TransitionLoss(problem.transition_rule(self.form))
            begin = trainer.train(f"polynomial, {self}", loss, begin, problem.data, problem.rules.trial_steps)
            law, _ = self._approach(begin, few, problem)
        return fitted_polynomial(self.form, law, problem)

    def _approach(
        self, begin: Generator, few: Steps, problem: Problem, advance=lambda iterations: None
    ) -> tuple[PolynomialParameters, bool]:
        """Newton's method over few transitions; and whether it came close to their maximum."""
        law = PolynomialParameters.of(begin, problem.initial.sample.zero, problem.rules.origin_distance)
        found = APPROACH.run(problem.transition_rule(self.form), law.vector, few, advance)
        return replace(law, vector=found.parameters), found.outcome is Outcome.CONVERGED


def fitted_polynomial(form: ModelForm, law: PolynomialParameters, problem: Problem) -> PolynomialFit:
    """Finds the maximum of the likelihood without terms that the data does not support, and tests it.

    Args:
        form: Of the law.
        law: Its parameters near the maximum.
        problem: Transitions and thresholds.

    Returns:
        The law with its score tests.

    Raises:
        DivergenceError: If the likelihood or its derivatives are not finite.
    """
    rule, trainer, most = problem.transition_rule(form), problem.trainer, problem.rules.averaged_transitions
    some = problem.only_valid(problem.data.sample(most))
    advance = trainer.run.progress("Newton's method", BEFORE_SELECTION.iterations + FINAL.iterations)

    def maximum(newton: Newton, law: PolynomialParameters, steps: Steps) -> tuple[PolynomialParameters, Sums]:
        found = newton.run(rule, law.vector, steps, advance)
        if found.outcome is Outcome.NOT_FINITE:
            raise DivergenceError("the likelihood or its derivatives became NaN or infinite: it has no maximum")
        return replace(law, vector=found.parameters), found.evidence

    with trainer.clock("Newton's method"):
        law, sums = maximum(BEFORE_SELECTION, law, some)
        law = law.supported(sums.information, len(some.step))
        law, sums = maximum(FINAL, law, some)
        independent = problem.initial.independent
        fitted_loss = -sums.value / len(some.step)
        evidence = independent * sums.value - law.count * np.log(independent * len(some.step)) / 2
        if problem.data.training.blocks > most:
            law, sums = maximum(ALL_TRANSITIONS, law, problem.only_valid(Steps(*problem.data.training.arrays)))
        scores = law.vector.scores(rule, some)
    losses = -law.vector.log_prob(rule, problem.held_out)
    return PolynomialFit(
        form,
        law.generator,
        losses,
        parameter_count(law.generator) - len(law.vector.values) + law.count,  # with those of networks beside it
        problem.valid(problem.held_out),
        _score_tests(law, scores, some, problem),
        law,
        sums.information,
        sums.gradient,
        float(evidence),
        len(some.step),
        float(fitted_loss),
    )


def _score_tests(
    law: PolynomialParameters, scores: Float[np.ndarray, "t p"], some: Steps, problem: Problem
) -> dict[str, ScoreTest]:
    jumped = float(problem.initial.moments.jumped.mean())
    return {
        group.name: score_test(
            scores[:, group.places],
            problem.visible(some),
            problem.rules,
            same_information=group.name != "drift",
            informative_fraction=jumped if group.name == "jumps" else 1.0,
            independent=1.0 if group.name == "drift" else problem.initial.independent,
        )
        for group in law.groups()
    }


def _no_use_of_substeps(trials: list[Trial], form: ModelForm, rules: SelectionRules) -> bool:
    """Whether more sub-steps of the same law have reduced its lack of fit by no more than a law may show."""
    fits = [trial.fit for trial in trials if trial.fit is not None and trial.fit.form.degree == form.degree]
    lack = [sum(test.nats for test in fit.score_tests.values()) for fit in fits]
    return len(lack) > 1 and lack[-2] - lack[-1] < rules.lack_of_fit_nats


class PolynomialFamily(Family):
    """Polynomial laws, lower degrees and fewer sub-steps first, until one shows no lack of fit."""

    name = "polynomial"

    def propose(self, search: "Search") -> Iterator[PolynomialLaw]:
        """Yields laws of higher degree only where the drift shows lack of fit."""
        problem, before = search.problem, None
        options = problem.options
        if options.networks and not options.polish:
            return
        # Networks for noise of any form start at constant noise.
        asked = "constant" if options.networks and options.noise in ("plain", "diagonal") else options.noise
        forms = problem.initial.polynomial_forms(asked)
        if forms and options.noise is None and not options.networks:
            ahead = problem.initial.gain_over_polynomials
            if ahead > problem.rules.hopeless_nats:
                search.evidence["nats of evidence by which a smooth regression is ahead"] = ahead
                return
        # Sub-steps cost no parameters, so they come before a higher degree.
        for form in [replace(simple, substeps=n) for simple in forms for n in self._substeps(simple, problem)]:
            best = search.best
            if best is not None and (
                form.substeps < best.form.substeps or (form.degree > best.form.degree and best.passes("drift"))
            ):
                continue
            if _no_use_of_substeps(search.trials, form, problem.rules):
                continue
            same_degree = before is not None and before.form.degree == form.degree
            yield PolynomialLaw(form, before.generator if before is not None and same_degree else None)
            before = search.trials[-1].fit or before
            if search.best is not None and search.best.passes_score_test:
                break

    def compare(self, fit: LawFit, search: "Search") -> Comparison:
        """Takes the law that predicts held-out transitions best, if it does not diverge in simulation."""
        sample = search.problem.initial.sample
        away = diverges(fit.generator, sample.states, sample.typical_step, search.problem.rules, sample.logarithms)
        return Comparison(not away and (search.best is None or fit.loss < search.best.loss), diverges=away)

    def explain(self, search: "Search") -> list[Decision]:
        """Says which polynomial laws were tried, and their lack of fit."""
        rules, best = search.problem.rules, search.best
        if search.evidence:
            rule = f"not fitted where a smooth regression is ahead by more than {rules.hopeless_nats:g} nats"
            return [Decision("Which polynomial law?", "none", search.evidence, rule, "polynomial")]
        if not search.trials:
            return []
        answer = "none" if best is None else f"{best.form}" + ("" if best.passes_score_test else ", with lack of fit")
        return [
            Decision(
                "Which polynomial law?",
                answer,
                {str(trial.candidate): trial.evidence() for trial in search.trials},
                "the best held-out score; no lack of fit where the score test finds no more than "
                f"{rules.lack_of_fit_nats:g} nats and {rules.lack_of_fit_deviations:g} standard deviations",
                "polynomial",
            )
        ]

    def _substeps(self, form: ModelForm, problem: Problem) -> tuple[int, ...]:
        """Numbers of sub-steps to try."""
        if form.noise != "relative" or not problem.open_substeps:
            return (problem.options.substeps or 1,)
        sample = problem.initial.sample
        change = problem.initial.likelier_regression.relative_drift_change(sample.states, sample.step)
        return (2, 4) if np.median(change) > problem.rules.fast_drift_change else (1, 2, 4)
