"""The one optimisation loop: AdamW in compiled chunks, the best held-out parameters kept."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from nke.fitting.progress import Stage
from nke.operators import trainable

CHUNK = 200  # optimisation steps per compiled call
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
) -> tuple[Any, Curve]:
    """Minimises the mean of ``loss(parameters, arrays, block)`` over the blocks.

    ``loss`` must be hashable by value (a function or an equinox Module), so that it compiles once.
    """
    began = time.perf_counter()
    parameters, state = start, schedule.optimiser().init(eqx.filter(start, trainable(start)))
    best, best_value, best_chunk = start, _held_out_loss(loss, start, held_out), -1
    compile_seconds = 0.0
    rows: list[tuple[int, float, float]] = []
    done = 0
    while done < schedule.steps:
        count = min(CHUNK, schedule.steps - done)
        keys = jax.random.split(jax.random.fold_in(key, done), count)
        clock = time.perf_counter()
        parameters, state, value = _advance(loss, schedule, parameters, state, train, keys)
        value = float(value)
        if done == 0:
            compile_seconds = time.perf_counter() - clock
        elif done == CHUNK:
            # The first chunk compiled as well as ran; the second only ran.
            compile_seconds = max(0.0, compile_seconds - (time.perf_counter() - clock))
        done += count
        rows.append((done, value, _held_out_loss(loss, parameters, held_out)))
        report(count)
        if not np.isfinite(value):
            raise FloatingPointError(
                "the loss became NaN or infinite while training; lower the learning rate, or check the data "
                "for a few values that are very far from the rest"
            )
        if rows[-1][2] < best_value:
            best, best_value, best_chunk = parameters, rows[-1][2], len(rows) - 1
        elif len(rows) - 1 - best_chunk >= schedule.patience:
            report(schedule.steps - done)
            break
    steps, trained, held = map(np.asarray, zip(*rows, strict=True))
    return best, Curve(steps, trained, held, best_chunk, time.perf_counter() - began, compile_seconds)


class Trainer:
    """Runs the minimisations of one fit in turn and keeps their histories."""

    def __init__(self, schedule: Schedule, key: PRNGKeyArray, stage: Stage):
        self.schedule, self.stage = schedule, stage
        self._key = key
        self.history: dict[str, Curve] = {}

    def key(self) -> PRNGKeyArray:
        self._key, key = jax.random.split(self._key)
        return key

    def train(self, name: str, loss: Loss, start: Any, blocks: list[Blocks]) -> Any:
        """``blocks`` are the training and the held-out ones."""
        report = self.stage(name, self.schedule.steps)
        training, held_out = blocks
        best, self.history[name] = minimise(loss, start, training, held_out, self.schedule, self.key(), report)
        return best

    def timings(self) -> dict[str, float]:
        compilation = sum(curve.compile_seconds for curve in self.history.values())
        return {name: curve.seconds for name, curve in self.history.items()} | {"compilation": compilation}


@eqx.filter_jit
def _advance(loss: Loss, schedule: Schedule, parameters, state, train: Blocks, keys):
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

    trained, fixed = eqx.partition(parameters, trainable(parameters))
    (trained, state), values = jax.lax.scan(step, (trained, state), keys)
    return eqx.combine(trained, fixed), state, jnp.mean(values)


def _held_out_loss(loss: Loss, parameters: Any, held_out: Blocks) -> float:
    return float(_mean_loss(loss, parameters, held_out))


@eqx.filter_jit
def _mean_loss(loss: Loss, parameters: Any, blocks: Blocks) -> Float[Array, ""]:
    values = jax.lax.map(lambda block: loss(parameters, blocks.arrays, block), jnp.arange(blocks.blocks))
    return jnp.mean(values)


def _is_matrix(parameters: PyTree) -> PyTree:
    """Weight decay acts on matrices, not on biases."""
    return jax.tree.map(lambda leaf: leaf.ndim >= 2, parameters)
