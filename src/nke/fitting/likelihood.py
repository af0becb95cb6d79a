"""The Kolmogorov likelihood: each observed state pushed through the learned equation, the next one scored."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from nke.data import Coordinates, Trajectories, Transitions
from nke.errors import DivergenceError, InputError
from nke.fitting.batches import TrainingData, some_transitions, transition_blocks
from nke.fitting.candidate import LawFit, Problem
from nke.fitting.decisions import Decision, division
from nke.fitting.finish import finish
from nke.fitting.form import JUMP_SHAPES, NOISE_FORMS, POLYNOMIAL_NOISE_FORMS
from nke.fitting.initial_networks import InitialModel
from nke.fitting.jump_detection import decide_jumps
from nke.fitting.kinematics import known_motion
from nke.fitting.laws.memoryless import MemorylessFamily
from nke.fitting.memory import Memory
from nke.fitting.result import FitResult
from nke.fitting.rules import SelectionRules
from nke.fitting.search import Search
from nke.fitting.stochastic import Schedule
from nke.fitting.training import FitRun, Trainer, default_schedule
from nke.operators import ForwardPacket, KinematicConstraint, TransitionRule

JumpDecision = Callable[[Transitions], tuple[bool, Decision]]


@dataclass(frozen=True)
class Likelihood:
    """Joint maximum likelihood of drift, diffusion and jumps; steps may differ from transition to transition.

    Args:
        components: Number of Gaussians in the law of one jump; None: up to four, as many as the data supports.
        jump_shapes: Whether their means and covariances are "shared" by all states, only rate and shares depending on
            them, or "state-dependent"; None: decided from the data.
        noise: Form of the diffusion: "constant", "plain" (any function of the state), "diagonal" (likewise, independent
            between coordinates) or "relative" (in proportion to the state, times any function of it); None: decided by
            held-out likelihood.
        substeps: Parts into which the discrete model cuts each step; None: decided by held-out likelihood.
        width: Units in each layer of the networks.
        depth: Hidden layers of the networks.
        held_out: Share of the trajectories that is held out: the best parameters on them are kept.
        kinetic: Coordinates that are positions of others, ``{"x": "vx"}``: dx = vx dt is then taken as known, and only
            the others are learned and scored. None takes it so where the data says it: a coordinate that moves as
            another says and has no noise of its own. With a mapping, also an empty one, nothing is decided.
        invariant: Coordinates on which the law does not depend, as in a space that is the same everywhere.
        networks: None takes them only where a polynomial law (drift by powers of the state, noise constant or in
            proportion to it, jumps alike everywhere) and a smooth one (powers and kernels, penalised) show lack of fit,
            and for the drift only where a polynomial beside the other networks does; True takes them in any case,
            False in none.
        polish: Whether networks start at a polynomial law and end with Newton's method for their last layers, under
            penalties by evidence; False trains them by stochastic gradients alone.
        rule: The discrete model of one step.
        schedule: Length and speed of the training; None: rounds that grow from a quarter of 1000 steps per coordinate
            (at most 3000, and with little data down to a third of that, at least 600) to four times as many, until one
            gains nothing. One of your own replaces all of it, weight decay and patience too, and is one round.
        rules: Thresholds by which the fit decides what is left open above.

    Raises:
        InputError: If an option is out of its range, or options contradict each other.

    Example:
        >>> method = nke.Likelihood(noise="constant", networks=False)
        >>> nke.fit(data, method, jumps=False, progress=False).form.noise
        'constant'
    """

    components: int | None = None
    jump_shapes: str | None = None
    noise: str | None = None
    substeps: int | None = None
    width: int = 64
    depth: int = 2
    held_out: float = 0.1
    kinetic: Mapping[str, str] | None = None
    invariant: Sequence[str] = ()
    networks: bool | None = None
    polish: bool = True
    rule: TransitionRule = field(default_factory=ForwardPacket)
    schedule: Schedule | None = None
    rules: SelectionRules = field(default_factory=SelectionRules, repr=False)

    def __post_init__(self):
        if (
            (self.components is not None and self.components < 1)
            or self.width < 1
            or self.depth < 1
            or not 0 < self.held_out < 1
        ):
            raise InputError("expected components, width, depth ≥ 1 and held_out between 0 and 1")
        if self.noise is not None and self.noise not in NOISE_FORMS:
            raise InputError(f"expected noise to be None or one of {', '.join(NOISE_FORMS)}, but got {self.noise!r}")
        if self.jump_shapes is not None and self.jump_shapes not in JUMP_SHAPES:
            raise InputError(
                f"expected jump_shapes to be None or one of {', '.join(JUMP_SHAPES)}, but got {self.jump_shapes!r}"
            )
        if self.networks is False and self.noise not in (None, *POLYNOMIAL_NOISE_FORMS):
            raise InputError(
                f"networks=False goes with noise {' or '.join(POLYNOMIAL_NOISE_FORMS)}, or None; but got {self.noise!r}"
            )
        most = self.rules.most_substeps
        if self.substeps is not None and not 1 <= self.substeps <= most:
            raise InputError(f"expected substeps between 1 and {most}, or None, but got {self.substeps}")

    def with_training_steps(self, steps: int, data: Trajectories) -> "Likelihood":
        """Gives the same method with another length of training.

        Args:
            steps: Optimisation steps of the networks.
            data: What it will be fitted to, on which the rest of the default schedule depends.

        Returns:
            The method.

        Example:
            >>> nke.Likelihood().with_training_steps(500, data).schedule.steps
            500
        """
        schedule = self.schedule or default_schedule(data.dimension, len(data.transitions()), self.rules)
        return replace(self, schedule=replace(schedule, steps=steps))

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
            >>> method, coordinates = nke.Likelihood(networks=False), nke.Coordinates.zscore(data)
            >>> learned = method.fit(data, coordinates, jumps=False, run=nke.fitting.FitRun(seed=0))
            >>> learned.form.degree, learned.model.has_jumps  # a linear drift
            (1, False)
        """
        decide = partial(decide_jumps, jumps, coordinates=coordinates, seed=run.seed, rules=self.rules)
        return self.fit_deciding(decide, data, coordinates, run)

    def fit_deciding(self, jumps: JumpDecision, data: Trajectories, coordinates: Coordinates, run: FitRun) -> FitResult:
        """Learns the law, whether it has jumps being decided by a function.

        Args:
            jumps: Tells from transitions whether there are jumps, and why.
            data: Recorded trajectories.
            coordinates: Those of training.
            run: Seed, progress and checkpoint.

        Returns:
            The law and how it was found.

        Example:
            >>> known = nke.fitting.Decision("Are there jumps?", "none, as is known of this system", topic="jumps")
            >>> method, coordinates = nke.Likelihood(networks=False), nke.Coordinates.zscore(data)
            >>> run = nke.fitting.FitRun(seed=0)
            >>> learned = method.fit_deciding(lambda transitions: (False, known), data, coordinates, run)
            >>> learned.decision("jumps").answer
            'none, as is known of this system'
        """
        clock, rules = time.perf_counter(), self.rules
        training, checking = (part.transitions() for part in data.hold_out(self.held_out, run.seed))
        decisions = [division(len(training), len(checking), self.held_out)]
        some = some_transitions(training, rules.averaged_transitions, run.seed)
        found, why = jumps(some)
        decisions.append(why)
        trainer = Trainer(self.schedule or default_schedule(data.dimension, len(training), rules), run)
        constraint, why = known_motion(self.kinetic, self.invariant, data.names, some, coordinates, rules)
        decisions += why
        initial = InitialModel(some, coordinates, found, self, run.seed, rules, constraint, data.names)
        skew = rules.large_motion_preference if found else 1.0
        blocks = (transition_blocks(part, coordinates, initial.sample.free, skew) for part in (training, checking))
        problem = Problem(TrainingData(*blocks), initial, self, trainer, rules)
        prepared = time.perf_counter() - clock
        memory = Memory.of(some, coordinates, constraint, data.names, rules)
        simplest = bool(memory.forgotten.all()) and self._leaves_open(constraint)
        search = Search(problem, (MemorylessFamily(float(memory.at_most.max())),) if simplest else None)
        if memory.forgotten.any():
            decisions.append(memory.decision(simplest))
        try:
            law = search.run()
        except DivergenceError as error:
            if self.networks is not False:
                raise
            raise InputError(
                "networks=False, but every law without networks diverges in simulation, or noise and jumps are of a "
                f"form that needs them ({error}); say networks=None"
            ) from error
        step, unseen = float(np.median(some.step)), some_transitions(checking, rules.averaged_transitions, run.seed)
        result = finish(law, problem, data, coordinates, step, unseen)
        return replace(
            result,
            timings={"preparation": prepared, **trainer.timings()},
            decisions=(
                *decisions,
                *initial.decisions,
                *search.decisions,
                self._choice(law, simplest),
                *result.decisions,
            ),
        )

    def _leaves_open(self, constraint: KinematicConstraint | None) -> bool:
        """Whether nothing that was asked for needs more than a linear drift and constant noise."""
        return constraint is None and not self.networks and self.noise in (None, "constant")

    def _choice(self, law: LawFit, simplest: bool) -> Decision:
        form, density = law.form, f"the transition density ({type(self.rule).__name__})"
        networks = f"networks of {self.depth} × {self.width}" if form.networks else "no networks"
        substeps = f"{form.substeps} sub-step{'s' if form.substeps > 1 else ''}"
        return Decision(
            "Which law was chosen?",
            f"{form.noise} noise; drift {form.drift}; {networks}; {substeps}",
            {"parameters": law.parameters},
            f"moments of the states; scored by {density}" if simplest else f"maximum likelihood of {density}",
            "method",
        )
