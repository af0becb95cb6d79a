"""The search for a law: families of candidates in the order of their cost, each fitted, compared and explained."""

from typing import Any

import numpy as np

from nke.errors import DivergenceError
from nke.fitting.candidate import Candidate, Comparison, Family, LawFit, Problem, Trial, Unsuitable
from nke.fitting.decisions import Decision
from nke.fitting.laws.networks import NetworkFamily
from nke.fitting.laws.polynomial import PolynomialFamily
from nke.fitting.laws.polynomial_drift import PolynomialDriftFamily
from nke.fitting.laws.smooth import SmoothFamily

FAMILIES: tuple[Family, ...] = (PolynomialFamily(), SmoothFamily(), NetworkFamily(), PolynomialDriftFamily())


class Search:
    """Finds a law: each family proposes candidates; each is fitted and compared with the best law so far.

    Attributes:
        problem: What the candidates are fitted to.
        best: The best law so far.
        trials: The candidates of the present family that were fitted.
        evidence: What this family compared on the way.
        decisions: What was decided, and why.
    """

    def __init__(self, problem: Problem, families: tuple[Family, ...] | None = None):
        """Prepares a search.

        Args:
            problem: What the candidates are fitted to.
            families: Kinds of laws, in the order in which they are tried; None: ``FAMILIES``.
        """
        self.problem, self._families = problem, FAMILIES if families is None else families
        self.best: LawFit | None = None
        self.trials: list[Trial] = []
        self._refused: list[LawFit] = []
        self.evidence: dict[str, Any] = {}
        self.decisions: list[Decision] = []

    def run(self) -> LawFit:
        """Tries all families.

        Returns:
            The best law.

        Raises:
            DivergenceError: If no candidate could be fitted.
        """
        for family in self._families:
            self.trials, self.evidence = [], {}
            for candidate in family.propose(self):
                self.trials.append(self._try(candidate, family))
            self.decisions += family.explain(self)
        if self.best is None and self._refused and self.problem.options.networks is False:
            self.best = min(self._refused, key=lambda fit: fit.loss)
            self.decisions.append(best_of_the_refused(self.best))
        if self.best is None:
            raise DivergenceError(self.trials[-1].failure if self.trials else "no kind of law could be fitted")
        law = self.best.safeguarded(self.problem)
        self.decisions += law.safeguards(self.problem)
        return law

    def _try(self, candidate: Candidate, family: Family) -> Trial:
        try:
            fit = candidate.fit(self.problem)
        except (DivergenceError, Unsuitable, np.linalg.LinAlgError) as error:
            return Trial(candidate, None, Comparison(False), str(error))
        comparison = family.compare(fit, self)
        if comparison.accepted:
            self.best = fit
        elif np.isfinite(fit.loss):
            self._refused.append(fit)
        return Trial(candidate, fit, comparison)


def best_of_the_refused(law: LawFit) -> Decision:
    """Says that no law without networks is sound, and that the best of them is given all the same.

    Args:
        law: The one with the best held-out score.

    Returns:
        The decision, with a warning.
    """
    return Decision(
        "Is there a sound law without networks?",
        f"no: {law.form} is the best of them",
        {"held-out loss": law.loss},
        "with networks=False the best held-out score, where every law diverges in simulation",
        "simple law",
        f"every law without networks diverges in simulation; {law.form} predicts single steps best of them, but it is "
        "not to be trusted in simulations and far from the data; networks=True, or leaving it open, tries more",
    )
