"""Smooth laws: drift, noise and log rate as polynomials plus kernels, penalised, the penalties by evidence.

The regression of ``smooth_regression.py`` gives the start and the features; Newton's method under the same transition
density as for every law (``penalised_newton.py``) gives the law and its posterior covariance.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast

import equinox as eqx
import numpy as np
from jaxtyping import Float, Int

from nke.data import Coordinates, Trajectories, Transitions
from nke.errors import DivergenceError
from nke.fitting.batches import Steps
from nke.fitting.candidate import Candidate, Comparison, Family, LawFit, Problem, Trial, Unsuitable
from nke.fitting.decisions import Decision, Estimate
from nke.fitting.equation import Equation
from nke.fitting.form import ModelForm
from nke.fitting.law_uncertainty import penalised_uncertainty
from nke.fitting.laws.polynomial import PolynomialFit
from nke.fitting.newton import BATCH
from nke.fitting.optimiser import Optimised, Outcome
from nke.fitting.penalised_newton import (
    PenalisedNewton,
    PenalisedParameters,
    PenalisedSums,
    evidence_costs,
    examined,
    log_likelihood,
    penalised,
    posterior_covariance,
    supported,
)
from nke.fitting.result import Posterior
from nke.fitting.score_test import ScoreTest, score_test
from nke.fitting.smooth_basis import FeatureSet, jump_group_sizes
from nke.fitting.smooth_equation import smooth_equation
from nke.fitting.smooth_parameters import smooth_generator, smooth_parameters
from nke.fitting.stability import diverges, exceeds_motions
from nke.model import Uncertainty
from nke.operators import Generator, PoissonJump, SmoothDrift, SmoothFactor, SmoothFunction

if TYPE_CHECKING:
    from nke.fitting.search import Search

BASIS = "powers and kernels"
APPROACH = PenalisedNewton(iterations=6, tolerance=0.1, halvings=2, penalties=False)  # over few transitions
FINAL = PenalisedNewton()


@dataclass(frozen=True)
class SmoothFit(LawFit):
    """A smooth law at its maximum.

    Attributes:
        evidence: Log evidence of the law over the transitions it was fitted to.
        effective: Effective number of parameters.
        fitted: Number of these transitions.
        cost_beside_drift: Nats of evidence that the parameters of noise and jumps cost.
        covariances: Places of the parameters of each block in the vector of all, and their posterior covariance.
        whole: All parameters, also those that were dropped, and the sums there; None where the law was not examined.
        offset: From the parameters of the law to these.
    """

    evidence: float = -np.inf
    effective: float = np.nan
    fitted: int = 0
    cost_beside_drift: float = np.nan
    covariances: list[tuple[Int[np.ndarray, " _"], Float[np.ndarray, "_ _"]]] = field(default_factory=list)
    whole: Optimised[PenalisedSums] | None = None
    offset: Float[np.ndarray, " p"] | None = None

    def uncertainty(self, problem: Problem, data: Transitions, coordinates: Coordinates) -> Uncertainty | None:
        """Takes the posterior covariance, which counts what the penalties hold back as well as what chance does.

        With the constants and slopes that were dropped, as for a polynomial law: they are small, not known to be zero.
        """
        if self.whole is None:
            return None
        rule = problem.transition_rule(self.form)
        return penalised_uncertainty(self.whole, rule, data, coordinates, self.offset)

    def equation(self, data: Trajectories, coordinates: Coordinates) -> Equation | None:
        """Writes the drift where it needs no kernels, noise and jumps left to a table."""
        if self.whole is None:
            return None
        vector, drift = self.whole.parameters.vector, cast(SmoothDrift, self.generator.drift_network)
        error = np.zeros(len(vector.values))
        for places, covariance in self.covariances:
            error[places] = np.sqrt(np.maximum(np.diag(covariance), 0.0))  # rounding
        errors = np.zeros_like(drift.body.table)
        errors[drift.body.used] = error[vector.places.drift_network.body.weights.astype(int)]
        return smooth_equation(self.generator, errors, data, coordinates)

    @property
    def posterior(self) -> Posterior:
        """Posterior covariance of the parameters, block by block."""
        return self.covariances

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
        doubted: Whether the regression says that its noise is too simple: then it is dropped as soon as that shows.
    """

    form: ModelForm
    doubted: bool = False

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
        """Maximises the penalised likelihood, with as many sub-steps as raise it."""
        trainer = problem.trainer
        with trainer.clock("smooth regression"):
            at = self._start(problem)
        some = problem.data.sample(problem.rules.averaged_transitions)
        advance = trainer.run.progress("Newton's method, smooth law", APPROACH.iterations + FINAL.iterations)
        with trainer.clock("Newton's method"):
            at, form = self._approach(at, problem, len(some.step), advance)
            if self.doubted:
                self._confirm(at, form, problem)
            found = FINAL.run(problem.transition_rule(form), at, some, advance)
            if found.outcome is Outcome.NOT_FINITE:
                raise DivergenceError("the likelihood or its derivatives became NaN or infinite: it has no maximum")
            fewer = supported(found.parameters, found.evidence)
            if fewer.vector.active.sum() == found.parameters.vector.active.sum():
                return self._examine(found, found, form, problem, some)
            again = FINAL.run(problem.transition_rule(form), fewer, some, advance)
            better = again.outcome is not Outcome.NOT_FINITE and again.evidence.evidence > found.evidence.evidence
            return self._examine(again if better else found, found, form, problem, some)

    def _approach(
        self, at: PenalisedParameters, problem: Problem, count: int, advance: Callable[[int], None]
    ) -> tuple[PenalisedParameters, ModelForm]:
        """Comes near the maximum over few transitions, sub-steps being doubled while these gain.

        Args:
            at: The parameters by regression.
            problem: Transitions and rules.
            count: How many transitions the law will be fitted to.
            advance: Callback that receives the number of steps taken.

        Returns:
            The parameters, and the form with its sub-steps.
        """
        form, rules = self.form, problem.rules
        few = problem.data.sample(BATCH if problem.initial.jumps else 2 * BATCH)  # jumps take several times as long
        mixture = problem.initial.mixture
        points = (problem.initial.sample.free.size + 1) * (1 + (0 if mixture is None else mixture.components))
        most = min(rules.most_substeps, max(1, rules.most_points // points)) if problem.open_substeps else form.substeps
        if problem.initial.drift_change > rules.coarse_step:
            most = form.substeps  # too coarse a step for any law, as a warning says: finer ones tell nothing
        while 2 * form.substeps <= most and problem.initial.drift_change > 2 * form.substeps * rules.fast_drift_change:
            form = replace(form, substeps=2 * form.substeps)
        near = APPROACH.run(problem.transition_rule(form), at, few, advance)
        at = at if near.outcome is Outcome.NOT_FINITE else near.parameters
        while 2 * form.substeps <= most and near.outcome is not Outcome.NOT_FINITE:
            finer = replace(form, substeps=2 * form.substeps)
            # Where the two say the same of all transitions, their maxima are the same too.
            now, fine = (log_likelihood(problem.transition_rule(each), at, few) for each in (form, finer))
            if abs(fine - now) * count / len(few.step) < rules.substep_gain:
                break
            then = APPROACH.run(problem.transition_rule(finer), at, few, advance)
            gain = penalised(then.parameters, then.evidence) - penalised(near.parameters, near.evidence)
            if not gain * count / len(few.step) > problem.rules.substep_gain:
                break
            near, at, form = then, then.parameters, finer
        return at, form

    def _confirm(self, at: PenalisedParameters, form: ModelForm, problem: Problem) -> None:
        """Ends the fit where few transitions show already that the noise is too simple."""
        few = problem.data.sample(2 * BATCH)
        test = _score_tests(examined(problem.transition_rule(form), at, few)[1], few, problem)["noise"]
        if not test.passed:
            raise Unsuitable(f"lack of fit of the noise of {test.nats:.0f} nats over {len(few.step)} transitions")

    def _examine(
        self,
        found: Optimised[PenalisedSums],
        whole: Optimised[PenalisedSums],
        form: ModelForm,
        problem: Problem,
        some: Steps,
    ) -> SmoothFit:
        at, rule = found.parameters, problem.transition_rule(form)
        _, scores = examined(rule, at, some)
        losses, _ = examined(rule, at, problem.held_out)
        covariance = posterior_covariance(at, found.evidence)
        precision = at.precision
        effective = sum(len(block) - precision[block] @ np.diag(part) for block, part in covariance)
        return SmoothFit(
            form,
            _limited(at.vector.generator, problem.initial.sample.x),
            -losses,
            int(at.vector.active.sum()),
            None,
            _score_tests(scores, some, problem),
            found.evidence.evidence,
            float(effective),
            len(some.step),
            _cost_beside_drift(found),
            covariance,
            whole,
            whole.parameters.vector.values - at.vector.values,
        )


def _cost_beside_drift(found: Optimised[PenalisedSums]) -> float:
    at = found.parameters
    costs = evidence_costs(at, found.evidence)
    return sum(c for c, block in zip(costs, at.blocks, strict=True) if not np.isin(at.constants["drift"], block).any())


def _limited(generator: Generator, x: Float[np.ndarray, "t d"]) -> Generator:
    """The law that says nothing new beyond the data.

    There its drift is that at the nearest state of the data, and noise and rate of jumps are no larger or smaller than
    anywhere in it.
    """
    drift, factor = cast(SmoothDrift, generator.drift_network), cast(SmoothFactor, generator.noise_factor)
    generator = eqx.tree_at(lambda g: g.noise_factor.body, generator, factor.body.within(x))
    generator = eqx.tree_at(lambda g: g.drift_network, generator, drift.within(x))
    if generator.jump is None:
        return generator
    rates = cast(SmoothFunction, generator.jump_network.mlp)
    return eqx.tree_at(lambda g: g.jump_network.mlp, generator, rates.within(x))


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
            independent=1.0 if name == "drift" else problem.initial.independent,
        )
        for name, part in scores.items()
    }


