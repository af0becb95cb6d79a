"""What every optimiser gives back: parameters, and a named result that says how it ended."""

import enum
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable


class Outcome(enum.Enum):
    """How an optimisation ended; the value says what that means and what to do.

    Attributes:
        CONVERGED: Another step would gain less than the tolerance.
        BUDGET_USED: All steps were taken.
        NO_PROGRESS: No step gained anything.
        NOT_FINITE: The objective or its derivatives became NaN or infinite.

    Example:
        >>> nke.fitting.Outcome.CONVERGED.value
        'another step would gain less than the tolerance'
    """

    CONVERGED = "another step would gain less than the tolerance"
    BUDGET_USED = "all steps were taken; more of them may gain more"
    NO_PROGRESS = "no step gained anything; another start may lead further"
    NOT_FINITE = "the objective or its derivatives became NaN or infinite; look for a few values far from the rest"


Evidence = TypeVar("Evidence")


@dataclass(frozen=True)
class Optimised(Generic[Evidence]):
    """The end of an optimisation.

    Attributes:
        parameters: The parameters found, in the structure of the start.
        outcome: How it ended.
        evidence: What the optimiser learned on the way: the information matrix of Newton's method, the history of a
            stochastic one.

    Example:
        >>> found = nke.fitting.Optimised(np.zeros(2), nke.fitting.Outcome.BUDGET_USED, evidence=None)
        >>> found.outcome.value
        'all steps were taken; more of them may gain more'
    """

    parameters: Any
    outcome: Outcome
    evidence: Evidence


@runtime_checkable
class Optimiser(Protocol):
    """Anything that improves parameters: ``Newton`` for few in one vector, ``StochasticGradient`` for networks."""

    def run(self, objective: Any, start: Any, data: Any) -> Optimised:
        """Improves the parameters.

        Args:
            objective: What is maximised or minimised.
            start: Parameters to begin with; they are not changed.
            data: What the objective is computed on.

        Returns:
            The parameters found and how it ended.
        """
        ...
