"""Stochastic gradients for networks: AdamW in compiled chunks, the best held-out parameters kept."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from nke.errors import InputError
from nke.fitting.batches import Blocks
from nke.fitting.checkpoint import Checkpoint
from nke.fitting.optimiser import Optimised, Outcome
from nke.operators import trainable

CHUNK = 200  # optimisation steps per compiled call
LARGE = 256  # particles of blocks that are computed one by one: batches of them take 3.5 times as long, by their layout

Loss = Callable[[Any, PyTree[Array], Int[Array, ""]], Float[Array, ""]]


@dataclass(frozen=True)
class Schedule:
    """How long and how fast to train networks; the learning rate falls along a half cosine.

    Attributes:
        steps: Optimisation steps, at most.
        learning_rate: Of the first step.
        weight_decay: Of the networks' matrices.
        patience: Chunks of 200 steps without a better held-out loss before training ends.
        particles: Transitions per step, in whole blocks of packets.
        averaged: Steps over which the parameters are averaged (exponentially), at most a tenth of those done.

    Raises:
        InputError: If a number is not positive.

    Example:
        >>> nke.Schedule(steps=1000, learning_rate=1e-3).steps
        1000
    """

    steps: int = 3000
    learning_rate: float = 3e-3
    weight_decay: float = 1e-4
    patience: int = 5
    particles: int = 2048
    averaged: int = 100

    def __post_init__(self):
        if min(self.steps, self.patience, self.particles, self.averaged) < 1:
            raise InputError(f"expected steps, patience, particles and averaged of at least 1; got {self}")
        if self.learning_rate <= 0 or self.weight_decay < 0:
            raise InputError(f"expected a learning rate > 0 and weight decay ≥ 0; got {self}")

    def rates(self, done: int, count: int) -> Float[Array, " count"]:
        """Computes the learning rates of the next steps.

        Args:
            done: Steps that were taken.
            count: Steps to come.

        Returns:
            Their rates.

        Example:
            >>> rates = nke.Schedule(steps=100, learning_rate=1.0).rates(0, 100)
            >>> float(rates[0]), float(rates[-1]) < 0.02
            (1.0, True)
        """
        falling = (1 + np.cos(np.pi * (done + np.arange(count)) / self.steps)) / 2
        return jnp.asarray(self.learning_rate * (0.01 + 0.99 * falling), jnp.float32)


class Curve(NamedTuple):
    """History of one training.

    Attributes:
        steps: Optimisation steps done after each chunk.
        train: Mean loss over the chunk.
        held_out: Held-out loss after it.
        best: Index of the chunk whose parameters were kept; -1 for the start.
        seconds: Time that it took.
        kind: "training", or "trial" for a short run that compares forms of the law.

    Example:
        >>> nke.fitting.Curve(np.array([200]), np.array([0.5]), np.array([0.6]), 0, 1.2).kind
        'training'
    """

    steps: Int[np.ndarray, " chunks"]
    train: Float[np.ndarray, " chunks"]
    held_out: Float[np.ndarray, " chunks"]
    best: int
    seconds: float
    kind: str = "training"


@dataclass
class TrainingLog:
    """How far a training has come; plain numbers, so that it can be saved.

    Attributes:
        keep_last: Whether the last parameters are kept instead of the best.
        done: Steps taken.
        best_value: Least held-out loss.
        best_chunk: Its index; -1 for the start.
        rows: Steps, mean loss, held-out loss and seconds of each chunk.

    Example:
        >>> log = nke.fitting.TrainingLog()
        >>> log.record(200, train=0.5, held_out=0.6, seconds=1.0), log.done, log.best_value
        (True, 200, 0.6)
    """

    keep_last: bool = False
    done: int = 0
    best_value: float = float("inf")
    best_chunk: int = -1
    rows: list[tuple[int, float, float, float]] = field(default_factory=list)

    def finished(self, schedule: Schedule) -> bool:
        """Tells whether all steps are done or patience is over.

        Args:
            schedule: The steps and the patience.

        Returns:
            Whether the training ends.

        Example:
            >>> log = nke.fitting.TrainingLog(done=200)
            >>> log.finished(nke.Schedule(steps=200)), log.finished(nke.Schedule(steps=400))
            (True, False)
        """
        return self.done >= schedule.steps or len(self.rows) - 1 - self.best_chunk >= schedule.patience

    def record(self, count: int, train: float, held_out: float, seconds: float) -> bool:
        """Notes a chunk.

        Args:
            count: Its steps.
            train: Its mean loss.
            held_out: The held-out loss after it.
            seconds: The time it took.

        Returns:
            Whether its parameters are to be kept.

        Example:
            >>> log = nke.fitting.TrainingLog(best_value=0.6)
            >>> log.record(200, train=0.5, held_out=0.7, seconds=1.0), log.record(200, 0.4, 0.5, 1.0)
            (False, True)
        """
        self.done += count
        self.rows.append((self.done, train, held_out, seconds))
        if better := self.keep_last or held_out < self.best_value:
            self.best_value, self.best_chunk = held_out, len(self.rows) - 1
        return better

    def curve(self, kind: str = "training") -> Curve:
        """Gives the history.

        Args:
            kind: Of the training.

        Returns:
            The history of all chunks.

        Example:
            >>> log = nke.fitting.TrainingLog(rows=[(200, 0.5, 0.6, 1.0), (400, 0.4, 0.5, 1.5)], best_chunk=1)
            >>> log.curve().held_out.tolist(), log.curve().seconds
            ([0.6, 0.5], 2.5)
        """
        steps, train, held_out, seconds = (
            map(np.asarray, zip(*self.rows, strict=True)) if self.rows else [np.array([])] * 4
        )
        return Curve(steps, train, held_out, self.best_chunk, float(seconds.sum()), kind)


class StageCheckpoint(NamedTuple):
    """Where one training of a fit keeps its state.

    Attributes:
        store: The folder.
        stage: Name of the training.

    Example:
        >>> import tempfile
        >>> from nke.fitting.checkpoint import Checkpoint
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     stage = nke.fitting.StageCheckpoint(Checkpoint(folder, "this fit"), "drift")
        ...     print(stage.load(np.zeros(2)))  # nothing was saved yet
        None
    """

    store: Checkpoint
    stage: str

    def save(self, tree: PyTree, log: TrainingLog) -> None:
        """Writes the state, atomically.

        Args:
            tree: Arrays.
            log: How far the training has come.

        Example:
            >>> import tempfile
            >>> from nke.fitting.checkpoint import Checkpoint
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     stage = nke.fitting.StageCheckpoint(Checkpoint(folder, "this fit"), "drift")
            ...     stage.save(np.ones(2), nke.fitting.TrainingLog(done=200))
            ...     stage.load(np.zeros(2))[1].done
            200
        """
        self.store.save(self.stage, tree, asdict(log))

    def load(self, template: PyTree) -> tuple[PyTree, TrainingLog] | None:
        """Reads the state.

        Args:
            template: Arrays of the same structure.

        Returns:
            Arrays and log; None when there are none yet.

        Example:
            >>> import tempfile
            >>> from nke.fitting.checkpoint import Checkpoint
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     stage = nke.fitting.StageCheckpoint(Checkpoint(folder, "this fit"), "drift")
            ...     stage.save(np.ones(2), nke.fitting.TrainingLog())
            ...     stage.load(np.zeros(2))[0].tolist()
            [1.0, 1.0]
        """
        saved = self.store.load(self.stage, template)
        if saved is None:
            return None
        tree, log = saved
        rows = [tuple(row) for row in log.pop("rows")]  # JSON has no tuples
        return tree, TrainingLog(**log, rows=rows)


@dataclass(frozen=True)
class StochasticGradient:
    """AdamW on random batches; parameters are averaged along the way.

    The average with the least held-out loss is kept; the last one where fewer blocks are drawn than there are, since
    nothing can be fitted too closely then. With a checkpoint the state is saved after every chunk, and a later run goes
    on from there to the same result.

    Attributes:
        schedule: How long and how fast.
        key: Of the random batches.
        advance: Callback that receives the number of steps taken.
        watch: Callback that receives the averaged parameters after every chunk.
        checkpoint: Where the state is kept.
        kind: Of the training, for its history.
    """

    schedule: Schedule
    key: PRNGKeyArray
    advance: Callable[[int], None] = lambda steps: None
    watch: Callable[[Any], None] = lambda parameters: None
    checkpoint: StageCheckpoint | None = None
    kind: str = "training"

    def run(self, objective: Loss, start: eqx.Module, data: tuple[Blocks, Blocks]) -> Optimised[Curve]:
        """Minimises the mean of ``objective(parameters, arrays, block)`` over the blocks.

        Args:
            objective: The loss of one block; hashable by value (a function or an equinox Module), so that it compiles
                once.
            start: Parameters to begin with.
            data: Blocks to train on and held out.

        Returns:
            The parameters that were kept, how it ended, and the history.
        """
        schedule, (train, held_out) = self.schedule, data
        trained, fixed = eqx.partition(start, trainable(start))
        state = State(trained, _optimiser(0.0).init(trained), trained, jnp.asarray(0))
        best, log = trained, TrainingLog(keep_last=_drawn(schedule, train) * schedule.steps <= train.blocks)
        if self.checkpoint is not None and (saved := self.checkpoint.load((state, best))):
            (state, best), log = saved
            self.advance(log.done)
        else:
            log.best_value = held_out_loss(objective, start, held_out)
        outcome = Outcome.BUDGET_USED
        while not log.finished(schedule):
            clock = time.perf_counter()
            count = min(CHUNK, schedule.steps - log.done)
            keys = jax.random.split(jax.random.fold_in(self.key, log.done), count)
            rates, decay = schedule.rates(log.done, count), jnp.asarray(schedule.weight_decay, jnp.float32)
            # Runs of another length, rate or decay share the compiled steps.
            same = replace(schedule, steps=1, learning_rate=1.0, weight_decay=0.0)
            chunk = objective, same, state, fixed, train, keys, rates, decay
            state, value = _advance(*chunk)
            if not np.isfinite(value) or not _finite(state.trained):
                state, value = _advance(*chunk, leave_out=True)
            if not np.isfinite(value := float(value)):
                outcome = Outcome.NOT_FINITE
                break
            averaged = eqx.combine(state.averaged, fixed)
            held = held_out_loss(objective, averaged, held_out)
            if log.record(count, value, held, time.perf_counter() - clock):
                best = state.averaged
            self.advance(count)
            self.watch(averaged)
            if self.checkpoint is not None:
                self.checkpoint.save((state, best), log)
        else:
            outcome = Outcome.BUDGET_USED if log.done >= schedule.steps else Outcome.CONVERGED
        self.advance(schedule.steps - log.done)
        return Optimised(eqx.combine(best, fixed), outcome, log.curve(self.kind))


class State(NamedTuple):
    """What a step of the optimisation changes."""

    trained: PyTree[Array]
    optimiser: PyTree
    averaged: PyTree[Array]
    done: Int[Array, ""]


def _optimiser(weight_decay: float | Float[Array, ""]) -> optax.GradientTransformation:
    """AdamW without its learning rate."""
    return optax.chain(
        optax.clip_by_global_norm(1.0),
        optax.scale_by_adam(),
        optax.add_decayed_weights(weight_decay, mask=_network_weights),
    )


@eqx.filter_jit
def _advance(
    loss: Loss, schedule: Schedule, state: State, fixed, train: Blocks, keys, rates, decay, leave_out: bool = False
) -> tuple[State, Float[Array, ""]]:
    """Steps of the optimisation and their mean loss; ``leave_out``: without those whose gradient is not finite.

    A far state may make a gradient infinite. The mean loss is NaN if these are more than half of the steps.
    """
    optimiser = _optimiser(decay)
    drawn = _drawn(schedule, train)

    def step(state: State, key_and_rate: tuple[PRNGKeyArray, Float[Array, ""]]):
        key, rate = key_and_rate
        # One number in each of equal intervals: every batch has its share of every rank.
        uniform = (jnp.arange(drawn) + jax.random.uniform(key, (drawn,))) / drawn
        objective = lambda trained: _weighted_mean(loss, eqx.combine(trained, fixed), train, uniform)  # noqa: E731
        value, gradient = jax.value_and_grad(objective)(state.trained)
        updates, optimiser_state = optimiser.update(gradient, state.optimiser, state.trained)
        trained = jax.tree.map(lambda old, update: old - rate * update, state.trained, updates)
        window = jnp.minimum(1 + state.done / 10, schedule.averaged)
        averaged = jax.tree.map(lambda mean, new: mean + (new - mean) / window, state.averaged, trained)
        new = State(trained, optimiser_state, averaged, state.done + 1)
        if leave_out:
            fine = jnp.isfinite(value) & _finite(gradient)
            new = jax.tree.map(lambda new, old: jnp.where(fine, new, old), new, state._replace(done=new.done))
            value = jnp.where(fine, value, jnp.nan)
        return new, value

    state, values = jax.lax.scan(step, state, (keys, rates))
    if not leave_out:
        return state, jnp.mean(values)
    return state, jnp.where(jnp.mean(jnp.isnan(values)) <= 0.5, jnp.nanmean(values), jnp.nan)


@eqx.filter_jit
def _finite(tree: PyTree[Array]) -> Bool[Array, ""]:
    return jnp.all(jnp.stack([jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(tree)]))


def _drawn(schedule: Schedule, train: Blocks) -> int:
    """Blocks per step."""
    return max(1, round(schedule.particles / train.particles))


def _weighted_mean(loss: Loss, parameters: Any, data: Blocks, uniform: Float[Array, " n"]) -> Float[Array, ""]:
    blocks, weights = data.draw(uniform)
    one = lambda block: loss(parameters, data.arrays, block)  # noqa: E731
    if data.particles < LARGE:
        return jnp.mean(weights * jax.vmap(one)(blocks))
    return jnp.mean(weights * (one(blocks[0])[None] if len(blocks) == 1 else jax.lax.map(one, blocks)))


@eqx.filter_jit
def losses(loss: Loss, parameters: Any, data: Blocks) -> Float[Array, " blocks"]:
    """Computes the loss of every block that an evaluation looks at.

    Args:
        loss: Of one block.
        parameters: Of the law.
        data: The blocks.

    Returns:
        Their losses, in batches of bounded memory.
    """
    at_a_time = 4096
    blocks, _ = data.evaluated()
    one = lambda block: loss(parameters, data.arrays, block)  # noqa: E731
    if data.particles >= LARGE:
        return jax.lax.map(one, blocks)
    batches = -(-len(blocks) * data.particles // at_a_time)
    # Whole batches, the last one filled up: a remainder would be compiled a second time.
    filled = jnp.resize(blocks, (batches, -(-len(blocks) // batches)))
    values = jax.lax.map(jax.vmap(one), filled)
    return values.ravel()[: len(blocks)]


def held_out_loss(loss: Loss, parameters: Any, held_out: Blocks) -> float:
    """Computes the weighted mean of the losses of held-out blocks."""
    return float(jnp.mean(held_out.evaluated()[1] * losses(loss, parameters, held_out)))


def _network_weights(parameters: PyTree) -> PyTree:
    """Weight decay acts on the matrices of the networks, not on biases, skips or the shapes of jumps."""

    def mark(node):
        return jax.tree.map(lambda leaf: isinstance(node, eqx.nn.MLP) and leaf.ndim >= 2, node)

    return jax.tree.map(mark, parameters, is_leaf=lambda node: isinstance(node, eqx.nn.MLP))
