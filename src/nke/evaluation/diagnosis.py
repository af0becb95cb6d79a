"""Can a model be trusted? ``nke.diagnose`` holds it against recorded trajectories, check by check."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from nke.data import Trajectories, Transitions
from nke.errors import InputError
from nke.evaluation.checks import (
    block,
    check_calibration,
    check_long_run,
    check_memory,
    check_same_law,
    check_simpler_laws,
    some_paths,
)
from nke.evaluation.finding import Finding
from nke.evaluation.normal_scores import NormalScores, moving
from nke.files import recorded
from nke.model import Model, as_model

MOST_TRANSITIONS = 20_000
MOST_COMPARED = 5_000  # with simpler laws, whose fits take time
ORDER = ("memory", "calibration", "same law", "long run", "simpler laws")


@dataclass(frozen=True)
class Diagnosis:
    """What speaks against a model.

    Attributes:
        findings: All that was compared, also what is right.

    Example:
        >>> diagnosis = nke.diagnose(model, data)
        >>> diagnosis.passed, diagnosis.verdict
        (True, 'nothing speaks against it')
    """

    findings: tuple[Finding, ...]

    @property
    def problems(self) -> tuple[Finding, ...]:
        """What matters, the severe first, then in the order in which causes come before effects."""
        found = [finding for finding in self.findings if finding.matters]
        return tuple(sorted(found, key=lambda each: (not each.severe, ORDER.index(each.check))))

    @property
    def passed(self) -> bool:
        """Whether nothing speaks against the model."""
        return not self.problems

    @property
    def severe(self) -> bool:
        """Whether the law cannot be right."""
        return any(finding.severe for finding in self.problems)

    @property
    def verdict(self) -> str:
        """The outcome in a few words."""
        if self.passed:
            return "nothing speaks against it"
        topics = ", ".join(dict.fromkeys(finding.topic for finding in self.problems))
        return f"{'not to be trusted' if self.severe else 'with care'}: {topics}"

    def lines(self, most: int = 5) -> list[str]:
        """Says what speaks against the model, one line each.

        Args:
            most: How many lines.

        Returns:
            The lines; empty where there is nothing to say.

        Example:
            >>> nke.diagnose(model, data).lines()
            []
        """
        chosen = list({finding.topic: str(finding) for finding in reversed(self.problems)}.values())[::-1]
        rest = len(chosen) - most
        return chosen[:most] if rest <= 0 else [*chosen[: most - 1], f"And {rest + 1} more of the same kind."]

    def to_dict(self) -> dict[str, Any]:
        """Gives the diagnosis as plain values, ready for JSON."""
        return {"verdict": self.verdict, "findings": [finding.to_dict() for finding in self.findings]}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Diagnosis":
        """Reads what ``to_dict`` gave.

        Args:
            values: Verdict and findings.

        Returns:
            The diagnosis.

        Example:
            >>> diagnosis = nke.diagnose(model, data)
            >>> nke.Diagnosis.from_dict(diagnosis.to_dict()) == diagnosis
            True
        """
        return cls(tuple(Finding(**finding) for finding in values["findings"]))

    def __str__(self) -> str:
        return "\n".join([self.verdict, *self.lines(most=len(self.findings) + 1)])


def diagnose(model: Any, data: Any, *, seed: int = 0) -> Diagnosis:
    """Looks for what speaks against a model in recorded trajectories.

    Memory that the state does not have, noise, drift or tails of the wrong size, a law that changes with time, and
    simulated paths that differ from recorded ones. Every check has the level of one in a thousand, and tells only of
    what is large enough to matter.

    Args:
        model: The model, or the result of a fit.
        data: Recorded trajectories, or a frame or path of them; those that it was fitted to, or others.
        seed: Of the simulated paths.

    Returns:
        The findings.

    Raises:
        InputError: If the data has another number of coordinates than the model.

    Example:
        >>> print(nke.diagnose(model, data))
        nothing speaks against it
    """
    model, data = as_model(model), recorded(data)
    if data.dimension != model.dimension:
        raise InputError(
            f"expected data with {model.dimension} coordinates ({', '.join(model.names)}), but got {data.dimension}"
        )
    require_same_time(model, data)
    with threadpool_limits(1, "blas"):  # small matrices, of which several threads only wait for each other
        return Diagnosis(tuple(_findings(model, data, seed)))


def require_same_time(model: Model, data: Trajectories) -> None:
    """Refuses data whose times are counted in another unit than those that the model was fitted to.

    Args:
        model: The model.
        data: Recorded trajectories.

    Raises:
        InputError: If both units are known and differ.
    """
    own, other = model.unit_of_time, data.unit_of_time
    if own and other and own != other:
        advice = "calendar='trading'" if own == "trading day" else f"time_unit={own!r}"
        raise InputError(f"expected times in {own!r}, as the model has them, but got {other!r}; read with {advice}")


def _findings(model: Model, data: Trajectories, seed: int) -> Iterator[Finding]:
    if not moving(model, data.transitions()):
        return
    scores = NormalScores.of(
        model, some_transitions(data.transitions(), MOST_TRANSITIONS), seed, block(some_paths(data))
    )
    yield from check_memory(scores)
    yield from check_calibration(scores)
    yield from check_same_law(scores)
    yield from check_long_run(model, data, seed)
    yield from check_simpler_laws(model, some_transitions(data.transitions(), MOST_COMPARED))


def some_transitions(transitions: Transitions, most: int) -> Transitions:
    """Takes pieces of the record, spread over it, so that neighbours stay neighbours.

    Args:
        transitions: All of them.
        most: How many at most.

    Returns:
        Some of them.
    """
    count, pieces = len(transitions), 200
    if count <= most:
        return transitions
    length = most // pieces
    starts = np.linspace(0, count - length, pieces).astype(int)
    return transitions.take(np.unique((starts[:, None] + np.arange(length)).ravel()))
