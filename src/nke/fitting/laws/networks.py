"""Laws with networks: drift, noise and jumps any functions of the state, trained by stochastic gradients."""

from collections.abc import Generator as Proposals
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from nke.data import Coordinates, Transitions
from nke.errors import DivergenceError
from nke.fitting.batches import Blocks, float32
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
from nke.fitting.known_start import starting_from
from nke.fitting.law_uncertainty import penalised_uncertainty
from nke.fitting.laws.polynomial import PolynomialFit
from nke.fitting.laws.smooth import SmoothFit
from nke.fitting.newton import BATCH
from nke.fitting.optimiser import Optimised, Outcome
from nke.fitting.penalised_newton import PenalisedNewton, PenalisedSums
from nke.fitting.polished_networks import hidden_weights_in_use, linear_parameters
from nke.fitting.smooth_parameters import smooth_generator
from nke.fitting.stability import diverges
from nke.fitting.stochastic import CHUNK, losses
from nke.model import Uncertainty
from nke.operators import Generator

if TYPE_CHECKING:
    from nke.fitting.search import Search

APPROACH = PenalisedNewton(iterations=6, tolerance=2.0)  # over few transitions
FINAL = PenalisedNewton(iterations=5, tolerance=1.0, halvings=3)


@dataclass(frozen=True)
class NetworkFit(LawFit):
    """A law with networks, trained.

    Attributes:
        trial: Whether the training was a short run, which only compares forms.
        evidence: Log evidence of the law over the transitions it was polished on; −∞ where it is not known.
        polished: Parameters of last layers and skips, and the sums there; None where they were not polished.
    """

    trial: bool = False
    evidence: float = -np.inf
    polished: Optimised[PenalisedSums] | None = None

    def uncertainty(self, problem: Problem, data: Transitions, coordinates: Coordinates) -> Uncertainty | None:
        """Takes the posterior covariance of last layers and skips; the hidden layers are taken for right."""
        if self.polished is None:
            return None
        return penalised_uncertainty(self.polished, problem.transition_rule(self.form), data, coordinates)


