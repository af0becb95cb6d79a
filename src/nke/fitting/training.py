"""The trainings of one fit, in turn: their keys, their progress, their histories and times."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from nke.errors import DivergenceError
from nke.fitting.batches import Blocks
from nke.fitting.checkpoint import Checkpoint
from nke.fitting.optimiser import Outcome
from nke.fitting.rules import SelectionRules
from nke.fitting.stochastic import CHUNK, Curve, Loss, Schedule, StageCheckpoint, StochasticGradient
from nke.progress import Progress, silent


@dataclass(frozen=True)
class FitRun:
    """What every method needs besides the data.

    Attributes:
        seed: Of everything that is random.
        progress: Shows how far the fit has come.
        checkpoint: Where its state is kept.
        watch: Callback that receives the parameters after every chunk of a training.

    Example:
        >>> run = nke.fitting.FitRun(seed=0)
        >>> nke.Likelihood(networks=False).fit(data, nke.Coordinates.zscore(data), False, run).form.noise
        'constant'
    """

    seed: int
    progress: Progress = silent
    checkpoint: Checkpoint | None = None
    watch: Callable[[Any], None] = lambda parameters: None

    def stage_checkpoint(self, stage: str) -> StageCheckpoint | None:
        """Gives the place where a training keeps its state; None without a checkpoint.

        Args:
            stage: Name of the training.

        Example:
            >>> import tempfile
            >>> from nke.fitting.checkpoint import Checkpoint
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     nke.fitting.FitRun(0, checkpoint=Checkpoint(folder, "this fit")).stage_checkpoint("drift").stage
            'drift'
        """
        return None if self.checkpoint is None else StageCheckpoint(self.checkpoint, stage)


class Trainer:
    """Runs the trainings of one fit in turn and keeps their histories.

    Attributes:
        schedule: Of a training in full.
        run: Seed, progress and checkpoint of the fit.
        history: Of every training, by name.

    Example:
        >>> trainer = nke.fitting.Trainer(nke.Schedule(steps=200), nke.fitting.FitRun(seed=0))
        >>> trainer.schedule.steps, trainer.history
        (200, {})
    """

    def __init__(self, schedule: Schedule, run: FitRun):
        """Begins a fit.

        Args:
            schedule: How long and how fast to train.
            run: What the fit needs besides the data.
        """
        self.schedule, self.run = schedule, run
        self._key = jax.random.key(run.seed)
        self.history: dict[str, Curve] = {}
        self._seconds: dict[str, float] = {}

    def key(self) -> PRNGKeyArray:
        """Gives the next random key.

        Example:
            >>> trainer = nke.fitting.Trainer(nke.Schedule(), nke.fitting.FitRun(seed=0))
            >>> bool(trainer.key() == trainer.key())  # another one each time
            False
        """
        self._key, key = _two(self._key)
        return key

    def train(
        self,
        name: str,
        loss: Loss,
        start: Any,
        data: tuple[Blocks, Blocks],
        trial: int | None = None,
        steps: int | None = None,
    ) -> Any:
        """Minimises a loss over blocks.

        Args:
            name: Of the training.
            loss: Of one block.
            start: Parameters to begin with.
            data: Blocks to train on and held out.
            trial: Steps of a short run.
            steps: Steps of a run in full; None: those of the schedule.

        Returns:
            The parameters that were kept.

        Raises:
            DivergenceError: If the loss became NaN or infinite.

        Example:
            >>> import jax.numpy as jnp
            >>> schedule = nke.Schedule(steps=200, learning_rate=0.1, particles=2)
            >>> trainer = nke.fitting.Trainer(schedule, nke.fitting.FitRun(seed=0))
            >>> line = nke.operators.PolynomialPlusMLP(1, 1, width=0, depth=0, key=trainer.key())
            >>> blocks = nke.fitting.Blocks(jnp.array([[-1.0], [1.0]]), blocks=2, particles=1)
            >>> loss = lambda line, x, block: (line(x[block])[0] - 2 * x[block, 0]) ** 2
            >>> round(float(trainer.train("line", loss, line, (blocks, blocks)).skip.weight[0, 0]), 2)
            2.0
        """
        schedule = replace(self.schedule, steps=steps or self.schedule.steps)
        if trial is not None:
            schedule = replace(schedule, steps=min(trial, schedule.steps))
        optimiser = StochasticGradient(
            schedule,
            self.key(),
            self.run.progress(name, schedule.steps),
            self.run.watch,
            self.run.stage_checkpoint(name),
            "training" if trial is None else "trial",
        )
        found = optimiser.run(loss, start, data)
        if found.outcome is Outcome.NOT_FINITE:
            raise DivergenceError(
                "the loss became NaN or infinite while training; lower the learning rate, or check the data "
                "for a few values that are very far from the rest"
            )
        self.history[name] = found.evidence
        return found.parameters

    @contextmanager
    def clock(self, name: str) -> Iterator[None]:
        """Adds up the time of what is no training.

        Args:
            name: Of the work.

        Example:
            >>> trainer = nke.fitting.Trainer(nke.Schedule(), nke.fitting.FitRun(seed=0))
            >>> with trainer.clock("packets"):
            ...     total = sum(range(1000))
            >>> trainer.timings()["packets"] > 0
            True
        """
        begun = time.perf_counter()
        yield
        self._seconds[name] = self._seconds.get(name, 0.0) + time.perf_counter() - begun

    def timings(self) -> dict[str, float]:
        """Gives the seconds of every part of the fit.

        Example:
            >>> trainer = nke.fitting.Trainer(nke.Schedule(), nke.fitting.FitRun(seed=0))
            >>> with trainer.clock("packets"), trainer.clock("both"):
            ...     total = sum(range(1000))
            >>> sorted(trainer.timings())
            ['both', 'packets']
        """
        return self._seconds | {name: curve.seconds for name, curve in self.history.items()}


def default_schedule(dimension: int, transitions: int, rules: SelectionRules) -> Schedule:
    """Chooses the length of training and its weight decay.

    Functions of fewer variables are learned in fewer steps; little data in fewer still, and with more decay.

    Args:
        dimension: Of the state.
        transitions: To train on.
        rules: What was measured.

    Returns:
        The schedule.
    """
    share = transitions / rules.reference_transitions
    steps = min(rules.steps_per_coordinate * dimension, rules.most_steps) * np.clip(share ** (1 / 3), 1 / 3, 1)
    return Schedule(
        max(CHUNK * round(steps / CHUNK), rules.least_steps),
        weight_decay=min(rules.weight_decay / max(share, 1e-9) ** 0.5, rules.most_weight_decay),
        patience=rules.patience,
        particles=1024,
    )


@jax.jit
def _two(key: PRNGKeyArray) -> tuple[PRNGKeyArray, PRNGKeyArray]:
    """Two keys from one, in one program."""
    first, second = jax.random.split(key)
    return first, second
