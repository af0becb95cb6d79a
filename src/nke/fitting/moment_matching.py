"""The paper's four steps: packets and jump split, then advection, diffusion and jumps in turn."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Bool

from nke.data import Coordinates, Trajectories, Transitions
from nke.errors import InputError
from nke.fitting.batches import some_transitions
from nke.fitting.decisions import Decision
from nke.fitting.jump_detection import QUESTION, TOPIC, detect_jumps, find_jumps
from nke.fitting.kinematics import known_motion
from nke.fitting.packet_training import (
    NOISE_FORMS,
    Packing,
    initial_jump_network,
    train_advection,
    train_diffusion,
    train_jumps,
)
from nke.fitting.result import FitResult
from nke.fitting.rules import SelectionRules
from nke.fitting.stochastic import Schedule
from nke.fitting.training import FitRun, Trainer
from nke.model import Model
from nke.operators import FiniteTimeJump, Generator, KinematicConstraint
from nke.packets import group_by_time

SCHEDULE = Schedule(steps=1600, learning_rate=6e-3, patience=3, particles=1024)  # measured in docs/design.md


@dataclass(frozen=True)
class MomentMatching:
    """The paper's training: mean motion gives the drift, covariance growth the diffusion, outliers the jumps.

    Args:
        neighbours: κ_nn of the paper, the particles of a packet.
        sensitivity: κ_sens of the paper: increments of so many median deviations are jumps.
        pool: Whether packets are formed in the cloud of all time steps, which suits an autonomous system and measured
            better; False is the paper's way, each time step apart.
        noise: Form of the diffusion: "constant", "plain" (any function of the state) or "diagonal" (likewise,
            independent between coordinates).
        kinetic: Coordinates that are positions of others, as in ``nke.Likelihood``: only the others are learned. None
            takes it so where the data says it.
        invariant: Coordinates on which the law does not depend: neighbours may be anywhere there.
        components: Gaussians in the finite-time jump law besides "no jump"; it needs one common step.
        smoothness: Penalty on the slope of that law.
        width: Units in each layer of the networks.
        depth: Hidden layers of the networks.
        held_out: Share of the trajectories that is held out: the best parameters on them are kept.
        schedule: Length and speed of each of the three trainings, which end sooner where they gain nothing.
        rules: Thresholds by which the fit decides whether there are jumps.

    Raises:
        InputError: If an option is out of its range.

    Example:
        >>> method = nke.MomentMatching(schedule=nke.Schedule(steps=1), width=4, depth=1)
        >>> learned = nke.fit(data, method, jumps=False, progress=False)
        >>> sorted(learned.history)
        ['advection', 'diffusion']
    """

    neighbours: int = 32
    sensitivity: float = 3.0
    pool: bool = True
    noise: str = "plain"
    kinetic: Mapping[str, str] | None = None
    invariant: Sequence[str] = ()
    components: int = 2
    smoothness: float = 1e-4
    width: int = 64
    depth: int = 2
    held_out: float = 0.1
    schedule: Schedule = field(default_factory=lambda: SCHEDULE)
    rules: SelectionRules = field(default_factory=SelectionRules, repr=False)

    def __post_init__(self):
        if self.neighbours < 2 or self.components < 1 or self.width < 1 or self.depth < 1:
            raise InputError(
                f"expected neighbours ≥ 2 and components, width, depth ≥ 1; got {self.neighbours}, "
                f"{self.components}, {self.width}, {self.depth}"
            )
        if self.sensitivity <= 0 or self.smoothness < 0 or not 0 < self.held_out < 1:
            raise InputError("expected sensitivity > 0, smoothness ≥ 0 and held_out between 0 and 1")
        if self.noise not in NOISE_FORMS:
            raise InputError(f"expected noise to be one of {', '.join(NOISE_FORMS)}, but got {self.noise!r}")

    def with_training_steps(self, steps: int, data: Trajectories) -> "MomentMatching":
        """Gives the same method with another length of its trainings.

        Args:
            steps: Optimisation steps of each.
            data: What it will be fitted to.

        Returns:
            The method.

        Example:
            >>> nke.MomentMatching().with_training_steps(500, data).schedule.steps
            500
        """
        return replace(self, schedule=replace(self.schedule, steps=steps))

    def fit(self, data: Trajectories, coordinates: Coordinates, jumps: bool | None, run: FitRun) -> FitResult:
        """Learns the law; ``nke.fit`` calls this.

        Args:
            data: Recorded trajectories.
            coordinates: Those of training.
            jumps: Whether the law has jumps; None: decided from the data.
            run: Seed, progress and checkpoint.

        Returns:
            The law and how it was found.

        Example:
            >>> method = nke.MomentMatching(schedule=nke.Schedule(steps=1), width=4, depth=1)
            >>> learned = method.fit(data, nke.Coordinates.zscore(data), jumps=False, run=nke.fitting.FitRun(seed=0))
            >>> learned.decision("packets").evidence
            {'neighbours': 32}
        """
        clock, sizes = time.perf_counter(), (self.width, self.depth)
        parts = [part.transitions() for part in data.hold_out(self.held_out, run.seed)]
        rng = np.random.default_rng(run.seed)
        some = some_transitions(parts[0], self.rules.averaged_transitions, run.seed)
        constraint, known = known_motion(self.kinetic, self.invariant, data.names, some, coordinates, self.rules)
        packing = Packing(coordinates, self._neighbours(parts[1], constraint), self.pool, rng, constraint)
        flags, why = self._split(parts, coordinates, jumps, constraint, rng)
        calm = [packing(part.take(~flag)) for part, flag in zip(parts, flags, strict=True)]
        decisions, packet_seconds = [*known, self._packets(packing), why], time.perf_counter() - clock

        trainer = Trainer(self.schedule, run)
        advection = train_advection(calm, *sizes, self.rules, trainer)
        diffusion = train_diffusion(advection, calm, self.noise, *sizes, self.rules, trainer)
        jump = None
        if flags[0].any():
            marked = [packing(part, flag) for part, flag in zip(parts, flags, strict=True)]
            found = np.asarray(marked[0].displacement)[flags[0]]
            inputs = marked[0].x.shape[1]
            network = initial_jump_network(found, flags[0].mean(), self.components, inputs, *sizes, trainer)
            network = train_jumps(advection, diffusion, marked, network, self.smoothness, self.rules, trainer)
            decisions.append(self._components(network.components))
            jump = FiniteTimeJump(network, float(coordinates.step_to(np.asarray(parts[0].regular_step()))))

        step = float(np.median(parts[0].step))
        generator = Generator.of_free(advection, diffusion, jump, constraint)
        model = Model(generator, coordinates, step, data.names, data.units)
        timings = {"packets": packet_seconds, **trainer.timings()}
        return FitResult(model, trainer.history, timings, tuple(decisions), rules=self.rules)

    def _neighbours(self, checking: Transitions, constraint: KinematicConstraint | None) -> int:
        """κ_nn, cut down where the held-out part is smaller than that."""
        group = np.zeros(len(checking), int) if self.pool else group_by_time(checking.time, checking.step)
        neighbours = min(self.neighbours, int(np.bincount(group).max()))
        d = checking.dimension if constraint is None else len(constraint.free)
        if neighbours <= d + 1:
            raise InputError(
                f"expected more than {d + 1} held-out transitions and neighbours to form packets in {d} dimensions, "
                f"but there are {neighbours}; record more data or take more neighbours"
            )
        return neighbours

    def _split(
        self,
        parts: list[Transitions],
        coordinates: Coordinates,
        jumps: bool | None,
        constraint: KinematicConstraint | None,
        rng: np.random.Generator,
    ) -> tuple[list[Bool[np.ndarray, " t"]], Decision]:
        """Which increments of the training and held-out parts are jumps, and why."""
        step, regular = parts[0].step, parts[0].regular_step() is not None
        if jumps and not regular:
            raise InputError(
                "expected one common step to learn a finite-time jump law, but the steps of the data differ "
                f"(from {step.min():g} to {step.max():g}); use nke.Likelihood, which takes them, resample to a "
                "regular step, or pass jumps=False"
            )
        why = Decision(QUESTION, f"{'yes' if jumps else 'none'}, as asked", topic=TOPIC)
        if jumps is None and not regular:
            evidence = {"shortest step": float(step.min()), "longest step": float(step.max())}
            rule = "a finite-time jump law needs one common step"
            jumps, why = False, Decision(QUESTION, "none assumed, since the steps differ", evidence, rule, TOPIC)
        if jumps is None:
            jumps, why = detect_jumps(parts[0], coordinates, rng, self.rules)
        if not jumps:
            return [np.zeros(len(part), bool) for part in parts], why
        flags = [find_jumps(part, self.sensitivity, self.rules, constraint) for part in parts]
        share = {f"share of increments beyond {self.sensitivity:g} median deviations": float(flags[0].mean())}
        return flags, replace(why, evidence={**why.evidence, **share})

    def _packets(self, packing: Packing) -> Decision:
        return Decision(
            "How are packets formed?",
            f"{packing.neighbours} neighbours, {'pooled over time' if self.pool else 'each time step apart'}",
            {"neighbours": packing.neighbours},
            "as asked, but no more than there are held-out transitions",
            "packets",
        )

    def _components(self, kept: int) -> Decision:
        return Decision(
            "How many Gaussians has the law of a jump?",
            str(kept),
            {"tried": self.components, "kept": kept},
            f"those that carry {self.rules.least_component_share:.0%} of the jumps or more",
            "components",
        )
