"""The Kolmogorov likelihood: each observed state pushed through the learned equation, the next one scored."""

import time
import warnings
from dataclasses import dataclass, field
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from nke.arrays import cholesky
from nke.data import Coordinates, Trajectories, Transitions
from nke.fitting.jump_detection import find_jumps, has_jumps
from nke.fitting.loop import Blocks, FitRun, Schedule, Trainer
from nke.fitting.result import FitResult
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
)

SENSITIVITY = 3.0  # of the flags from which the jumps start; they play no part in the result
MANY_JUMPS = 0.5  # expected jumps per step above which single jumps can no longer be told apart


class Steps(NamedTuple):
    """Transitions in dimensionless coordinates."""

    x: Float[Array, "t d"]
    displacement: Float[Array, "t d"]
    step: Float[Array, " t"]


class TransitionLoss(eqx.Module):
    """−log p(y | x, s) of one transition: the very density of ``Model.log_prob``."""

    def __call__(self, generator: Generator, data: Steps, i: Int[Array, ""]) -> Float[Array, ""]:
        return -ForwardPacket().displacement(generator, data.x[i], data.step[i]).log_prob(data.displacement[i])


@dataclass(frozen=True)
class Likelihood:
    """Joint maximum likelihood of drift, diffusion and jumps; steps may differ from transition to transition.

    ``diffusion`` is the form of the noise factor, ``components`` the number of Gaussians in the law of one
    jump (``width``, ``depth``: of the networks). The best parameters on a held-out share are kept.
    """

    components: int = 1
    diffusion: type[FullFactor] | type[DiagonalFactor] | type[ConstantFactor] = FullFactor
    width: int = 64
    depth: int = 2
    held_out: float = 0.1
    schedule: Schedule = field(default_factory=lambda: Schedule(particles=1024))

    def __post_init__(self):
        if self.components < 1 or self.width < 1 or self.depth < 1 or not 0 < self.held_out < 1:
            raise ValueError("expected components, width, depth ≥ 1 and held_out between 0 and 1")

    def fit(self, data: Trajectories, coordinates: Coordinates, jumps: bool | None, run: FitRun) -> FitResult:
        clock = time.perf_counter()
        training, checking = (part.transitions() for part in data.split(self.held_out, run.seed))
        decided: dict[str, str] = {}
        if jumps is None:
            jumps, decided["jumps"] = has_jumps(training, coordinates, np.random.default_rng(run.seed))
        trainer = run.trainer(self.schedule)
        start = self._start(training, coordinates, jumps, trainer)
        blocks = [Blocks(_steps(part, coordinates), len(part), 1) for part in (training, checking)]
        prepared = time.perf_counter() - clock
        generator = trainer.train("likelihood", TransitionLoss(), start, blocks)
        model = Model(generator, coordinates, float(np.median(training.step)), data.names, data.units)
        if jumps:
            decided["jump rate"] = _rate_range(model, checking)
        decided["score"] = f"{_score(model, checking):.4f} mean log density per held-out transition"
        return FitResult(model, trainer.history, {"preparation": prepared, **trainer.timings()}, decided)

    def _start(self, training: Transitions, coordinates: Coordinates, jumps: bool, trainer: Trainer) -> Generator:
        """Networks that begin at the data's own averages."""
        moved, step = coordinates.displacement_to(training.displacement), coordinates.step_to(training.step)
        jumped = find_jumps(training, SENSITIVITY) if jumps else np.zeros(len(training), bool)
        calm = moved[~jumped]
        spread = calm.T @ (calm / step[~jumped, None]) / len(calm)
        speed = np.sqrt(np.mean((moved / step[:, None]) ** 2, axis=0))
        sizes = {"width": self.width, "depth": self.depth}
        drift = DriftNetwork(_float32(np.where(speed > 0, speed, 1.0)), **sizes, key=trainer.key())
        factor = self.diffusion(_float32(_factor(spread)), **sizes, key=trainer.key())
        jump = None
        if jumps:
            size = np.sqrt(np.mean((moved[jumped] if jumped.any() else moved) ** 2, axis=0))
            size = _float32(np.maximum(size, 1e-3 * size.max()))
            rate = max(float(jumped.mean()), 1e-5) / float(step.mean())
            jump = PoissonJump(JumpNetwork(size, rate, self.components, **sizes, key=trainer.key()))
        return Generator(Advection(drift), Diffusion(factor), jump)


def _factor(spread: Float[np.ndarray, "d d"]) -> Float[np.ndarray, "d d"]:
    """Lower factor, positive also in coordinates that never move."""
    diagonal = np.diag(spread)
    floor = np.maximum(1e-6 * diagonal, 1e-12 * diagonal.max() if diagonal.any() else 1.0)
    return np.asarray(cholesky(spread + np.diag(floor)))


def _float32(a: np.ndarray) -> Float[Array, "..."]:
    return jnp.asarray(a, jnp.float32)


def _steps(part: Transitions, coordinates: Coordinates) -> Steps:
    return Steps(
        _float32(coordinates.to(part.x)),
        _float32(coordinates.displacement_to(part.displacement)),
        _float32(coordinates.step_to(part.step)),
    )


def _score(model: Model, part: Transitions) -> float:
    return float(model.log_prob(part.y, part.x, part.step).mean())


def _rate_range(model: Model, part: Transitions) -> str:
    """The jump rate in words; warns where steps hold several jumps."""
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
    return f"{middle:.3g} per unit time (5 % to 95 % of the states: {low:.3g} to {high:.3g}), {expected:.2g} a step"
