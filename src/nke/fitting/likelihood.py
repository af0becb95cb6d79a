"""The Kolmogorov likelihood: each observed state pushed through the learned equation, the next one scored."""

import time
import warnings
from dataclasses import dataclass, field
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from scipy.stats import poisson

from nke.arrays import cholesky
from nke.data import Coordinates, Trajectories, Transitions
from nke.fitting.jump_detection import has_jumps
from nke.fitting.loop import Blocks, FitRun, Loss, Schedule, Trainer
from nke.fitting.result import FitResult
from nke.fitting.start import motion_size, start_with_jumps, start_without_jumps
from nke.model import Model
from nke.operators import (
    Advection,
    ConstantFactor,
    DiagonalFactor,
    Diffusion,
    DriftNetwork,
    ForwardPacket,
    FullFactor,
    Generator,
    JumpNetwork,
    PoissonJump,
    TransitionRule,
)

SOME = 100_000  # transitions that averages of the data are taken over
SKEW = 2.0  # preference for large motions in the batches of a fit with jumps: see docs/design.md
WEIGHT_DECAY = 0.15  # of the networks' matrices
PATIENCE = 15  # chunks: the last, slow steps are mostly the best, so a fit hardly ever stops early
MANY_JUMPS = 0.5  # expected jumps per step above which single jumps can no longer be told apart
SMALL_JUMPS = 1.5  # size of a jump over the noise of a step below which it cannot be told from diffusion
NEGLECTED = 2e-3  # chance of more jumps in a step than the Poisson series tells apart
MOST_TERMS = 16  # components for one number of jumps


class Steps(NamedTuple):
    """Transitions in dimensionless coordinates."""

    x: Float[Array, "t d"]
    displacement: Float[Array, "t d"]
    step: Float[Array, " t"]


class TransitionLoss(eqx.Module):
    """−log p(y | x, s) of one transition: the very density of ``Model.log_prob``."""

    rule: TransitionRule

    def __call__(self, generator: Generator, data: Steps, i: Int[Array, ""]) -> Float[Array, ""]:
        return -self.rule.displacement(generator, data.x[i], data.step[i]).log_prob(data.displacement[i])


@dataclass(frozen=True)
class Likelihood:
    """Joint maximum likelihood of drift, diffusion and jumps; steps may differ from transition to transition.

    ``diffusion`` is the form of the noise factor, ``components`` the number of Gaussians in the law of one
    jump (``width``, ``depth``: of the networks). The best parameters on a held-out share are kept. ``rule`` is
    the discrete model of one step. Without a ``schedule`` training takes 1000 steps per coordinate, at most 3000;
    one of your own replaces all of the default one, its weight decay and patience too.
    """

    components: int = 1
    diffusion: type[FullFactor] | type[DiagonalFactor] | type[ConstantFactor] = FullFactor
    width: int = 64
    depth: int = 2
    held_out: float = 0.1
    rule: TransitionRule = field(default_factory=ForwardPacket)
    schedule: Schedule | None = None

    def __post_init__(self):
        if self.components < 1 or self.width < 1 or self.depth < 1 or not 0 < self.held_out < 1:
            raise ValueError("expected components, width, depth ≥ 1 and held_out between 0 and 1")

    def fit(self, data: Trajectories, coordinates: Coordinates, jumps: bool | None, run: FitRun) -> FitResult:
        clock = time.perf_counter()
        training, checking = (part.transitions() for part in data.split(self.held_out, run.seed))
        decided = {
            "data": f"{len(training)} transitions to train, {len(checking)} held out",
            "method": f"Kolmogorov likelihood by {type(self.rule).__name__}; noise {self.diffusion.__name__}; "
            f"networks of {self.depth} × {self.width}",
        }
        some = _some(training, np.random.default_rng(run.seed))
        if jumps is None:
            jumps, decided["jumps"] = has_jumps(some, coordinates, np.random.default_rng(run.seed))
        trainer = run.trainer(self.schedule or _schedule(data.dimension))
        start = self._start(some, coordinates, jumps, trainer)
        blocks = [_blocks(part, coordinates, SKEW if jumps else 1.0) for part in (training, checking)]
        prepared = time.perf_counter() - clock
        generator = trainer.train("likelihood", self.loss(), start, blocks)
        model = Model(generator, coordinates, float(np.median(some.step)), data.names, data.units, self.rule)
        checked = _some(checking, np.random.default_rng(run.seed))
        if jumps:
            decided |= jumps_in_words(model, checked)
        decided["score"] = f"{_score(model, checked):.4f} mean log density per held-out transition"
        return FitResult(model, trainer.history, {"preparation": prepared, **trainer.timings()}, decided)

    def loss(self) -> Loss:
        return TransitionLoss(self.rule)

    def _start(self, some: Transitions, coordinates: Coordinates, jumps: bool, trainer: Trainer) -> Generator:
        """Networks that begin at the data's own averages."""
        moved, step = coordinates.displacement_to(some.displacement), coordinates.step_to(some.step)
        begin = start_with_jumps(moved, step) if jumps else start_without_jumps(moved, step)
        speed = np.sqrt(np.mean((moved / step[:, None]) ** 2, axis=0))
        sizes = {"width": self.width, "depth": self.depth}
        drift = DriftNetwork(_float32(np.where(speed > 0, speed, 1.0)), **sizes, key=trainer.key())
        factor = self.diffusion(_float32(cholesky(begin.spread)), **sizes, key=trainer.key())
        jump = None
        if jumps:
            typical = float(np.median(step))
            size, noise = np.sqrt(np.diag(begin.jump)), np.sqrt(typical) * np.asarray(cholesky(begin.spread))
            network = JumpNetwork(
                _float32(size), _float32(noise), begin.rate, self.components, **sizes, key=trainer.key()
            )
            jump = PoissonJump(network, series_order(begin.rate * typical, self.components))
        return Generator(Advection(drift), Diffusion(factor), jump)


