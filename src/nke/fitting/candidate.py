"""Candidate laws: what a search proposes, fits, compares and explains."""

import abc
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from nke.data import Coordinates, Trajectories, Transitions
from nke.fitting.batches import Steps, TrainingData
from nke.fitting.decisions import Decision, Estimate
from nke.fitting.equation import Equation
from nke.fitting.form import ModelForm
from nke.fitting.initial_networks import InitialModel, NetworkOptions
from nke.fitting.result import Posterior
from nke.fitting.rules import SelectionRules
from nke.fitting.score_test import ScoreTest
from nke.fitting.stochastic import Schedule
from nke.fitting.training import Trainer
from nke.model import Uncertainty
from nke.operators import ForwardPacket, Generator, TransitionRule, trainable

if TYPE_CHECKING:
    from nke.fitting.search import Search


class TransitionLoss(eqx.Module):
    """−log p(y | x, s) of one transition: the very density of ``Model.log_prob``."""

    rule: TransitionRule

    def __call__(self, generator: Generator, data: Steps, i: Int[Array, ""]) -> Float[Array, ""]:
        """Computes the loss of transition i."""
        return -self.rule.log_prob(generator, data.x[i], data.displacement[i], data.step[i])


@runtime_checkable
class SearchOptions(NetworkOptions, Protocol):
    """What a method says about the law to be found."""

    @property
    def noise(self) -> str | None:
        """Form of the noise; None: decided from the data."""

    @property
    def substeps(self) -> int | None:
        """Sub-steps of the discrete model; None: decided from the data."""

    @property
    def networks(self) -> bool | None:
        """Whether to take networks; None: where they are needed."""

    @property
    def polish(self) -> bool:
        """Whether networks start at a polynomial law and end with Newton's method."""
        ...

    @property
    def schedule(self) -> Schedule | None:
        """Length and speed of the training; None: until it gains no more."""

    @property
    def rule(self) -> TransitionRule:
        """The discrete model of one step."""
        ...


@dataclass(frozen=True)
class Problem:
    """What every candidate is fitted to and compared on.

    Attributes:
        data: Transitions to train on and held out.
        initial: Starting values.
        options: What the user said about the law.
        trainer: Runs the trainings.
        rules: Thresholds.
    """

    data: TrainingData
    initial: InitialModel
    options: SearchOptions
    trainer: Trainer
    rules: SelectionRules

    def transition_rule(self, form: ModelForm) -> TransitionRule:
        """Gives the discrete model of one step for a form of the law."""
        rule, initial = self.options.rule, self.initial
        if not isinstance(rule, ForwardPacket):
            return rule
        resolution = tuple(map(float, initial.resolution)) if initial.noiseless.any() else None
        return replace(rule, substeps=form.substeps, resolution=resolution)

    @property
    def open_substeps(self) -> bool:
        """Whether the number of sub-steps is to be decided."""
        return self.options.substeps is None and isinstance(self.options.rule, ForwardPacket)

    @cached_property
    def held_out(self) -> Steps:
        """The held-out transitions."""
        return self.data.held_out_steps()

    def visible(self, steps: Steps) -> Float[np.ndarray, "t d"]:
        """Gives the states as the law sees them."""
        return self.initial.sample.visible(np.asarray(steps.x))

    def valid(self, steps: Steps) -> Bool[np.ndarray, " t"]:
        """Tells the transitions within the validity of a discrete model."""
        return self.initial.likelier_regression.within_model_validity(np.asarray(steps.x), np.asarray(steps.step))

    def only_valid(self, steps: Steps) -> Steps:
        """Takes the transitions within the validity of a discrete model."""
        return steps.take(self.valid(steps))


