"""What a fit decided, as data: the question, the answer, the evidence and the rule; one formatter makes the words."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float


class Estimate(NamedTuple):
    """A number with its standard error.

    Attributes:
        value: The estimate.
        error: Its standard error.

    Example:
        >>> print(nke.fitting.Estimate(0.1234, 0.0021))
        0.1234 ± 0.0021
    """

    value: float
    error: float

    @classmethod
    def of(cls, values: Float[np.ndarray, " n"]) -> "Estimate":
        """Computes a mean and its standard error.

        Args:
            values: Independent values.

        Returns:
            Their mean.

        Example:
            >>> nke.fitting.Estimate.of(np.array([1.0, 3.0])).value
            2.0
        """
        return cls(float(values.mean()), float(values.std() / np.sqrt(len(values))))

    def __str__(self) -> str:
        return f"{self.value:.4g} ± {self.error:.2g}"


@dataclass(frozen=True)
class Decision:
    """One choice that a fit made.

    Attributes:
        question: What had to be decided.
        answer: What was chosen.
        evidence: What the data said, by name: numbers, ``Estimate``, text, or mappings of these for each candidate.
        rule: How the evidence leads to the answer, with its thresholds.
        topic: A short name of the question, by which ``FitResult.decision`` finds it.
        warning: What ``nke.fit`` warns of; empty where there is nothing.

    Example:
        >>> decision = result.decision("jumps")
        >>> decision.question, decision.answer
        ('Are there jumps?', 'none, as asked')
    """

    question: str
    answer: str
    evidence: Mapping[str, Any] = field(default_factory=dict)
    rule: str = ""
    topic: str = ""
    warning: str = ""

    def __str__(self) -> str:
        because = "; ".join(filter(None, [*in_words(self.evidence), self.rule]))
        return f"{self.question} {self.answer}" + (f" ({because})" if because else "")

    def to_dict(self) -> dict[str, Any]:
        """Gives the decision as plain values.

        Returns:
            The fields, ready for JSON; an estimate is a mapping of value and error.

        Example:
            >>> sorted(result.decisions[0].to_dict())
            ['answer', 'evidence', 'question', 'rule', 'topic', 'warning']
        """
        return {
            "topic": self.topic,
            "question": self.question,
            "answer": self.answer,
            "evidence": _plain(self.evidence),
            "rule": self.rule,
            "warning": self.warning,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Decision":
        """Reads what ``to_dict`` gave.

        Args:
            values: The fields.

        Returns:
            The decision.

        Example:
            >>> first = result.decisions[0]
            >>> nke.fitting.Decision.from_dict(first.to_dict()) == first
            True
        """
        later = (values.get(name, "") for name in ("topic", "warning"))  # files of format 5 may lack them
        return cls(values["question"], values["answer"], _parsed(values["evidence"]), values["rule"], *later)


def division(training: int, held_out: int, share: float, kind: str = "transitions") -> Decision:
    """Says how the data was divided.

    Args:
        training: What is trained on.
        held_out: What is held out.
        share: Of the trajectories that is held out.
        kind: What is counted.

    Returns:
        The decision.

    Example:
        >>> nke.fitting.division(90, 10, 0.1).answer
        '90 transitions to train, 10 held out'
    """
    return Decision(
        "How was the data divided?",
        f"{training} {kind} to train, {held_out} held out",
        {"training": training, "held out": held_out},
        f"{share:.0%} of the trajectories, or the ends of stretches of few, are held out",
        "data",
    )


def in_words(evidence: Mapping[str, Any]) -> list[str]:
    """Writes evidence in plain words.

    Args:
        evidence: Of a decision.

    Returns:
        A line for each candidate, or one for all numbers.

    Example:
        >>> nke.fitting.decisions.in_words({"local excess kurtosis": 0.0123})
        ['local excess kurtosis 0.0123']
    """
    if any(isinstance(part, Mapping) for part in evidence.values()):
        return [f"{name}{':' * isinstance(part, Mapping)} {_words(part)}" for name, part in evidence.items()]
    return [_words(evidence)] if evidence else []


def _words(part: Any) -> str:
    if isinstance(part, Mapping):
        return ", ".join(f"{name} {_words(value)}" for name, value in part.items())
    if isinstance(part, bool) or part is None:
        return {True: "yes", False: "no", None: "unknown"}[part]
    return f"{part:.4g}" if isinstance(part, float) and not isinstance(part, Estimate) else str(part)


def _plain(evidence: Any) -> Any:
    if isinstance(evidence, Mapping):
        return {name: _plain(part) for name, part in evidence.items()}
    return {"value": evidence.value, "error": evidence.error} if isinstance(evidence, Estimate) else evidence


def _parsed(evidence: Any) -> Any:
    if not isinstance(evidence, Mapping):
        return evidence
    if evidence.keys() == {"value", "error"}:
        return Estimate(evidence["value"], evidence["error"])
    return {name: _parsed(part) for name, part in evidence.items()}