def _schedule(dimension: int) -> Schedule:
    """Functions of fewer variables are learned in fewer steps."""
    return Schedule(min(1000 * dimension, 3000), weight_decay=WEIGHT_DECAY, patience=PATIENCE, particles=1024)


def series_order(expected: float, components: int) -> int:
    """How many jumps per step to tell apart: more happen with a chance of at most ``NEGLECTED``.

    At least one, at most four, and no more than ``MOST_TERMS`` components for any number of jumps.
    """
    order = 1
    while order < 4 and components ** (order + 1) <= MOST_TERMS and poisson.sf(order, expected) > NEGLECTED:
        order += 1
    return order


def _some(part: Transitions, rng: np.random.Generator) -> Transitions:
    """All of a part, or as many at random as averages need."""
    return part if len(part) <= SOME else part.take(np.sort(rng.choice(len(part), SOME, replace=False)))


def _float32(a: np.ndarray) -> Float[Array, "..."]:
    return jnp.asarray(a, jnp.float32)


def _blocks(part: Transitions, coordinates: Coordinates, skew: float) -> Blocks:
    """Transitions by falling size of the motion: every batch then has its share of large and small ones."""
    moved, step = coordinates.displacement_to(part.displacement), coordinates.step_to(part.step)
    order = _largest_first(motion_size(moved, step))
    steps = Steps(_float32(coordinates.to(part.x)[order]), _float32(moved[order]), _float32(step[order]))
    return Blocks(steps, len(part), 1, skew)


def _largest_first(size: Float[np.ndarray, " t"]) -> Int[np.ndarray, " t"]:
    """Indices by falling size, told apart to 16 bits: a radix sort takes a fifth of the time of a full one."""
    typical = np.median(size) or 1.0
    return np.argsort((np.iinfo(np.uint16).max * (typical / (typical + size))).astype(np.uint16), kind="stable")


def _score(model: Model, part: Transitions) -> float:
    return float(model.log_prob(part.y, part.x, part.step).mean())


def jumps_in_words(model: Model, part: Transitions) -> dict[str, str]:
    """Rate and size of the jumps; warns where they cannot be trusted."""
    assert isinstance(model.generator.jump, PoissonJump)
    assert isinstance(model.generator.jump.measure, JumpNetwork)
    rate = model.jump_rate(part.x)
    low, middle, high = np.quantile(rate, [0.05, 0.5, 0.95])
    expected = float((rate * part.step).mean())
    if expected > MANY_JUMPS:
        warnings.warn(
            f"{expected:.2g} jumps are expected per step of the data: single jumps cannot be told apart and the law "
            "of one jump is not to be trusted; record with a shorter step",
            UserWarning,
            stacklevel=2,
        )
    network = model.generator.jump.measure
    size = np.asarray(network.size_over_noise(*network.shapes()))
    if size.min() < SMALL_JUMPS:
        warnings.warn(
            f"jumps of {size.min():.2g} times the noise of one step were found: jumps so small cannot be told from "
            "diffusion, so their rate and size are not to be trusted; record with a shorter step, or fit with "
            "jumps=False",
            UserWarning,
            stacklevel=2,
        )
    return {
        "jump rate": f"{middle:.3g} per unit time (5 % to 95 % of the states: {low:.3g} to {high:.3g}), "
        f"{expected:.2g} a step",
        "jump size": ", ".join(f"{s:.3g}" for s in size) + " times the noise of a step, component by component",
    }
