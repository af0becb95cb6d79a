"""Euler–Maruyama: drift network and diagonal noise network by the Gaussian likelihood of one explicit step."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from nke import operators
from nke.baselines.no_jumps import NO_JUMPS, refuse_jumps
from nke.data import Coordinates, Trajectories
from nke.fitting import Decision, FitResult, FitRun, Likelihood, Schedule


@dataclass(frozen=True)
class EulerMaruyama:
    """y = x + s·f(x) + √s·g(x) ξ with diagonal g, by maximum likelihood.

    ``width`` and ``depth`` are those of both networks; without a ``schedule`` training takes that of ``Likelihood``.
    The model is simulated by the same rule, one step per step of the data. ``kinetic`` and ``invariant`` are those of
    ``Likelihood``.
    """

    width: int = 64
    depth: int = 2
    held_out: float = 0.1
    schedule: Schedule | None = None
    kinetic: Mapping[str, str] | None = None
    invariant: Sequence[str] = ()

    def __post_init__(self):
        self._likelihood()

    def fit(self, data: Trajectories, coordinates: Coordinates, jumps: bool | None, run: FitRun) -> FitResult:
        refuse_jumps(jumps, self)
        result = self._likelihood().fit_deciding(lambda some: (False, NO_JUMPS), data, coordinates, run)
        method = Decision(
            "Which law was chosen?",
            f"diagonal noise; networks of {self.depth} × {self.width}",
            result.decision("method").evidence,
            "Gaussian likelihood of one Euler–Maruyama step",
            "method",
        )
        decisions = tuple(method if decision.topic == "method" else decision for decision in result.decisions)
        model = replace(result.model, splitting=operators.Euler())
        return replace(result, model=model, decisions=decisions)

    def _likelihood(self) -> Likelihood:
        return Likelihood(
            noise="diagonal",
            networks=True,
            width=self.width,
            depth=self.depth,
            held_out=self.held_out,
            rule=operators.EulerMaruyamaRule(),
            schedule=self.schedule,
            kinetic=self.kinetic,
            invariant=self.invariant,
        )