@dataclass(frozen=True)
class LawFit:
    """A fitted candidate.

    Attributes:
        form: Of the law.
        generator: The law.
        losses: −log density of every held-out transition.
        parameters: How many the law has.
        valid: The held-out transitions within the validity of the discrete model; None: all.
        score_tests: Lack of fit of drift, noise and jumps; empty where it was not tested.
    """

    form: ModelForm
    generator: Generator
    losses: Float[np.ndarray, " t"]
    parameters: int
    valid: Bool[np.ndarray, " t"] | None = None
    score_tests: dict[str, ScoreTest] = field(default_factory=dict)

    @property
    def posterior(self) -> Posterior:
        """Posterior covariance of the parameters, block by block; empty where it is not known."""
        return ()

    def uncertainty(self, problem: Problem, data: Transitions, coordinates: Coordinates) -> Uncertainty | None:
        """Tells how far the parameters of the law may be off.

        Args:
            problem: What the law was fitted to.
            data: All transitions in the user's units.
            coordinates: Those of training.

        Returns:
            The uncertainty; None where it is not known.
        """
        return None

    @property
    def loss(self) -> float:
        """Mean over the valid transitions."""
        return float((self.losses if self.valid is None else self.losses[self.valid]).mean())

    @property
    def passes_score_test(self) -> bool:
        """Whether the law was tested and shows no lack of fit."""
        return bool(self.score_tests) and all(test.passed for test in self.score_tests.values())

    def passes(self, coefficient: str) -> bool:
        """Tells whether a coefficient was tested and shows no lack of fit.

        Args:
            coefficient: Drift, noise or jumps.
        """
        return coefficient in self.score_tests and self.score_tests[coefficient].passed

    def gain_over(self, other: "LawFit") -> Estimate:
        """Compares held-out transitions one by one.

        Args:
            other: Another law.

        Returns:
            Nats per transition by which this law predicts better, with a standard error.
        """
        gain = other.losses - self.losses
        valid = other.valid if self.valid is None else self.valid
        return Estimate.of(gain if valid is None else gain[valid])

    def safeguarded(self, problem: "Problem") -> "LawFit":
        """Gives the law with what keeps rare paths that leave the data from running away; the same within the data.

        Args:
            problem: What it was fitted to.
        """
        return self

    def safeguards(self, problem: "Problem") -> list[Decision]:
        """Says what of a safeguarded law the user should know.

        Args:
            problem: What it was fitted to.
        """
        return []

    def equation(self, data: Trajectories, coordinates: Coordinates) -> Equation | None:
        """Writes the law in the user's units; None where it is no short equation.

        Args:
            data: Whose names and units are used.
            coordinates: Those of training.
        """
        return None


def parameter_count(generator: Generator) -> int:
    """Counts the trained numbers of a law."""
    return sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(generator, trainable(generator))))


class Unsuitable(Exception):  # noqa: N818 - no error: a search goes on with other candidates
    """A candidate that a cheap test ruled out before it was fitted in full; the text says why."""


class Candidate(abc.ABC):
    """One law that may be fitted: it knows how it starts, how it is fitted, how many parameters it has, its name."""

    form: ModelForm

    @abc.abstractmethod
    def initial(self, problem: Problem) -> Generator:
        """Builds the law at its starting values."""

    @abc.abstractmethod
    def fit(self, problem: Problem) -> LawFit:
        """Fits the law.

        Raises:
            DivergenceError: If its likelihood has no maximum, or training became NaN or infinite.
            Unsuitable: If a cheap test rules it out.
        """

    def __str__(self) -> str:
        return str(self.form)


@dataclass(frozen=True)
class Comparison:
    """Whether a fitted candidate replaces the best law so far.

    Attributes:
        accepted: Whether it does.
        gain: Held-out nats per transition over that law, where they were compared.
        diverges: Whether the candidate diverges in simulation; None: not looked at.
    """

    accepted: bool
    gain: Estimate | None = None
    diverges: bool | None = None


@dataclass(frozen=True)
class Trial:
    """A candidate that was fitted.

    Attributes:
        candidate: It.
        fit: The fitted law; None where that failed.
        comparison: With the best law so far.
        failure: Why the fit failed.
    """

    candidate: Candidate
    fit: LawFit | None
    comparison: Comparison
    failure: str = ""

    def evidence(self) -> dict[str, object] | str:
        """Gives what is to be said about the candidate."""
        if self.fit is None:
            return self.failure
        facts: dict[str, object] = {"parameters": self.fit.parameters}
        facts |= {f"lack of fit of {name} in nats": test.estimate for name, test in self.fit.score_tests.items()}
        if self.comparison.gain is not None:
            facts["held-out gain in nats per transition"] = self.comparison.gain
        if self.comparison.diverges:
            facts["diverges in simulation"] = True
        return facts


class Family(abc.ABC):
    """One kind of law: which candidates of it to try, and when one of them replaces the best law so far.

    A new kind of law is one file with a ``Candidate`` and a ``Family``, and a place in ``search.FAMILIES``.
    """

    name: ClassVar[str]

    @abc.abstractmethod
    def propose(self, search: "Search") -> Iterator[Candidate]:
        """Yields candidates one by one; ``search`` knows how the last one did."""

    @abc.abstractmethod
    def compare(self, fit: LawFit, search: "Search") -> Comparison:
        """Compares a fitted candidate with the best law so far."""

    @abc.abstractmethod
    def explain(self, search: "Search") -> list[Decision]:
        """Says what was decided, from ``search.trials``."""
