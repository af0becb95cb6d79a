"""The one optimisation loop: AdamW in compiled chunks, the best held-out parameters kept."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from nke.errors import InputError
from nke.fitting.checkpoint import Checkpoint
from nke.operators import trainable
from nke.progress import Progress

CHUNK = 200  # optimisation steps per compiled call
EVALUATED = 4096  # particles at a time when the held-out loss is computed
MOST_LEFT_OUT = 0.5  # of the steps in a chunk, because a far state made their gradient infinite
CHECKED = 1 << 15  # held-out particles at most: more would cost more than they tell
CLIP = 1.0  # of the gradient's norm


@dataclass(frozen=True)
class Schedule:
    """How long and how fast to train; the rate falls along a half cosine."""

    steps: int = 3000
    learning_rate: float = 3e-3
    weight_decay: float = 1e-4
    patience: int = 5  # chunks without a better held-out loss before stopping
    particles: int = 2048  # per step, in whole blocks of packets
    averaged: int = 100  # steps over which the parameters are averaged (exponentially), at most a tenth of those done

    def __post_init__(self):
        if min(self.steps, self.patience, self.particles, self.averaged) < 1:
            raise InputError(f"expected steps, patience, particles and averaged of at least 1; got {self}")
        if self.learning_rate <= 0 or self.weight_decay < 0:
            raise InputError(f"expected a learning rate > 0 and weight decay ≥ 0; got {self}")

    def rates(self, done: int, count: int) -> Float[Array, " count"]:
        """Learning rates of the next steps."""
        falling = (1 + np.cos(np.pi * (done + np.arange(count)) / self.steps)) / 2
        return jnp.asarray(self.learning_rate * (0.01 + 0.99 * falling), jnp.float32)


def _optimiser(weight_decay: float | Float[Array, ""]) -> optax.GradientTransformation:
    """AdamW without its learning rate."""
    return optax.chain(
        optax.clip_by_global_norm(CLIP),
        optax.scale_by_adam(),
        optax.add_decayed_weights(weight_decay, mask=_network_weights),
    )


class Curve(NamedTuple):
    """History of one minimisation."""

    steps: Int[np.ndarray, " chunks"]
    train: Float[np.ndarray, " chunks"]
    held_out: Float[np.ndarray, " chunks"]
    best: int  # index of the chunk whose parameters were kept
    seconds: float
    kind: str = "training"  # or "trial": a short run that only compares candidates


class Blocks(NamedTuple):
    """Data of a loss (any arrays), the number of blocks to draw from and the particles in each.

    With ``skew`` γ > 1 a block of relative rank v ∈ (0, 1) is drawn with density v^{1/γ − 1}/γ: the first
    ones, which should be the most telling, come more often, and their weights γ v^{1 − 1/γ} make up for it.
    """

    arrays: PyTree[Array]
    blocks: int
    particles: int
    skew: float = 1.0

    def draw(self, uniform: Float[Array, " n"]) -> tuple[Int[Array, " n"], Float[Array, " n"]]:
        """Indices and weights of n blocks from n numbers spread over (0, 1)."""
        index = (self.blocks * uniform**self.skew).astype(jnp.int32)
        return jnp.minimum(index, self.blocks - 1), self.skew * uniform ** (self.skew - 1)


Loss = Callable[[Any, PyTree[Array], Int[Array, ""]], Float[Array, ""]]


def minimise(
    loss: Loss,
    start: eqx.Module,
    train: Blocks,
    held_out: Blocks,
    schedule: Schedule,
    key: PRNGKeyArray,
    report: Callable[[int], None] = lambda steps: None,
    watch: Callable[[Any], None] = lambda parameters: None,
    checkpoint: "StageCheckpoint | None" = None,
) -> tuple[Any, Curve]:
    """Minimises the mean of ``loss(parameters, arrays, block)`` over the blocks.

    The parameters are averaged along the way, and the average with the least held-out loss is returned; the
    last one where fewer blocks are drawn than there are, since nothing can be fitted too closely then.
    ``report`` hears of the steps done, ``watch`` of the averaged parameters after every chunk.
    ``loss`` must be hashable by value (a function or an equinox Module), so that it compiles once. With a
    checkpoint the state is saved after every chunk, and a later call goes on from there to the same result.
    """
    trained, fixed = eqx.partition(start, trainable(start))
    state = State(trained, _optimiser(0.0).init(trained), trained, jnp.asarray(0))
    best, run = trained, Run(keep_last=_drawn(schedule, train) * schedule.steps <= train.blocks)
    if checkpoint is not None and (saved := checkpoint.load((state, best))):
        (state, best), run = saved
        report(run.done)
    else:
        run.best_value = _held_out_loss(loss, start, held_out)
    while not run.finished(schedule):
        clock = time.perf_counter()
        count = min(CHUNK, schedule.steps - run.done)
        keys = jax.random.split(jax.random.fold_in(key, run.done), count)
        rates, decay = schedule.rates(run.done, count), jnp.asarray(schedule.weight_decay, jnp.float32)
        # Runs of another length, rate or decay share the compiled steps.
        same = replace(schedule, steps=1, learning_rate=1.0, weight_decay=0.0)
        chunk = loss, same, state, fixed, train, keys, rates, decay
        state, value = _advance(*chunk)
        if not np.isfinite(value) or not _finite(state.trained):
            state, value = _advance(*chunk, leave_out=True)
        if not np.isfinite(value := float(value)):
            raise FloatingPointError(
                "the loss became NaN or infinite while training; lower the learning rate, or check the data "
                "for a few values that are very far from the rest"
            )
        averaged = eqx.combine(state.averaged, fixed)
        held = _held_out_loss(loss, averaged, held_out)
        if run.record(count, value, held, time.perf_counter() - clock):
            best = state.averaged
        report(count)
        watch(averaged)
        if checkpoint is not None:
            checkpoint.save((state, best), run)
    report(schedule.steps - run.done)
    return eqx.combine(best, fixed), run.curve()


class State(NamedTuple):
    """What a step of the optimisation changes."""

    trained: PyTree[Array]
    optimiser: PyTree
    averaged: PyTree[Array]
    done: Int[Array, ""]


@dataclass
class Run:
    """How far a minimisation has come; plain numbers, so that it can be saved."""

    keep_last: bool = False
    done: int = 0
    best_value: float = float("inf")
    best_chunk: int = -1
    rows: list[tuple[int, float, float, float]] = field(default_factory=list)  # steps, train, held-out, seconds

    def finished(self, schedule: Schedule) -> bool:
        return self.done >= schedule.steps or len(self.rows) - 1 - self.best_chunk >= schedule.patience

    def record(self, count: int, train: float, held_out: float, seconds: float) -> bool:
        """Notes a chunk; whether its parameters are to be kept."""
        self.done += count
        self.rows.append((self.done, train, held_out, seconds))
        if better := self.keep_last or held_out < self.best_value:
            self.best_value, self.best_chunk = held_out, len(self.rows) - 1
        return better

    def curve(self) -> Curve:
        steps, train, held_out, seconds = map(np.asarray, zip(*self.rows, strict=True))
        return Curve(steps, train, held_out, self.best_chunk, float(seconds.sum()))


class StageCheckpoint(NamedTuple):
    """Where one stage of a fit keeps its state."""

    store: Checkpoint
    stage: str

    def save(self, tree: PyTree, run: Run) -> None:
        self.store.save(self.stage, tree, asdict(run))

    def load(self, template: PyTree) -> tuple[PyTree, Run] | None:
        saved = self.store.load(self.stage, template)
        if saved is None:
            return None
        tree, run = saved
        rows = [tuple(row) for row in run.pop("rows")]  # JSON has no tuples
        return tree, Run(**run, rows=rows)


class Trainer:
    """Runs the minimisations of one fit in turn and keeps their histories."""

    def __init__(self, schedule: Schedule, run: "FitRun"):
        self.schedule, self.run = schedule, run
        self._key = jax.random.key(run.seed)
        self.history: dict[str, Curve] = {}
        self._seconds: dict[str, float] = {}

    def key(self) -> PRNGKeyArray:
        self._key, key = jax.random.split(self._key)
        return key

    def train(
        self,
        name: str,
        loss: Loss,
        start: Any,
        blocks: list[Blocks],
        steps: int | None = None,
        kind: str = "training",
    ) -> Any:
        """``blocks`` are the training and the held-out ones; ``steps`` of a shorter run; ``kind`` that of its curve."""
        run, (training, held_out) = self.run, blocks
        schedule = self.schedule if steps is None else replace(self.schedule, steps=min(steps, self.schedule.steps))
        report = run.stage(name, schedule.steps)
        checkpoint = None if run.checkpoint is None else StageCheckpoint(run.checkpoint, name)
        best, curve = minimise(loss, start, training, held_out, schedule, self.key(), report, run.watch, checkpoint)
        self.history[name] = curve._replace(kind=kind)
        return best

    @contextmanager
    def clock(self, name: str) -> Iterator[None]:
        """Times what is no training."""
        begun = time.perf_counter()
        yield
        self._seconds[name] = self._seconds.get(name, 0.0) + time.perf_counter() - begun

    def timings(self) -> dict[str, float]:
        return self._seconds | {name: curve.seconds for name, curve in self.history.items()}


@dataclass(frozen=True)
class FitRun:
    """What every method needs besides the data: seed, progress bar, checkpoint, an observer of the training."""

    seed: int
    stage: Progress
    checkpoint: Checkpoint | None = None
    watch: Callable[[Any], None] = lambda parameters: None

    def trainer(self, schedule: Schedule) -> Trainer:
        return Trainer(schedule, self)


@eqx.filter_jit
def _advance(
    loss: Loss, schedule: Schedule, state: State, fixed, train: Blocks, keys, rates, decay, leave_out: bool = False
) -> tuple[State, Float[Array, ""]]:
    """Steps of the optimisation and their mean loss; ``leave_out``: without those whose gradient is not finite.

    That is NaN if they are more than ``MOST_LEFT_OUT``.
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
    return state, jnp.where(jnp.mean(jnp.isnan(values)) <= MOST_LEFT_OUT, jnp.nanmean(values), jnp.nan)


