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

from nke.baselines.no_jumps import NO_JUMPS, refuse_jumps
from nke.baselines.windows import Windows
from nke.data import Coordinates, Trajectories
from nke.errors import InputError, MissingPackageError
from nke.fitting import Decision, FitResult, FitRun, Likelihood, Schedule, TrainingLog, division, initial_generator
from nke.model import Model
from nke.operators import Euler, EulerMaruyamaRule, Generator, trainable

if TYPE_CHECKING:
    from nke.baselines.adversaries import Critic

CHUNK = 200  # steps of both players per compiled call
CHECKED = 1024  # paths generated from held-out starts, and how many steps they take at most
LONGEST = 100
CLIP = 1.0  # of the gradient's norm
STAGE = "sde-gan"
AVERAGED = 0.5  # share of the steps, the last ones, over which the generator is averaged


@dataclass(frozen=True)
class SDEGAN:
    """Trains a Wasserstein GAN: the generator is dx = f(x) dt + g(x) dW, the critic a neural CDE with clipped weights.

    The generator starts from a linear drift by least squares, both rates fall along a half cosine, and the average of
    the generator with the least W1 to held-out windows is kept: the start, if it is that. Stopped by the clock, a fit
    is not the same on another machine. Needs ``pip install 'nke[baselines]'``.

    Args:
        steps: Updates of both networks at most.
        seconds: Seconds of training at most; whichever is over first ends it.
        window: Steps of the data in one window; windows begin at the states of the data.
        batch: Windows in an update.
        width: Units of each hidden layer of the generator's networks.
        depth: Hidden layers of the generator's networks.
        hidden: Size of the critic's state and of its layers.
        generator_rate: Learning rate of the generator at the start.
        critic_rate: Learning rate of the critic at the start.
        bound: The critic's weights stay within this over the number of a layer's inputs.
        weight_decay: Decay of the weights of both.
        held_out: Share of the trajectories whose windows choose what is kept.

    Raises:
        InputError: If an option is out of its range.

    Example:
        >>> method = nke.baselines.SDEGAN(seconds=60)  # then nke.fit(data, method)
        >>> method.window, method.batch
        (8, 128)
    """

    steps: int = 10_000
    seconds: float = 480.0
    window: int = 8
    batch: int = 128
    width: int = 64
    depth: int = 2
    hidden: int = 32
    generator_rate: float = 3e-4
    critic_rate: float = 3e-3
    bound: float = 4.0
    weight_decay: float = 1e-4
    held_out: float = 0.3

    def __post_init__(self):
        counts = ("steps", "window", "batch", "width", "depth", "hidden")
        if wrong := [name for name in counts if getattr(self, name) < 1]:
            raise InputError(f"expected {', '.join(wrong)} ≥ 1; got {self}")
        if min(self.seconds, self.generator_rate, self.critic_rate, self.bound) <= 0 or self.weight_decay < 0:
            raise InputError(f"expected seconds, learning rates and bound > 0 and weight_decay ≥ 0; got {self}")
        if not 0 < self.held_out < 1:
            raise InputError(f"expected held_out between 0 and 1, but got {self.held_out}; 0.1 holds out a tenth")

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
            ModuleNotFoundError: If Diffrax is not installed.

        Example:
            >>> method = nke.baselines.SDEGAN(steps=1, window=2, batch=4, width=4, depth=1, hidden=4)
            >>> learned = method.fit(data, nke.Coordinates.zscore(data), jumps=None, run=nke.fitting.FitRun(seed=0))
            >>> learned.decision("stopped").answer
            'after all steps'
        """
        refuse_jumps(jumps, self)
        clock = time.perf_counter()
        players = require_diffrax()
        training, checking = data.split(self.held_out, run.seed)
        windows = Windows.of(training, coordinates, self.window)
        held_out = Windows.of(checking, coordinates, LONGEST)
        keys = jax.random.split(jax.random.key(run.seed), 3)
        generator = self.generator(training, coordinates, run.seed)
        critic = players.Critic(data.dimension, self.hidden, key=keys[0]).clipped(self.bound)
        prepared = time.perf_counter() - clock
        best, kept = self._play(generator, critic, windows, Check(held_out, keys[1]), keys[2], run)
        step = float(np.median(training.transitions().step))
        model = Model(best, coordinates, step, data.names, data.units, EulerMaruyamaRule(), Euler())
        decisions = (
            division(len(windows.starts), len(held_out.starts), self.held_out, f"windows of {windows.length} steps"),
            NO_JUMPS,
            Decision(
                "Which law was chosen?",
                f"full noise matrix; networks of {self.depth} × {self.width}",
                {"size of the critic": self.hidden},
                "SDE-GAN with clipped weights; the held-out loss is W1",
                "method",
            ),
            Decision(
                "When did the training end?",
                "when the time was over" if kept.done < self.steps else "after all steps",
                {"steps": kept.done, "steps at most": self.steps, "seconds at most": self.seconds},
                "steps or seconds, whichever is over first",
                "stopped",
            ),
        )
        curve = kept.curve()
        return FitResult(model, {STAGE: curve}, {"preparation": prepared, STAGE: curve.seconds}, decisions)

    def generator(self, data: Trajectories, coordinates: Coordinates, seed: int) -> Generator:
        """Makes the generator that the training starts from.

        Args:
            data: The trajectories.
            coordinates: Those that the training runs in.
            seed: Of the networks' weights.

        Returns:
            Drift by linear least squares and the data's mean noise, where the likelihood begins too.

        Example:
            >>> method = nke.baselines.SDEGAN(width=4, depth=1)
            >>> generator = method.generator(data, nke.Coordinates.zscore(data), seed=0)
            >>> generator.noise_factor.configuration()
            {'kind': 'full', 'width': 4, 'depth': 1}
        """
        keys = iter(jax.random.split(jax.random.key(seed)))
        options = Likelihood(width=self.width, depth=self.depth)
        return initial_generator(data, coordinates, options, lambda: next(keys), seed)

    def _play(
        self, generator: Generator, critic: "Critic", windows: Windows, check: "Check", key: PRNGKeyArray, run: FitRun
    ) -> tuple[Generator, TrainingLog]:
        """Updates in compiled chunks until steps or seconds are over; the best average and how it went."""
        began = time.perf_counter()
        # Runs of another length or rate share the compiled updates.
        rules = replace(self, steps=1, seconds=1.0, generator_rate=1.0, critic_rate=1.0)
        trained, fixed = eqx.partition((generator, critic), (trainable(generator), trainable(critic)))
        state, best, done = self._start(trained), trained[0], TrainingLog()
        store, advance = run.stage_checkpoint(STAGE), run.progress(STAGE, self.steps)
        if store is not None and (saved := store.load((state, best))):
            (state, best), done = saved
            began -= sum(row[-1] for row in done.rows)
            advance(done.done)
        else:
            done.best_value = check(generator)
        while done.done < self.steps and (not done.rows or time.perf_counter() - began < self.seconds):
            clock = time.perf_counter()
            count = min(CHUNK, self.steps - done.done)
            keys = jax.random.split(jax.random.fold_in(key, done.done), count)
            state, gap = _advance(rules, state, fixed, windows, keys, self.rates(done.done, count))
            averaged = eqx.combine(state.averaged, fixed[0])
            if done.record(count, float(gap), check(averaged), time.perf_counter() - clock):
                best = state.averaged
            advance(count)
            run.watch(averaged)
            if store is not None:
                store.save((state, best), done)
        advance(self.steps - done.done)
        return eqx.combine(best, fixed[0]), done

    def _start(self, trained: tuple[PyTree, PyTree]) -> "State":
        return State(trained, tuple(map(self.optimiser().init, trained)), trained[0], jnp.asarray(0))

    def optimiser(self) -> optax.GradientTransformation:
        """Makes the optimiser of either network: AdamW without its rate, and without momentum.

        Momentum would chase where the other player was. Where a path became NaN or infinite, the update is left out.

        Returns:
            The transformation of the gradient.

        Example:
            >>> import jax.numpy as jnp
            >>> optimiser, weights = nke.baselines.SDEGAN(weight_decay=0.5).optimiser(), jnp.array([2.0])
            >>> update, state = optimiser.update(jnp.array([4.0]), optimiser.init(weights), weights)
            >>> round(float(update[0]), 3)  # the sign of the gradient, and 0.5·2 of decay
            2.0
        """
        player = optax.chain(
            optax.clip_by_global_norm(CLIP),
            optax.scale_by_adam(b1=0.0, b2=0.99),
            optax.add_decayed_weights(self.weight_decay),
        )
        return optax.apply_if_finite(player, max_consecutive_errors=2**30)

    def rates(self, done: int, count: int) -> Float[Array, "count 2"]:
        """Computes the learning rates of the next steps, which fall along a half cosine.

        Args:
            done: Steps done before.
            count: Number of steps.

        Returns:
            A row for each step: the rate of the generator and that of the critic.

        Example:
            >>> rates = nke.baselines.SDEGAN(generator_rate=0.1, critic_rate=0.3).rates(0, 1)
            >>> bool(np.allclose(rates, [[0.1, 0.3]]))
            True
        """
        falling = Schedule(self.steps, learning_rate=1.0).rates(done, count)
        return falling[:, None] * jnp.array([self.generator_rate, self.critic_rate])


class State(NamedTuple):
    """What an update changes; ``trained`` are generator and critic."""

    trained: tuple[PyTree[Array], PyTree[Array]]
    optimisers: tuple[PyTree, ...]
    averaged: PyTree[Array]
    done: Int[Array, ""]


@eqx.filter_jit
def _advance(
    method: SDEGAN, state: State, fixed, windows: Windows, keys: Key[Array, " n"], rates: Float[Array, "n 2"]
) -> tuple[State, Float[Array, ""]]:
    """As many updates of both players as there are keys, and the mean gap between their scores of data and samples."""
    from nke.baselines.adversaries import Critic, generate

    def gap(trained, times, paths, key) -> Float[Array, ""]:
        generator, critic = eqx.combine(trained, fixed)
        made = generate(generator, times, paths[0], key)
        scores = critic(jnp.concatenate([times, times], axis=1), jnp.concatenate([paths, made], axis=1))
        true, false = jnp.split(scores, 2)
        return jnp.mean(true) - jnp.mean(false)

    def update(state: State, key_and_rates: tuple[PRNGKeyArray, Float[Array, "2"]]):
        key, rates = key_and_rates
        choose, noise = jax.random.split(key)
        index = jax.random.randint(choose, (method.batch,), 0, len(windows.starts))
        value, (down, up) = jax.value_and_grad(gap)(state.trained, *windows.take(index), noise)
        gradients = (down, jax.tree.map(jnp.negative, up))
        moved = [*map(method.optimiser().update, gradients, state.optimisers, state.trained)]
        generator, critic = (
            optax.apply_updates(part, optax.tree.scale(-rate, change))
            for part, (change, _), rate in zip(state.trained, moved, rates, strict=True)
        )
        assert isinstance(critic, Critic)
        window = 1 + AVERAGED * state.done
        averaged = jax.tree.map(lambda mean, new: mean + (new - mean) / window, state.averaged, generator)
        memories = tuple(memory for _, memory in moved)
        return State((generator, critic.clipped(method.bound)), memories, averaged, state.done + 1), value

    state, values = jax.lax.scan(update, state, (keys, rates))
    return state, jnp.nanmean(values)


class Check:
    """W1 between held-out windows and paths generated from the same starts: per row and coordinate, averaged.

    Several paths from every start, since windows are few: what is left of the chance is the data's, the same for all.
    """

    def __init__(self, windows: Windows, key: PRNGKeyArray):
        count = min(CHECKED, len(windows.starts))
        spread = np.linspace(0, len(windows.starts) - 1, count).astype(np.int32)
        self.times, self.paths = windows.take(jnp.asarray(spread))
        self.repeats, self.key = max(1, CHECKED // count), key

    def __call__(self, generator: Generator) -> float:
        """Measures a generator; infinite where one of its paths is not finite."""
        from nke.baselines.adversaries import generate

        times, start = jnp.tile(self.times, (1, self.repeats)), jnp.tile(self.paths[0], (self.repeats, 1))
        made = np.sort(np.asarray(generate(generator, times, start, self.key)), axis=1)
        true = np.repeat(np.sort(np.asarray(self.paths), axis=1), self.repeats, axis=1)
        gap = np.abs(made - true)
        return float(np.mean(gap)) if np.isfinite(gap).all() else float("inf")


def require_diffrax() -> Any:
    """Imports the players, which need Diffrax."""
    try:
        return import_module("nke.baselines.adversaries")
    except ModuleNotFoundError as error:
        if error.name != "diffrax":
            raise
        raise MissingPackageError(
            "expected Diffrax, which SDEGAN solves its equations with, but it is not installed; "
            "install it: pip install 'nke[baselines]'",
            name="diffrax",
        ) from error
