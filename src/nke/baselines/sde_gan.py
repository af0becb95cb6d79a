"""SDE-GAN (Kidger et al., 2021): a neural SDE that a neural CDE cannot tell from the data."""

import time
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, Key, PRNGKeyArray, PyTree

from nke.arrays import cholesky
from nke.baselines.no_jumps import NO_JUMPS, refuse_jumps
from nke.baselines.windows import Windows
from nke.data import Coordinates, Trajectories
from nke.fitting import FitResult
from nke.fitting.loop import FitRun, Run, StageCheckpoint
from nke.fitting.start import start_without_jumps
from nke.model import Model
from nke.operators import (
    Advection,
    Diffusion,
    DriftNetwork,
    Euler,
    EulerMaruyama,
    FullFactor,
    Generator,
    trainable,
)

if TYPE_CHECKING:
    from nke.baselines.adversaries import Critic

CHUNK = 50  # steps of both players per compiled call
CHECKED = 512  # held-out windows, and how long they are at most
LONGEST = 100
CLIP = 1.0  # of the gradient's norm
STAGE = "sde-gan"
AVERAGED = 0.5  # share of the steps, the last ones, over which the generator is averaged


@dataclass(frozen=True)
class SDEGAN:
    """Wasserstein GAN: the generator is dx = f(x) dt + g(x) dW, the critic a neural CDE with clipped weights.

    Trained on windows of ``window`` steps of the data that begin at its own states, for ``steps`` updates of both or
    ``seconds``, whichever is over first; ``batch`` windows an update. ``width`` and ``depth`` are those of the
    generator's networks, ``hidden`` the size of the critic's state and layers. The average of the generator with the
    least W1 to held-out windows is kept. Stopped by the clock, a fit is not the same on another machine.
    """

    steps: int = 6000
    seconds: float = 480.0
    window: int = 32
    batch: int = 128
    width: int = 64
    depth: int = 2
    hidden: int = 32
    generator_rate: float = 1e-3
    critic_rate: float = 3e-3
    weight_decay: float = 1e-4
    held_out: float = 0.1

    def __post_init__(self):
        counts = ("steps", "window", "batch", "width", "depth", "hidden")
        if wrong := [name for name in counts if getattr(self, name) < 1]:
            raise ValueError(f"expected {', '.join(wrong)} ≥ 1; got {self}")
        if min(self.seconds, self.generator_rate, self.critic_rate) <= 0 or self.weight_decay < 0:
            raise ValueError(f"expected seconds and learning rates > 0 and weight_decay ≥ 0; got {self}")
        if not 0 < self.held_out < 1:
            raise ValueError(f"expected held_out between 0 and 1, but got {self.held_out}; 0.1 holds out a tenth")

    def fit(self, data: Trajectories, coordinates: Coordinates, jumps: bool | None, run: FitRun) -> FitResult:
        refuse_jumps(jumps, self)
        clock = time.perf_counter()
        players = require_diffrax()
        training, checking = data.split(self.held_out, run.seed)
        windows = Windows.of(training, coordinates, self.window)
        held_out = Windows.of(checking, coordinates, LONGEST)
        keys = jax.random.split(jax.random.key(run.seed), 4)
        generator = self.generator(training, coordinates, keys[0])
        critic = players.Critic(data.dimension, self.hidden, self.hidden, 1, key=keys[1]).clipped()
        prepared = time.perf_counter() - clock
        best, kept = self._play(generator, critic, windows, Check(held_out, keys[2]), keys[3], run)
        step = float(np.median(training.transitions().step))
        model = Model(best, coordinates, step, data.names, data.units, EulerMaruyama(), Euler())
        decided = {
            "data": f"{len(windows.starts)} windows of {windows.length} steps to train, {len(held_out.starts)} of "
            f"{held_out.length} held out",
            "jumps": NO_JUMPS,
            "method": f"SDE-GAN with clipped weights; full noise matrix; networks of {self.depth} × {self.width}, "
            f"critic of size {self.hidden}; held-out loss is W1",
            "stopped": f"by the clock: {self.seconds:g} s were over after {kept.done} of {self.steps} steps"
            if kept.done < self.steps
            else f"after all {self.steps} steps",
        }
        curve = kept.curve()
        return FitResult(model, {STAGE: curve}, {"preparation": prepared, STAGE: curve.seconds}, decided)

    def generator(self, data: Trajectories, coordinates: Coordinates, key: PRNGKeyArray) -> Generator:
        """Networks in the data's own units of speed and noise; no drift at the start."""
        seen = data.transitions()
        moved, step = coordinates.displacement_to(seen.displacement), coordinates.step_to(seen.step)
        speed = np.sqrt(np.mean(moved**2, axis=0)) / np.sqrt(np.mean(step))
        speed, noise = np.where(speed > 0, speed, 1.0), cholesky(start_without_jumps(moved, step).spread)
        keys, sizes = jax.random.split(key), (self.width, self.depth)
        return Generator(
            Advection(DriftNetwork(jnp.asarray(speed, jnp.float32), *sizes, key=keys[0])),
            Diffusion(FullFactor(jnp.asarray(noise, jnp.float32), *sizes, key=keys[1])),
        )

    def _play(
        self, generator: Generator, critic: "Critic", windows: Windows, check: "Check", key: PRNGKeyArray, run: FitRun
    ) -> tuple[Generator, Run]:
        """Updates in compiled chunks until steps or seconds are over; the best average and how it went."""
        began = time.perf_counter()
        rules = replace(self, steps=1, seconds=1.0)  # runs of another length share the compiled updates
        trained, fixed = eqx.partition((generator, critic), (trainable(generator), trainable(critic)))
        state, best, done = self._start(trained), trained[0], Run()
        store = None if run.checkpoint is None else StageCheckpoint(run.checkpoint, STAGE)
        report = run.stage(STAGE, self.steps)
        if store is not None and (saved := store.load((state, best))):
            (state, best), done = saved
            began -= sum(row[-1] for row in done.rows)
            report(done.done)
        else:
            done.best_value = check(generator)
        while done.done < self.steps and (not done.rows or time.perf_counter() - began < self.seconds):
            clock = time.perf_counter()
            count = min(CHUNK, self.steps - done.done)
            keys = jax.random.split(jax.random.fold_in(key, done.done), count)
            state, gap = _advance(rules, state, fixed, windows, keys)
            averaged = eqx.combine(state.averaged, fixed[0])
            if done.record(count, float(gap), check(averaged), time.perf_counter() - clock):
                best = state.averaged
            report(count)
            run.watch(averaged)
            if store is not None:
                store.save((state, best), done)
        report(self.steps - done.done)
        return eqx.combine(best, fixed[0]), done

    def _start(self, trained: tuple[PyTree, PyTree]) -> "State":
        optimisers = tuple(player.init(part) for player, part in zip(self.optimisers(), trained, strict=True))
        return State(trained, optimisers, trained[0], jnp.asarray(0))

    def optimisers(self) -> tuple[optax.GradientTransformation, optax.GradientTransformation]:
        """Of generator and critic: AdamW without momentum, which would chase where the other player was."""

        def player(rate: float) -> optax.GradientTransformation:
            return optax.chain(
                optax.clip_by_global_norm(CLIP),
                optax.adamw(rate, b1=0.0, b2=0.99, weight_decay=self.weight_decay),
            )

        return player(self.generator_rate), player(self.critic_rate)