class SmoothFamily(Family):
    """Smooth laws, where a polynomial shows lack of fit."""

    name = "smooth"

    def propose(self, search: "Search") -> Iterator[Candidate]:
        """Yields a smooth law; where it diverges in simulation, without higher powers."""
        problem, best = search.problem, search.best
        options = problem.options
        if options.networks or options.noise not in (None, "constant", "plain"):
            return
        if problem.initial.noiseless.any() or options.jump_shapes == "state-dependent":
            return
        passed = best is not None and best.passes_score_test
        if best is not None and passed and not self._worth_a_try(problem, best):
            return
        regression = problem.initial.smooth_regression(problem.rules.most_degree, False)
        for noise, degree in self._forms(problem):
            last = search.trials[-1] if search.trials else None
            if last is not None and self._settles(last):
                return
            form = ModelForm(noise, options.substeps or 1, degree, networks=False, basis=BASIS)
            doubted = options.noise is None and noise == "constant" and regression.state_dependent_noise
            yield SmoothLaw(form, doubted)
        constant = any(trial.fit is not None and trial.candidate.form.noise == "constant" for trial in search.trials)
        taken = any(trial.comparison.accepted for trial in search.trials)
        failed = all(trial.fit is None or trial.comparison.diverges for trial in search.trials) and not taken
        if failed and not constant and not passed and options.noise is None:
            # Noise too simple, but nothing better can be simulated.
            form = ModelForm("constant", options.substeps or 1, problem.rules.most_degree, networks=False, basis=BASIS)
            yield SmoothLaw(form)

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

        The evidence of all transitions is that of the training set times the density of the held-out ones given it.
        Where the law so far was fitted to other transitions, only the latter counts.
        """
        sample, rules = search.problem.initial.sample, search.problem.rules
        away = exceeds_motions(fit.generator, sample, rules)
        away = away or diverges(fit.generator, sample.states, sample.typical_step, rules, sample.logarithms)
        if search.best is None:
            return Comparison(not away, diverges=away)
        gain, best = fit.gain_over(search.best), search.best
        if isinstance(fit, SmoothFit) and isinstance(best, PolynomialFit | SmoothFit) and best.fitted == fit.fitted:
            held_out = search.problem.initial.independent * gain.value * len(fit.losses)
            ahead = fit.evidence - best.evidence + held_out
            better = ahead > rules.evidence_gain
        else:
            better = gain.value > 0
        return Comparison(not away and better, gain, away)

    def _worth_a_try(self, problem: Problem, best: LawFit) -> bool:
        """Whether a smooth law may have more evidence than a polynomial without lack of fit.

        Where higher powers or kernels in the drift, or noise that is no constant, gain evidence in a regression; and
        under constant noise also without them, as a polynomial with all terms, penalised: a law that is no polynomial
        has many small ones.
        """
        initial, rules = problem.initial, problem.rules
        if not problem.valid(problem.data.sample(rules.averaged_transitions)).all():
            return False  # the two would not be fitted to the same transitions
        smooth = initial.smooth_regression(rules.most_degree, False)
        densities = smooth.log_densities_with_jumps if initial.jumps else smooth.log_densities
        if isinstance(best, PolynomialFit):
            behind = -best.fitted_loss - densities(initial.sample).mean()
            if behind > 2 * Estimate.of(best.losses).error:
                return False  # the regression misses more of these transitions than held-out ones can tell
        # With jumps its program must be compiled: then the gain must be one that a polynomial would not be forgiven.
        least = rules.lack_of_fit_nats if initial.jumps else rules.evidence_gain
        over = smooth.gain_over[min(best.form.degree, len(smooth.gain_over)) - 1]
        if max(over, initial.noise_gain) > least:
            return True
        return not initial.jumps and best.form.noise == "constant" and best.form.degree > 1

    def explain(self, search: "Search") -> list[Decision]:
        """Says what the smooth law gained."""
        if not search.trials:
            return []
        taken, last = any(trial.comparison.accepted for trial in search.trials), search.trials[-1]
        return [
            Decision(
                "Is a smooth law better?",
                "yes" if taken else "no" + (f": {last.failure}" if last.failure else ""),
                {_title(one, search.trials[0]): _evidence(one) for one in search.trials},
                f"taken where its evidence, held-out transitions included, is {search.problem.rules.evidence_gain:g} "
                "nats ahead and it does not diverge in simulation; its penalties by evidence",
                "smooth",
            )
        ]


def _title(trial: Trial, first: Trial) -> str:
    law = trial.candidate
    again = trial is not first and isinstance(law, SmoothLaw) and law.form == first.candidate.form
    return f"{law}, powers up to {law.form.degree}" + (", nevertheless" if again else "")


def _evidence(trial: Trial) -> dict[str, object] | str:
    facts = trial.evidence()
    if isinstance(facts, dict) and isinstance(trial.fit, SmoothFit):
        facts["effective parameters"] = trial.fit.effective
        facts["log evidence"] = trial.fit.evidence
    return facts
