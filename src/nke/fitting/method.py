"""What every way to learn has in common."""

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from nke.data import Coordinates, Trajectories
from nke.fitting.result import FitResult
from nke.fitting.training import FitRun


@runtime_checkable
class Method(Protocol):
    """A way to learn: ``Likelihood``, ``MomentMatching``, or one of ``nke.baselines``.

    Example:
        >>> isinstance(nke.Likelihood(), nke.fitting.Method), isinstance(nke.Schedule(), nke.fitting.Method)
        (True, False)
    """

    def fit(self, data: Trajectories, coordinates: Coordinates, jumps: bool | None, run: FitRun) -> FitResult:
        """Learns a law.

        Args:
            data: Recorded trajectories.
            coordinates: Those of training.
            jumps: Whether the law has jumps; None: decided from the data.
            run: Seed, progress and checkpoint.

        Returns:
            The law and how it was found.

        Example:
            >>> class Known:  # a method of your own, here one that knows the law
            ...     def fit(self, data, coordinates, jumps, run):
            ...         return nke.FitResult(model, {}, {})
            >>> nke.fit(data, Known(), progress=False).model.names
            ('x',)
        """
        ...


@runtime_checkable
class StructuredMethod(Method, Protocol):
    """A method that takes what is known of the equation: positions of velocities, uniform space, and angles.

    Example:
        >>> isinstance(nke.Likelihood(), nke.fitting.StructuredMethod)
        True
    """

    @property
    def kinetic(self) -> Mapping[str, str] | None:
        """Positions with their velocities."""
        ...

    @property
    def invariant(self) -> Sequence[str]:
        """Coordinates on which the law does not depend."""
        ...