@dataclass(frozen=True)
class NetworkLaw(Candidate):
    """A law with networks, of one form.

    Rounds of training and polishing, each twice as long as the one before, go on as long as they predict held-out
    transitions better. Where none does, the law stays at its start.

    Attributes:
        form: Of its noise, polynomial skip and sub-steps.
        trial: Whether to train in a short run only.
        known: A polynomial law of the same degree to start from.
        smooth: A smooth law to learn from before the data; None: a regression, where its kernels gain over powers.
    """

    form: ModelForm
    trial: bool = False
    known: PolynomialFit | None = None
    smooth: Generator | None = None

    def initial(self, problem: Problem) -> Generator:
        """Starts at the law that is known, or at the data's averages and least squares."""
        begin = problem.initial.generator(self.form, problem.trainer.key)
        return begin if self.known is None else starting_from(begin, self.known.generator)

    def fit(self, problem: Problem) -> NetworkFit:
        """Trains the networks."""
        begin, trainer = self.initial(problem), problem.trainer
        loss = TransitionLoss(problem.transition_rule(self.form))
        if self.trial:
            steps = problem.rules.trial_steps
            return self._fitted(trainer.train(f"trial, {self}", loss, begin, problem.data, steps), problem)
        if not problem.options.polish:
            return self._fitted(trainer.train("likelihood", loss, begin, problem.data), problem)
        best, start = self._fitted(begin, problem), self._taught(begin, problem)
        best = replace(best, evidence=-np.inf if self.known is None else self.known.evidence)
        if start is not begin and self._better(taught := self._polished(start, problem), best, problem):
            best, start = taught, taught.generator
        for name, steps in self._rounds(problem):
            trained = trainer.train(name, loss, start, problem.data, steps=steps)
            if trainer.history[name].best < 0 and self.known is not None:  # the start was kept
                break
            found = self._polished(trained, problem)
            if not self._better(found, best, problem):
                break
            best, start = found, found.generator
        return best

    def _better(self, found: NetworkFit, best: NetworkFit, problem: Problem) -> bool:
        """Whether a round is worth it: by held-out transitions, or by evidence where these agree.

        Averages of the data are no law, so that any training of theirs is.
        """
        rules, gain = problem.rules, found.gain_over(best)
        if self.known is None:
            return gain.value > 0
        likelier = gain.value > 0 and found.evidence > best.evidence + rules.evidence_gain
        enough = likelier or gain.value > rules.round_gain_errors * gain.error
        return enough and not diverges_in_simulation(found, problem)

    def _rounds(self, problem: Problem) -> Iterator[tuple[str, int | None]]:
        """Names and lengths of the trainings; one of the length that was asked for."""
        options, steps = problem.options, problem.trainer.schedule.steps
        if options.schedule is not None:
            yield "likelihood", None
            return
        for i in range(problem.rules.most_rounds):
            yield f"likelihood, round {i + 1}" if i else "likelihood", max(CHUNK, steps * 2**i // 4)

    def _taught(self, begin: Generator, problem: Problem) -> Generator:
        """The law after it has learned drift and noise of a smooth law, where there is one or kernels gain."""
        teacher = self.smooth or self._regression(problem)
        if teacher is None:
            return begin
        return problem.trainer.train("a smooth law", SmoothLoss(), begin, smooth_values(teacher, problem))

    def _regression(self, problem: Problem) -> Generator | None:
        """Drift and noise by regression, where kernels gain over powers."""
        rules, initial = problem.rules, problem.initial
        if initial.noiseless.any():
            return None
        found = initial.smooth_regression(rules.most_degree, self.form.noise == "constant")
        return smooth_generator(found, None, initial.constraint) if found.kernel_gain > rules.evidence_gain else None

    def _polished(self, generator: Generator, problem: Problem) -> NetworkFit:
        """The law with last layers and skips at the maximum of the penalised likelihood; as it was where that fails."""
        trainer, rule, evidence = problem.trainer, problem.transition_rule(self.form), -np.inf
        advance = trainer.run.progress("Newton's method, last layers", APPROACH.iterations + FINAL.iterations)
        with trainer.clock("Newton's method"):
            at = linear_parameters(generator)
            for newton, most in ((APPROACH, 2 * BATCH), (FINAL, problem.rules.averaged_transitions)):
                try:
                    found = newton.run(rule, at, problem.only_valid(problem.data.sample(most)), advance)
                except DivergenceError:
                    return self._fitted(generator, problem)
                if found.outcome is Outcome.NOT_FINITE:
                    return self._fitted(generator, problem)
                at, evidence = found.parameters, found.evidence.evidence
        return replace(self._fitted(at.vector.generator, problem), evidence=evidence, polished=found)

    def _fitted(self, generator: Generator, problem: Problem) -> NetworkFit:
        loss = TransitionLoss(problem.transition_rule(self.form))
        held_out = np.asarray(losses(loss, generator, problem.data.held_out), np.float64)
        return NetworkFit(self.form, generator, held_out, parameter_count(generator), trial=self.trial)


class SmoothLoss(eqx.Module):
    """Squared differences between a law and known drift and diffusion, in units of their sizes."""

    def __call__(self, law: Generator, data: tuple[Array, ...], i: Int[Array, ""]) -> Float[Array, ""]:
        """Computes the loss at state i."""
        x, drift, tensor, speed, size = data
        factor = law.noise_factor(x[i])
        moved = (law.drift_network(x[i]) - drift[i]) / speed
        return jnp.mean(moved**2) + jnp.mean(((factor @ factor.T - tensor[i]) / size) ** 2)


def smooth_values(teacher: Generator, problem: Problem) -> tuple[Blocks, Blocks]:
    """Computes drift and diffusion of a law at the states of the data.

    Args:
        teacher: The law.
        problem: The data.

    Returns:
        Blocks to train on and held out, for ``SmoothLoss``.
    """
    x = float32(problem.initial.sample.x)

    def tensor(x: Float[Array, " n"]) -> Float[Array, "r r"]:
        factor = teacher.noise_factor(x)
        return factor @ factor.T

    drift, diffusion = jax.vmap(teacher.drift_network)(x), jax.vmap(tensor)(x)
    speed, size = jnp.sqrt(jnp.mean(drift**2, axis=0)), jnp.sqrt(jnp.mean(diffusion**2))
    data = Blocks((x, drift, diffusion, jnp.maximum(speed, 1e-12), size), len(x), 1)
    return data, data


def diverges_in_simulation(fit: LawFit, problem: Problem) -> bool:
    """Tells whether paths of a fitted law go far beyond the data."""
    sample = problem.initial.sample
    return diverges(fit.generator, sample.states, sample.typical_step, problem.rules, sample.logarithms)


class NetworkFamily(Family):
    """Laws with networks, where a simpler one shows lack of fit: the form by short runs, then training in rounds."""

    name = "networks"

    def propose(self, search: "Search") -> Proposals[NetworkLaw, None, None]:
        """Yields short runs that compare forms of the law, then the form that won."""
        options, simpler = search.problem.options, search.best
        if options.networks is False or (not options.networks and simpler is not None and simpler.passes_score_test):
            return
        form = yield from self._choose(search)
        if form is None:
            return
        yield NetworkLaw(form, known=_known(search, form), smooth=_smooth(search))
        if search.trials[-1].comparison.diverges:
            yield NetworkLaw(replace(form, degree=1))

    def compare(self, fit: LawFit, search: "Search") -> Comparison:
        """Takes networks that predict better than the simpler law by a standard error, or that were asked for.

        They must not diverge in simulation, where the simpler law does not.
        """
        assert isinstance(fit, NetworkFit)
        if fit.trial:
            return Comparison(False)
        if search.best is None:
            return Comparison(True)
        gain, away = fit.gain_over(search.best), diverges_in_simulation(fit, search.problem)
        wanted = bool(search.problem.options.networks) or gain.value > gain.error
        return Comparison(wanted and not away, gain, away)

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
        evidence: dict[str, object] = {}
        if last.comparison.gain is not None:
            evidence["held-out gain in nats per transition"] = last.comparison.gain
        if last.fit is not None:
            used = hidden_weights_in_use(last.fit.generator)
            evidence |= {f"weights of hidden units in {name}": count for name, count in used.items()}
        rule = "as asked" if options.networks else "taken where they predict better by one standard error"
        return [*decisions, Decision("Are networks needed?", answer, evidence, rule, "networks")]

    def _choose(self, search: "Search") -> Proposals[NetworkLaw, None, ModelForm | None]:
        """The form of the law by short runs, one question after the other; None where one of them failed."""
        problem, options = search.problem, search.problem.options
        noises = problem.initial.plausible_noise() if options.noise is None else [options.noise]
        simpler, start = search.best, ModelForm(noises[0], options.substeps or 1)
        if isinstance(simpler, SmoothFit) and options.polish:
            start = replace(start, substeps=simpler.form.substeps)
        if isinstance(simpler, PolynomialFit) and options.polish:
            start = replace(simpler.form, noise=noises[0], networks=True)
            if simpler.passes_score_test and options.noise in (None, simpler.form.noise):
                return replace(start, noise=simpler.form.noise)
        if simpler is not None and options.noise is None and simpler.passes("drift") and not simpler.passes("noise"):
            # All transitions say more surely than the held-out ones that the noise is not constant.
            noises = [noise for noise in noises if noise != "constant"]
        form: ModelForm | None = replace(start, noise=noises[0])
        scores: dict[ModelForm, np.ndarray] = {}
        for noise in noises[1:]:
            form = yield from self._consider(search, scores, form, noise=noise)
        if form is not None and form.noise == "relative":
            if problem.open_substeps and form.substeps == 1:
                form = yield from self._consider(search, scores, form, substeps=2)
            if form is not None and form.degree == 1:
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
                yield NetworkLaw(one, trial=True, known=_known(search, one))
                if (fit := search.trials[-1].fit) is None:
                    return None
                scores[one] = fit.losses
        gain = Estimate.of(scores[form] - scores[rival])
        search.evidence[f"{rival} over {form}"] = {"held-out gain in nats per transition": gain}
        richer = form.noise == "constant" or rival.noise == form.noise
        return rival if gain.value > gain.error + search.problem.rules.trial_gain * richer else form


def _known(search: "Search", form: ModelForm) -> PolynomialFit | None:
    """The polynomial law that networks of a form can start from."""
    simpler = search.best
    if not isinstance(simpler, PolynomialFit) or not search.problem.options.polish:
        return None
    return simpler if simpler.form.degree == form.degree else None


def _smooth(search: "Search") -> Generator | None:
    """The smooth law that networks can learn from."""
    return search.best.generator if isinstance(search.best, SmoothFit) and search.problem.options.polish else None