class State(NamedTuple):
    """What an update changes; ``trained`` are generator and critic."""

    trained: tuple[PyTree[Array], PyTree[Array]]
    optimisers: tuple[PyTree, ...]
    averaged: PyTree[Array]
    done: Int[Array, ""]


@eqx.filter_jit
def _advance(
    method: SDEGAN, state: State, fixed, windows: Windows, keys: Key[Array, " n"]
) -> tuple[State, Float[Array, ""]]:
    """As many updates of both players as there are keys, and the mean gap between their scores of data and samples."""
    from nke.baselines.adversaries import Critic, generate

    def gap(trained, times, paths, key) -> Float[Array, ""]:
        generator, critic = eqx.combine(trained, fixed)
        made = generate(generator, times, paths[0], key)
        return jnp.mean(critic(times, paths)) - jnp.mean(critic(times, made))

    def update(state: State, key: PRNGKeyArray):
        choose, noise = jax.random.split(key)
        index = jax.random.randint(choose, (method.batch,), 0, len(windows.starts))
        value, (down, up) = jax.value_and_grad(gap)(state.trained, *windows.take(index), noise)
        gradients = (down, jax.tree.map(jnp.negative, up))
        moved = [
            player.update(gradient, memory, part)
            for player, gradient, memory, part in zip(
                method.optimisers(), gradients, state.optimisers, state.trained, strict=True
            )
        ]
        generator, critic = (
            eqx.apply_updates(part, change) for part, (change, _) in zip(state.trained, moved, strict=True)
        )
        assert isinstance(critic, Critic)
        window = 1 + AVERAGED * state.done
        averaged = jax.tree.map(lambda mean, new: mean + (new - mean) / window, state.averaged, generator)
        memories = tuple(memory for _, memory in moved)
        return State((generator, critic.clipped()), memories, averaged, state.done + 1), value

    state, values = jax.lax.scan(update, state, keys)
    return state, jnp.mean(values)


class Check:
    """W1 between held-out windows and as many generated from the same starts: per row and coordinate, averaged."""

    def __init__(self, windows: Windows, key: PRNGKeyArray):
        spread = np.linspace(0, len(windows.starts) - 1, min(CHECKED, len(windows.starts))).astype(np.int32)
        self.times, self.paths = windows.take(jnp.asarray(spread))
        self.key = key

    def __call__(self, generator: Generator) -> float:
        from nke.baselines.adversaries import generate

        made = generate(generator, self.times, self.paths[0], self.key)
        gap = np.abs(np.sort(np.asarray(made), axis=1) - np.sort(np.asarray(self.paths), axis=1))
        return float(np.mean(gap)) if np.isfinite(gap).all() else float("inf")


def require_diffrax() -> Any:
    """The players, which need Diffrax."""
    try:
        return import_module("nke.baselines.adversaries")
    except ModuleNotFoundError as error:
        if error.name != "diffrax":
            raise
        raise ModuleNotFoundError(
            "expected Diffrax, which SDEGAN solves its equations with, but it is not installed; "
            "install it: pip install 'nke[baselines]'",
            name="diffrax",
        ) from error
