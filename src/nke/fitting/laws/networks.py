"""Laws with networks: drift, noise and jumps any functions of the state, trained by stochastic gradients."""

from collections.abc import Generator as Proposals
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from nke.fitting.candidate import (
    Candidate,
    Comparison,
    Family,
    LawFit,
    Problem,
    TransitionLoss,
    parameter_count,
)
from nke.fitting.decisions import Decision, Estimate
from nke.fitting.form import ModelForm
from nke.fitting.stochastic import losses
from nke.operators import Generator

if TYPE_CHECKING:
    from nke.fitting.search import Search


@dataclass(frozen=True)
class NetworkFit(LawFit):
    """A law with networks, trained.

    Attributes:
        trial: Whether the training was a short run, which only compares forms.
    """

    trial: bool = False


@dataclass(frozen=True)
class NetworkLaw(Candidate):
    """A law with networks, of one form.

    Attributes:
        form: Of its noise, polynomial skip and sub-steps.
        trial: Whether to train in a short run only.
    """

    form: ModelForm
    trial: bool = False

    def initial(self, problem: Problem) -> Generator:
        """Starts at the data's averages and least squares."""
        return problem.initial.generator(self.form, problem.trainer.key)

    def fit(self, problem: Problem) -> NetworkFit:
        """Trains the networks."""
        loss, begin = TransitionLoss(problem.transition_rule(self.form)), self.initial(problem)
        name, steps = (f"trial, {self}", problem.rules.trial_steps) if self.trial else ("likelihood", None)
        generator = problem.trainer.train(name, loss, begin, problem.data, steps)
        held_out = np.asarray(losses(loss, generator, problem.data.held_out), np.float64)
        return NetworkFit(self.form, generator, held_out, parameter_count(generator), trial=self.trial)


class NetworkFamily(Family):
    """Laws with networks, where a simpler one shows lack of fit: the form by short runs, then one training in full."""

    name = "networks"

    def propose(self, search: "Search") -> Proposals[NetworkLaw, None, None]:
        """Yields short runs that compare forms of the law, then the form that won."""
        options, simpler = search.problem.options, search.best
        if options.networks is False or (simpler is not None and simpler.passes_score_test):
            return
        form = yield from self._choose(search)
        if form is not None:
            yield NetworkLaw(form)

    def compare(self, fit: LawFit, search: "Search") -> Comparison:
        """Takes networks that predict held-out transitions better than the simpler law by a standard error."""
        assert isinstance(fit, NetworkFit)
        if fit.trial:
            return Comparison(False)
        if search.best is None:
            return Comparison(True)
        gain = fit.gain_over(search.best)
        return Comparison(gain.value > gain.error, gain)

    def explain(self, search: "Search") -> list[Decision]:
        """Says which form the short runs found, and whether networks are needed."""
        options, rules, decisions = search.problem.options, search.problem.rules, []
        if not search.trials:
            asked = options.networks is False
            return [
                Decision(
                    "Are networks needed?",
                    "no, as asked" if asked else "no",
                    {},
                    "" if asked else "a law without them shows no lack of fit",
                    "networks",
                )
            ]
        last = search.trials[-1]
        if search.evidence or options.noise is not None:
            decisions.append(
                Decision(
                    "Which form of the noise?",
                    last.candidate.form.noise + (", as asked" if options.noise is not None else ""),
                    search.evidence,
                    f"short runs of {rules.trial_steps} steps: a held-out gain of more than one standard error, and "
                    f"{rules.trial_gain:g} nats more for a richer form",
                    "noise",
                )
            )
        answer = "yes" if last.comparison.accepted else "no"
        if last.fit is None:
            answer = "no: their training became NaN or infinite"
        evidence = (
            {} if last.comparison.gain is None else {"held-out gain in nats per transition": last.comparison.gain}
        )
        rule = "as asked" if options.networks else "taken where they predict better by one standard error"
        return [*decisions, Decision("Are networks needed?", answer, evidence, rule, "networks")]

    def _choose(self, search: "Search") -> Proposals[NetworkLaw, None, ModelForm | None]:
        """The form of the law by short runs, one question after the other; None where one of them failed."""
        problem, options = search.problem, search.problem.options
        noises = problem.initial.plausible_noise() if options.noise is None else [options.noise]
        simpler = search.best
        if simpler is not None and options.noise is None and simpler.passes("drift") and not simpler.passes("noise"):
            # All transitions say more surely than the held-out ones that the noise is not constant.
            noises = [noise for noise in noises if noise != "constant"]
        form: ModelForm | None = ModelForm(noises[0], options.substeps or 1)
        scores: dict[ModelForm, np.ndarray] = {}
        for noise in noises[1:]:
            form = yield from self._consider(search, scores, form, noise=noise)
        if form is not None and form.noise == "relative":
            if problem.open_substeps:
                form = yield from self._consider(search, scores, form, substeps=2)
            form = yield from self._consider(search, scores, form, degree=2)
            if form is not None and problem.open_substeps and form.substeps == 2:
                form = yield from self._consider(search, scores, form, substeps=4)
        return form

    def _consider(
        self, search: "Search", scores: dict[ModelForm, np.ndarray], form: ModelForm | None, **change: Any
    ) -> Proposals[NetworkLaw, None, ModelForm | None]:
        """The form, or its rival if that wins a short run; None where one of them failed."""
        if form is None:
            return None
        rival = replace(form, **change)
        for one in (form, rival):
            if one not in scores:
                yield NetworkLaw(one, trial=True)
                if (fit := search.trials[-1].fit) is None:
                    return None
                scores[one] = fit.losses
        gain = Estimate.of(scores[form] - scores[rival])
        search.evidence[f"{rival} over {form}"] = {"held-out gain in nats per transition": gain}
        richer = form.noise == "constant" or rival.noise == form.noise
        return rival if gain.value > gain.error + search.problem.rules.trial_gain * richer else form
