"""Coordinates that suit the data: the law is learned for transformed columns, the model speaks of the user's own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nke.data import Coordinates, Trajectories
from nke.data.transforms import Periodic, Plain
from nke.errors import InputError
from nke.fitting.batches import some_transitions
from nke.fitting.borders import expected_crossings, find_borders
from nke.fitting.coordinate_choice import choose_coordinates, coordinate_decision
from nke.fitting.coordinate_hints import coordinate_hints
from nke.fitting.decisions import Decision, Estimate
from nke.fitting.known_columns import known_columns
from nke.fitting.laws.memoryless import MemorylessFamily
from nke.fitting.likelihood import Likelihood
from nke.fitting.method import Method, StructuredMethod
from nke.fitting.moment_matching import MomentMatching
from nke.fitting.result import FitResult
from nke.fitting.training import FitRun
from nke.fitting.validity import noise_decision, step_decision

BORDER_TRANSITIONS = 16_384  # that are looked at for borders: what the cost allows


@dataclass(frozen=True)
class SuitedCoordinates:
    """Coordinates of a fit and what was decided about them.

    Attributes:
        coordinates: From the columns of the data to those of training.
        decisions: Why these.
        as_they_are: Columns for which no others are to be suggested, since the user said what they are.
    """

    coordinates: Coordinates
    decisions: tuple[Decision, ...] = ()
    as_they_are: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls,
        data: Trajectories,
        method: Method,
        coordinates: Coordinates | None,
        positive: Sequence[str] | None,
        periodic: Sequence[str] | Mapping[str, float] | None,
        bounds: Mapping[str, Sequence[float]] | None,
        seed: int,
    ) -> "SuitedCoordinates":
        """Takes what the user says about the columns, and decides on the others where the method is a likelihood.

        Args:
            data: Recorded trajectories.
            method: How the law is learned.
            coordinates: As asked; None: from the rest.
            positive: Columns that are positive; None: decided from the data.
            periodic: Columns that are angles.
            bounds: Columns with their bounds.
            seed: Of what is random.

        Returns:
            The coordinates.

        Raises:
            InputError: If the demands contradict each other, the data or the method.
        """
        said = positive is not None or periodic is not None or bounds is not None
        if coordinates is not None:
            if said:
                raise InputError(
                    "expected either coordinates or positive, periodic and bounds, but got both; say it with "
                    "nke.Coordinates(..., transforms=...) alone"
                )
            return cls(_allowed(coordinates, method), as_they_are=frozenset(data.names))
        structured = isinstance(method, StructuredMethod)
        kinetic = (method.kinetic or {}) if structured else {}
        known = known_columns(data, positive, periodic, bounds, kinetic)
        if positive is None and isinstance(method, Likelihood):
            fixed = {*kinetic, *kinetic.values()}
            columns, decisions = choose_coordinates(data, known, sorted(fixed), seed, method.rules, periodic is None)
        else:
            columns = tuple(known.get(name, Plain()) for name in data.names)
            decisions = [coordinate_decision(data, columns, {}, "as asked")] if said else []
        chosen = None if all(isinstance(column, Plain) for column in columns) else columns
        settled = frozenset(data.names if positive is not None else {*kinetic, *kinetic.values()})
        return cls(_allowed(Coordinates.zscore(data, chosen), method), tuple(decisions), settled)

    def fit(self, data: Trajectories, method: Method, jumps: bool | None, run: FitRun) -> FitResult:
        """Learns the law of the transformed columns and gives it back for the columns of the data.

        Args:
            data: Recorded trajectories.
            method: How the law is learned.
            jumps: Whether the law has jumps; None: decided from the data.
            run: Seed, progress and checkpoint.

        Returns:
            The result; model and score are in the user's coordinates.
        """
        result = self._with_decisions(self._fit(data, method, jumps, run))
        if not isinstance(method, Likelihood) or any(d.topic == MemorylessFamily.name for d in result.decisions):
            return result  # where states are drawn anew at every step, nothing is known of paths in between
        some = some_transitions(data.transitions(), BORDER_TRANSITIONS, run.seed)
        crossings = expected_crossings(result.model, data, some, method.rules)
        borders, decisions = find_borders(result.model, data, crossings, method.rules)
        angles = {name for d in self.decisions if d.topic == "angles" for name in d.evidence}
        hints = coordinate_hints(data, crossings, self.as_they_are | angles, run.seed, method.rules)
        model = replace(result.model, borders=borders)
        return replace(result, model=model, decisions=(*result.decisions, *decisions, *hints))

    def _fit(self, data: Trajectories, method: Method, jumps: bool | None, run: FitRun) -> FitResult:
        columns = self.coordinates.transforms
        if all(isinstance(column, Plain) for column in columns):
            return method.fit(data, self.coordinates, jumps, run)
        inner = data.transformed(columns)
        result = _renamed(method, data, inner).fit(inner, self.coordinates.of_transformed(), jumps, run)
        found = result.model.coordinates
        coordinates = Coordinates(found.shift, found.scale, found.time_unit, columns)
        model = replace(result.model, coordinates=coordinates, names=data.names, units=data.units)
        result = replace(result, model=model)
        if result.score is not None and not coordinates.is_affine:
            result = _in_the_users_coordinates(result, data, method, run)
        return result

    def _with_decisions(self, result: FitResult) -> FitResult:
        """The decisions on coordinates come behind the first, how the data was divided."""
        first, rest = result.decisions[:1], result.decisions[1:]
        return replace(result, decisions=(*first, *self.decisions, *rest))


def _allowed(coordinates: Coordinates, method: Method) -> Coordinates:
    """Refuses angles where the method would not learn a periodic law."""
    knows = isinstance(method, StructuredMethod) and not isinstance(method, MomentMatching)
    if any(isinstance(t, Periodic) for t in coordinates.transforms) and not knows:
        raise InputError(
            f"expected a method that knows of angles for periodic columns, but got {type(method).__name__}; "
            "use nke.Likelihood, or leave periodic out"
        )
    return coordinates


def _renamed(method: Method, data: Trajectories, inner: Trajectories) -> Any:
    """The method with the names of the transformed columns; positions and velocities keep theirs."""
    if not isinstance(method, StructuredMethod) or not method.invariant:
        return method
    names = dict(zip(data.names, inner.names, strict=True))
    changed: Any = method
    return replace(changed, invariant=tuple(names.get(name, name) for name in method.invariant))


def _in_the_users_coordinates(result: FitResult, data: Trajectories, method: Any, run: FitRun) -> FitResult:
    """The result with score and step looked at in the user's coordinates, which differ from state to state."""
    model, rules = result.model, result.rules
    held_out = data.hold_out(method.held_out, run.seed)[1].transitions()
    some = some_transitions(held_out, rules.averaged_transitions, run.seed)
    every = some_transitions(data.transitions(), rules.averaged_transitions, run.seed)
    parts = {"step": some, "noise range": every}
    anew = {"step": step_decision, "noise range": noise_decision}
    decisions = (anew[d.topic](model, parts[d.topic], rules) if d.topic in anew else d for d in result.decisions)
    score = Estimate.of(model.log_prob(some.y, given=some.x, step=some.step))
    return replace(result, score=score, decisions=tuple(decisions))
