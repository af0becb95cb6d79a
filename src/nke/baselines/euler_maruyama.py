"""Euler–Maruyama: drift network and diagonal noise network by the Gaussian likelihood of one explicit step."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from nke import operators
from nke.baselines.no_jumps import NO_JUMPS, refuse_jumps
from nke.data import Coordinates, Trajectories
from nke.fitting import Decision, FitResult, FitRun, Likelihood, Schedule


@dataclass(frozen=True)
class EulerMaruyama:
    """Fits y = x + s·f(x) + √s·g(x) ξ with diagonal g by maximum likelihood.

    The model is simulated by the same rule, one step per step of the data.

    Args:
        width: Units of each hidden layer of both networks.
        depth: Hidden layers of both networks.
        held_out: Share of the trajectories on which the loss is checked.
        schedule: How long and how fast to train; by default that of ``nke.Likelihood``.
        kinetic: Velocities by the names of their positions, as in ``nke.Likelihood``.
        invariant: Coordinates that the law does not depend on, as in ``nke.Likelihood``.

    Raises:
        InputError: If an option is out of its range.

    Example:
        >>> method = nke.baselines.EulerMaruyama(width=4, depth=1, schedule=nke.Schedule(steps=5, particles=64))
        >>> fit = nke.fit(data, method, progress=False)
        >>> fit.model.drift([[0.5]]).shape
        (1, 1)
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
        """Fits the baseline; call ``nke.fit(data, method)``, which prepares the rest.

        Args:
            data: The trajectories.
            coordinates: Those that the training runs in.
            jumps: False or None: there is no jump part.
            run: Seed, progress and checkpoint.

        Returns:
            The model, its history, timings and what was decided.

        Raises:
            InputError: If ``jumps`` is True.

        Example:
            >>> method = nke.baselines.EulerMaruyama(width=4, depth=1, schedule=nke.Schedule(steps=5, particles=64))
            >>> learned = method.fit(data, nke.Coordinates.zscore(data), jumps=None, run=nke.fitting.FitRun(seed=0))
            >>> learned.model.splitting.kind, learned.form.noise
            ('euler', 'diagonal')
        """
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
            polish=False,
            width=self.width,
            depth=self.depth,
            held_out=self.held_out,
            rule=operators.EulerMaruyamaRule(),
            schedule=self.schedule,
            kinetic=self.kinetic,
            invariant=self.invariant,
        )
