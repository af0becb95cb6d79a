"""The one optimisation loop: AdamW in compiled chunks, the best held-out parameters kept."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from nke.fitting.checkpoint import Checkpoint
from nke.fitting.progress import Stage
from nke.operators import trainable

CHUNK = 200  # optimisation steps per compiled call
EVALUATED = 4096  # particles at a time when the held-out loss is computed
CLIP = 1.0  # of the gradient's norm


@dataclass(frozen=True)
class Schedule:
    """How long and how fast to train; the rate falls along a half cosine."""

    steps: int = 3000
    learning_rate: float = 3e-3
    weight_decay: float = 1e-4
    patience: int = 5  # chunks without a better held-out loss before stopping
    particles: int = 2048  # per step, in whole blocks of packets

    def __post_init__(self):
        if self.steps < 1 or self.learning_rate <= 0 or self.weight_decay < 0 or self.particles < 1:
            raise ValueError(f"expected positive steps, rate and particles, and weight decay ≥ 0; got {self}")

    def optimiser(self) -> optax.GradientTransformation:
        rate = optax.cosine_decay_schedule(self.learning_rate, self.steps, alpha=0.01)
        return optax.chain(
            optax.clip_by_global_norm(CLIP),
            optax.adamw(rate, weight_decay=self.weight_decay, mask=_is_matrix),
        )


class Curve(NamedTuple):
    """History of one minimisation."""

    steps: Int[np.ndarray, " chunks"]
    train: Float[np.ndarray, " chunks"]
    held_out: Float[np.ndarray, " chunks"]
    best: int  # index of the chunk whose parameters were kept
    seconds: float
    compile_seconds: float


class Blocks(NamedTuple):
    """Data of a loss (any arrays), the number of blocks to draw from and the particles in each."""

    arrays: PyTree[Array]
    blocks: int
    particles: int


Loss = Callable[[Any, PyTree[Array], Int[Array, ""]], Float[Array, ""]]


def minimise(
    loss: Loss,
    start: eqx.Module,
    train: Blocks,
    held_out: Blocks,
    schedule: Schedule,
    key: PRNGKeyArray,
    report: Callable[[int], None] = lambda steps: None,
    checkpoint: "StageCheckpoint | None" = None,
) -> tuple[Any, Curve]:
    """Minimises the mean of ``loss(parameters, arrays, block)`` over the blocks.

    ``loss`` must be hashable by value (a function or an equinox Module), so that it compiles once. With a
    checkpoint the state is saved after every chunk, and a later call goes on from there to the same result.
    """
    trained, fixed = eqx.partition(start, trainable(start))
    state = schedule.optimiser().init(trained)
    best, run = trained, Run()
    if checkpoint is not None and (saved := checkpoint.load((trained, state, best))):
        (trained, state, best), run = saved
        report(run.done)
    else:
        run.best_value = _held_out_loss(loss, start, held_out)
    while not run.finished(schedule):
        clock = time.perf_counter()
        count = min(CHUNK, schedule.steps - run.done)
        keys = jax.random.split(jax.random.fold_in(key, run.done), count)
        trained, state, value = _advance(loss, schedule, trained, fixed, state, train, keys)
        if not np.isfinite(value := float(value)):
            raise FloatingPointError(
                "the loss became NaN or infinite while training; lower the learning rate, or check the data "
                "for a few values that are very far from the rest"
            )
        held = _held_out_loss(loss, eqx.combine(trained, fixed), held_out)
        if run.record(count, value, held, time.perf_counter() - clock):
            best = trained
        report(count)
        if checkpoint is not None:
            checkpoint.save((trained, state, best), run)
    report(schedule.steps - run.done)
    return eqx.combine(best, fixed), run.curve()


@dataclass
class Run:
    """How far a minimisation has come; plain numbers, so that it can be saved."""

    done: int = 0
    best_value: float = float("inf")
    best_chunk: int = -1
    rows: list[tuple[int, float, float, float]] = field(default_factory=list)  # steps, train, held-out, seconds

    def finished(self, schedule: Schedule) -> bool:
        return self.done >= schedule.steps or len(self.rows) - 1 - self.best_chunk >= schedule.patience

    def record(self, count: int, train: float, held_out: float, seconds: float) -> bool:
        """Notes a chunk; whether it is the best so far."""
        self.done += count
        self.rows.append((self.done, train, held_out, seconds))
        if better := held_out < self.best_value:
            self.best_value, self.best_chunk = held_out, len(self.rows) - 1
        return better

    def curve(self) -> Curve:
        steps, train, held_out, seconds = map(np.asarray, zip(*self.rows, strict=True))
        # The first chunk compiled as well as ran; the second only ran.
        compiling = max(0.0, float(seconds[0] - seconds[1])) if len(seconds) > 1 else 0.0
        return Curve(steps, train, held_out, self.best_chunk, float(seconds.sum()), compiling)


class StageCheckpoint(NamedTuple):
    """Where one stage of a fit keeps its state."""

    store: Checkpoint
    stage: str

    def save(self, tree: PyTree, run: Run) -> None:
        self.store.save(self.stage, tree, asdict(run))

    def load(self, template: PyTree) -> tuple[PyTree, Run] | None:
        saved = self.store.load(self.stage, template)
        return None if saved is None else (saved[0], Run(**saved[1]))


class Trainer:
    """Runs the minimisations of one fit in turn and keeps their histories."""

    def __init__(self, schedule: Schedule, key: PRNGKeyArray, stage: Stage, checkpoint: Checkpoint | None = None):
        self.schedule, self.stage, self.checkpoint = schedule, stage, checkpoint
        self._key = key
        self.history: dict[str, Curve] = {}

    def key(self) -> PRNGKeyArray:
        self._key, key = jax.random.split(self._key)
        return key

    def train(self, name: str, loss: Loss, start: Any, blocks: list[Blocks]) -> Any:
        """``blocks`` are the training and the held-out ones."""
        report = self.stage(name, self.schedule.steps)
        training, held_out = blocks
        checkpoint = None if self.checkpoint is None else StageCheckpoint(self.checkpoint, name)
        best, self.history[name] = minimise(
            loss, start, training, held_out, self.schedule, self.key(), report, checkpoint
        )
        return best

    def timings(self) -> dict[str, float]:
        compilation = sum(curve.compile_seconds for curve in self.history.values())
        return {name: curve.seconds for name, curve in self.history.items()} | {"compilation": compilation}


@dataclass(frozen=True)
class FitRun:
    """What every method needs besides the data: seed, progress bar and checkpoint."""

    seed: int
    stage: Stage
    checkpoint: Checkpoint | None = None

    def trainer(self, schedule: Schedule) -> Trainer:
        return Trainer(schedule, jax.random.key(self.seed), self.stage, self.checkpoint)


@eqx.filter_jit
def _advance(loss: Loss, schedule: Schedule, trained, fixed, state, train: Blocks, keys):
    optimiser = schedule.optimiser()
    drawn = max(1, round(schedule.particles / train.particles))

    def objective(parameters, blocks):
        return jnp.mean(jax.vmap(lambda block: loss(parameters, train.arrays, block))(blocks))

    def step(carry, key):
        trained, state = carry
        blocks = jax.random.randint(key, (drawn,), 0, train.blocks)
        value, gradient = jax.value_and_grad(lambda t: objective(eqx.combine(t, fixed), blocks))(trained)
        updates, state = optimiser.update(gradient, state, trained)
        return (optax.apply_updates(trained, updates), state), value

    (trained, state), values = jax.lax.scan(step, (trained, state), keys)
    return trained, state, jnp.mean(values)


def _held_out_loss(loss: Loss, parameters: Any, held_out: Blocks) -> float:
    return float(_mean_loss(loss, parameters, held_out))


@eqx.filter_jit
def _mean_loss(loss: Loss, parameters: Any, blocks: Blocks) -> Float[Array, ""]:
    values = jax.lax.map(
        lambda block: loss(parameters, blocks.arrays, block),
        jnp.arange(blocks.blocks),
        batch_size=max(1, EVALUATED // blocks.particles),
    )
    return jnp.mean(values)


def _is_matrix(parameters: PyTree) -> PyTree:
    """Weight decay acts on matrices, not on biases."""
    return jax.tree.map(lambda leaf: leaf.ndim >= 2, parameters)
