"""What a fit gives back: the model and how it was found."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from nke.errors import DamagedFileError, InputError
from nke.evaluation import Diagnosis
from nke.fitting.conformity import conforms
from nke.fitting.decisions import Decision, Estimate
from nke.fitting.equation import Equation
from nke.fitting.form import ModelForm
from nke.fitting.rules import SelectionRules
from nke.fitting.stochastic import Curve
from nke.fitting.summary import summarise
from nke.model import Model
from nke.model.html import as_html
from nke.model.storage import load_with_history, write

Posterior = Sequence[tuple[Int[np.ndarray, " _"], Float[np.ndarray, "_ _"]]]
KEPT = {  # in a file, beside the histories
    "decisions": tuple[Decision, ...],
    "equation": Equation | None,
    "form": ModelForm | None,
    "score": Estimate | None,
    "rules": SelectionRules,
    "diagnosis": Diagnosis | None,
}


@dataclass(frozen=True)
class FitResult:
    """A learned law and how it was found.

    Attributes:
        model: The law.
        history: Losses of every training, by its name.
        timings: Seconds of every part of the fit.
        decisions: What was decided, and why.
        equation: The law with its coefficients where it has few; None where its drift is a network.
        form: Which functions the law is made of; None for methods that do not choose them.
        score: Mean log density per held-out transition with its standard error; None where the method has none.
        rules: The thresholds by which it was decided.
        posterior: Of a smooth law, the posterior covariances of its weights: for each block of parameters their places
            in the vector of all trained numbers of ``model.generator``, and their covariance. It is not kept in files.
        diagnosis: What speaks against the law in the data that it was fitted to; None where nothing was looked for.

    Example:
        >>> result.model.dimension
        1
        >>> print(result.decision("networks").answer)
        no, as asked
    """

    model: Model
    history: dict[str, Curve]
    timings: dict[str, float]
    decisions: tuple[Decision, ...] = ()
    equation: Equation | None = None
    form: ModelForm | None = None
    score: Estimate | None = None
    rules: SelectionRules = field(default_factory=SelectionRules)
    posterior: Posterior = ()
    diagnosis: Diagnosis | None = None

    def decision(self, topic: str) -> Decision:
        """Finds a decision by its topic.

        Args:
            topic: Such as "jumps", "networks", "noise", "step".

        Returns:
            The decision.

        Raises:
            InputError: If nothing was decided on this topic.

        Example:
            >>> result.decision("step").answer
            'yes'
        """
        for decision in self.decisions:
            if decision.topic == topic:
                return decision
        known = ", ".join(decision.topic for decision in self.decisions)
        raise InputError(f"expected the topic of a decision, one of {known}; but got {topic!r}")

    @property
    def warnings(self) -> tuple[str, ...]:
        """What ``nke.fit`` warns of: decisions that were doubtful, and a law that cannot be right.

        Example:
            >>> result.warnings
            ()
        """
        found = [decision.warning for decision in self.decisions if decision.warning]
        if self.diagnosis is not None and self.diagnosis.severe:
            found.append(f"the law is {self.diagnosis}".replace("\n", "; "))
        return tuple(found)

    def summary(self, verbose: bool = False) -> str:
        """Describes the law in plain words, in the units of the data.

        Args:
            verbose: Whether to tell also how it was found: every decision with its evidence, trainings and time.

        Returns:
            Some lines of text: drift, volatility, jumps, score, and what speaks against it.

        Example:
            >>> print(result.summary().splitlines()[0])
            law           drift and diffusion, no jumps, of x; step 0.02
        """
        return summarise(self, verbose)

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        return as_html(self.summary(), self.model)

    def to_dict(self) -> dict[str, Any]:
        """Gives the result as plain values, without the model and the histories.

        Returns:
            Coefficients over the range of the data, decisions, diagnosis, equation, form, score, rules and timings,
            ready for JSON.

        Example:
            >>> sorted(result.to_dict())
            ['coefficients', 'decisions', 'diagnosis', 'equation', 'form', 'jumps', 'rules', 'score', 'timings']
        """
        return {
            "jumps": self.model.has_jumps,
            "form": self.form and self.form.to_dict(),
            "equation": self.equation and self.equation.to_dict(),
            "coefficients": self.model.coefficients().to_dict(),
            "score": self.score and self.score._asdict(),
            "decisions": [decision.to_dict() for decision in self.decisions],
            "diagnosis": self.diagnosis and self.diagnosis.to_dict(),
            "rules": self.rules.to_dict(),
            "timings": dict(self.timings),
        }

    def save(self, path: str | Path) -> None:
        """Writes the model and how it was found to one file, atomically.

        ``nke.load`` reads the model, ``FitResult.load`` all. Timings are left out: the same fit gives the same file.

        Args:
            path: Of the file.

        Example:
            >>> import tempfile
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     result.save(f"{folder}/law.nke")
            ...     nke.FitResult.load(f"{folder}/law.nke").equation == result.equation
            True
        """
        found = self.to_dict()
        del found["timings"], found["jumps"], found["coefficients"]
        found["history"] = {
            name: {
                "steps": curve.steps.tolist(),
                "train": curve.train.tolist(),
                "held_out": curve.held_out.tolist(),
                "best": curve.best,
                "kind": curve.kind,
            }
            for name, curve in self.history.items()
        }
        write(self.model, path, json.dumps(found))

    @classmethod
    def load(cls, path: str | Path) -> "FitResult":
        """Reads a file written by ``save``.

        Args:
            path: Of the file.

        Returns:
            The result; history and decisions of a model that was saved alone are empty.

        Raises:
            InputError: If the file is no model of nke, or what it tells of the fit is not valid.

        Example:
            >>> import tempfile
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     model.save(f"{folder}/law.nke")
            ...     nke.FitResult.load(f"{folder}/law.nke").history  # of a model that was saved alone
            {}
        """
        model, history = load_with_history(path)
        if history is None:
            return cls(model, {}, {})
        try:
            result = cls._from_history(model, json.loads(history))
            if not all(conforms(getattr(result, name), kind) for name, kind in KEPT.items()):
                raise TypeError("a value of another type than it must be")
            result.summary()  # what cannot be told is no history
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
            raise DamagedFileError(
                f"{path} cannot be read: how its model came about is not valid ({str(error)[:80]}); get a fresh copy, "
                "or read the model alone with nke.load"
            ) from error
        return result

    @classmethod
    def _from_history(cls, model: Model, found: Any) -> "FitResult":
        """The result of a model and what its file tells of it."""
        if "decided" in found:
            return cls(model, *_from_format_4(found))
        return cls(
            model,
            {name: _curve(curve) for name, curve in found["history"].items()},
            {},
            tuple(map(Decision.from_dict, found["decisions"])),
            found["equation"] and Equation.from_dict(found["equation"]),
            found["form"] and ModelForm(**found["form"]),
            found["score"] and Estimate(**found["score"]),
            SelectionRules.from_dict(found["rules"]),
            diagnosis=Diagnosis.from_dict(found["diagnosis"]) if found.get("diagnosis") else None,
        )


def _curve(saved: Mapping[str, Any]) -> Curve:
    steps, train, held_out = (np.asarray(saved[name]) for name in ("steps", "train", "held_out"))
    sides = (steps, train, held_out)
    if any(side.ndim != 1 or side.dtype.kind not in "if" or len(side) != len(steps) for side in sides):
        raise ValueError("a history of a training is no list of numbers")
    if type(saved["best"]) is not int or not isinstance(saved["kind"], str):
        raise TypeError("a history of a training has no best chunk or no kind")
    return Curve(steps, train, held_out, saved["best"], seconds=0.0, kind=saved["kind"])


def _from_format_4(found: Mapping[str, Any]) -> tuple[dict[str, Curve], dict[str, float], tuple[Decision, ...]]:
    """Histories and decisions as files of format 4 tell them: sentences by topic."""
    names = ("steps", "train", "held_out", "best")
    curves = {
        name: _curve(
            dict(zip(names, curve, strict=True)) | {"kind": "trial" if name.startswith("trial:") else "training"}
        )
        for name, curve in found["history"].items()
    }
    decisions = (Decision(f"{topic}:", words, topic=topic) for topic, words in found["decided"].items())
    return curves, {}, tuple(decisions)
