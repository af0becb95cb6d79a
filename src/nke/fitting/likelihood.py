"""The Kolmogorov likelihood: each observed state pushed through the learned equation, the next one scored."""

import time
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


class Steps(NamedTuple):
    """Transitions in dimensionless coordinates."""

    x: Float[Array, "t d"]
    displacement: Float[Array, "t d"]
    step: Float[Array, " t"]


class TransitionLoss(eqx.Module):
    """−log p(y | x, s) of one transition."""

    rule: ForwardPacket

    def __call__(self, generator: Generator, data: Steps, i: Int[Array, ""]) -> Float[Array, ""]:
        return -self.rule.displacement(generator, data.x[i], data.step[i]).log_prob(data.displacement[i])


@dataclass(frozen=True)
class Likelihood:
    components: int = 1
    diffusion: type[FullFactor] | type[DiagonalFactor] | type[ConstantFactor] = FullFactor
    width: int = 64
    depth: int = 2
    held_out: float = 0.1
    sensitivity: float = 3.0
    schedule: Schedule = field(default_factory=lambda: Schedule(particles=1024))

    def fit(self, data: Trajectories, coordinates: Coordinates, jumps: bool | None, run: FitRun) -> FitResult:
        clock = time.perf_counter()
        training, checking = (part.transitions() for part in data.split(self.held_out, run.seed))
        rng, decided = np.random.default_rng(run.seed), {}
        if jumps is None:
            jumps, decided["jumps"] = has_jumps(training, coordinates, rng)
        trainer = run.trainer(self.schedule)
        start = self._start(training, coordinates, jumps, trainer)
        blocks = [Blocks(_steps(part, coordinates), len(part), 1) for part in (training, checking)]
        prepared = time.perf_counter() - clock
        generator = trainer.train("likelihood", TransitionLoss(ForwardPacket()), start, blocks)
        model = Model(generator, coordinates, float(np.median(training.step)), data.names, data.units)
        return FitResult(model, trainer.history, {"preparation": prepared, **trainer.timings()}, decided)

    def _start(self, training: Transitions, coordinates: Coordinates, jumps: bool, trainer: Trainer) -> Generator:
        """Networks at the data's own averages."""
        moved, step = coordinates.displacement_to(training.displacement), coordinates.step_to(training.step)
        jumped = find_jumps(training, self.sensitivity) if jumps else np.zeros(len(training), bool)
        calm = moved[~jumped]
        spread = calm.T @ (calm / step[~jumped, None]) / len(calm)
        size = np.sqrt(np.diag(spread))
        factor = np.asarray(cholesky(spread + 1e-6 * np.diag(np.diag(spread)) + 1e-12 * np.eye(len(size))))
        drift_scale = np.sqrt(np.mean((moved / step[:, None]) ** 2, axis=0))
        networks = {"width": self.width, "depth": self.depth}
        drift = DriftNetwork(
            jnp.asarray(np.where(drift_scale > 0, drift_scale, 1), jnp.float32), **networks, key=trainer.key()
        )
        diffusion = self.diffusion(jnp.asarray(factor, jnp.float32), **networks, key=trainer.key())
        jump = None
        if jumps:
            big = moved[jumped] if jumped.any() else moved
            jump_size = np.sqrt(np.mean(big**2, axis=0))
            jump_size = np.maximum(jump_size, 1e-3 * jump_size.max())
            rate = max(jumped.mean(), 1e-5) / step.mean()
            network = JumpNetwork(
                jnp.asarray(jump_size, jnp.float32), rate, self.components, **networks, key=trainer.key()
            )
            jump = PoissonJump(network)
        return Generator(Advection(drift), Diffusion(diffusion), jump)


def _steps(part: Transitions, coordinates: Coordinates) -> Steps:
    return Steps(
        jnp.asarray(coordinates.to(part.x), jnp.float32),
        jnp.asarray(coordinates.displacement_to(part.displacement), jnp.float32),
        jnp.asarray(coordinates.step_to(part.step), jnp.float32),
    )
