"""A polynomial drift beside noise and jumps that are no polynomials: where those need more, the drift may be short."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import equinox as eqx

from nke.fitting.candidate import Candidate, Comparison, Family, LawFit, Problem
from nke.fitting.decisions import Decision
from nke.fitting.form import ModelForm
from nke.fitting.laws.networks import NetworkFit
from nke.fitting.laws.polynomial import PolynomialFit, fitted_polynomial
from nke.fitting.laws.smooth import SmoothFit
from nke.fitting.polynomial_parameters import PolynomialParameters
from nke.fitting.stability import diverges
from nke.operators import Generator

if TYPE_CHECKING:
    from nke.fitting.search import Search


@dataclass(frozen=True)
class PolynomialDriftLaw(Candidate):
    """A polynomial in the place of a drift network, noise and jumps as they were learned.

    Attributes:
        form: Of the law.
        learned: The law with networks.
        source: The fit that it comes from, which knows how far noise and jumps may be off.
    """

    form: ModelForm
    learned: Generator
    source: LawFit | None = None

    def initial(self, problem: Problem) -> Generator:
        """Starts at least squares."""
        drift = problem.initial.drift(replace(self.form, networks=False), problem.trainer.key())
        return eqx.tree_at(lambda g: g.drift_network, self.learned, drift)

    def fit(self, problem: Problem) -> PolynomialFit:
        """Maximises the likelihood over the coefficients of the drift."""
        law = PolynomialParameters.of(
            self.initial(problem), problem.initial.sample.zero, problem.rules.origin_distance, only_drift=True
        )
        return replace(fitted_polynomial(self.form, law, problem), beside=self.source)


class PolynomialDriftFamily(Family):
    """Polynomials in the place of a drift that was learned as a network, or as a smooth function without kernels.

    Not where the user asked for networks.

    Not where there is no noise: every small error of the drift is then lack of fit.
    """

    name = "polynomial drift"

    def propose(self, search: "Search") -> Iterator[PolynomialDriftLaw]:
        """Yields polynomials of the degrees that least squares support, until one is taken."""
        problem, learned = search.problem, search.best
        if problem.options.networks or learned is None or problem.initial.noiseless.any():
            return
        if not isinstance(learned, NetworkFit) and not (isinstance(learned, SmoothFit) and not learned.drift_kernels):
            return
        for degree in problem.initial.regression(learned.form.noise).degrees():
            form = replace(learned.form, degree=degree, drift_network=False, basis="powers")
            yield PolynomialDriftLaw(form, learned.generator, learned)
            if search.trials[-1].comparison.accepted:
                return

    def compare(self, fit: LawFit, search: "Search") -> Comparison:
        """Takes a polynomial without lack of fit that predicts no worse and does not diverge in simulation."""
        assert search.best is not None
        rules, sample = search.problem.rules, search.problem.initial.sample
        gain = fit.gain_over(search.best)
        good = fit.passes_score_test and gain.value > -rules.drift_network_errors * gain.error
        if isinstance(search.best, SmoothFit) and isinstance(fit, PolynomialFit) and search.best.fitted == fit.fitted:
            # A law that is no polynomial may be better described by many small terms than by few.
            held_out = search.problem.initial.independent * gain.value * len(fit.losses)
            ahead = search.best.evidence - (fit.evidence - search.best.cost_beside_drift) - held_out
            good = good and bool(ahead < rules.evidence_gain)  # as for taking it in the place of a polynomial
        away = diverges(fit.generator, sample.states, sample.typical_step, rules, sample.logarithms) if good else None
        return Comparison(good and not away, gain, away)

    def explain(self, search: "Search") -> list[Decision]:
        """Says which polynomials were tried in the place of the drift network."""
        if not search.trials:
            return []
        accepted = search.trials[-1].comparison.accepted
        answer = f"no: a polynomial of degree {search.trials[-1].candidate.form.degree} does" if accepted else "yes"
        return [
            Decision(
                "Does the drift need a network?",
                answer,
                {f"degree {trial.candidate.form.degree}": trial.evidence() for trial in search.trials},
                "not where a polynomial shows no lack of fit and predicts held-out transitions no worse by "
                f"{search.problem.rules.drift_network_errors:g} standard errors",
                "drift network",
            )
        ]