def _finite(tree: PyTree[Array]) -> Bool[Array, ""]:
    return jnp.all(jnp.stack([jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(tree)]))


def _drawn(schedule: Schedule, train: Blocks) -> int:
    """Blocks per step."""
    return max(1, round(schedule.particles / train.particles))


def _weighted_mean(loss: Loss, parameters: Any, data: Blocks, uniform: Float[Array, " n"]) -> Float[Array, ""]:
    blocks, weights = data.draw(uniform)
    return jnp.mean(weights * jax.vmap(lambda block: loss(parameters, data.arrays, block))(blocks))


@eqx.filter_jit
def losses(loss: Loss, parameters: Any, data: Blocks) -> Float[Array, " blocks"]:
    """Of every block, or of as many as ``CHECKED`` allows; the same blocks for any parameters."""
    blocks, _ = checked(data)
    batches = -(-len(blocks) * data.particles // EVALUATED)
    # Whole batches, the last one filled up: a remainder would be compiled a second time.
    filled = jnp.resize(blocks, (batches, -(-len(blocks) // batches)))
    values = jax.lax.map(jax.vmap(lambda block: loss(parameters, data.arrays, block)), filled)
    return values.ravel()[: len(blocks)]


def _held_out_loss(loss: Loss, parameters: Any, held_out: Blocks) -> float:
    return float(jnp.mean(checked(held_out)[1] * losses(loss, parameters, held_out)))


def checked(data: Blocks) -> tuple[Int[Array, " n"], Float[Array, " n"]]:
    """All blocks, or as many as ``CHECKED`` allows, spread evenly over the ranks; with their weights."""
    most = max(1, CHECKED // data.particles)
    if data.blocks <= most:
        return jnp.arange(data.blocks), jnp.ones(data.blocks)
    return data.draw((jnp.arange(most) + 0.5) / most)


def _network_weights(parameters: PyTree) -> PyTree:
    """Weight decay acts on the matrices of the networks, not on biases, skips or the shapes of jumps."""

    def mark(node):
        return jax.tree.map(lambda leaf: isinstance(node, eqx.nn.MLP) and leaf.ndim >= 2, node)

    return jax.tree.map(mark, parameters, is_leaf=lambda node: isinstance(node, eqx.nn.MLP))
