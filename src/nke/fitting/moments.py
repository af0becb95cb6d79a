"""The paper's four steps: packets and jump split, then advection, diffusion and jumps in turn."""

import time
from dataclasses import dataclass, field

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from nke.arrays import cholesky
from nke.data import Coordinates, Trajectories, Transitions
from nke.errors import InputError
from nke.fitting.jump_detection import find_jumps, has_jumps
from nke.fitting.loop import Blocks, FitRun, Schedule, Trainer
from nke.fitting.losses import (
    AdvectionLoss,
    DiffusionLoss,
    JumpLoss,
    Particles,
    covariance_growth,
    jump_clouds,
    mean_growth,
    mean_square_velocity,
)
from nke.fitting.result import FitResult
from nke.model import Model
from nke.operators import (
    Advection,
    ConstantFactor,
    DiagonalFactor,
    Diffusion,
    DriftNetwork,
    FiniteTimeJump,
    FullFactor,
    Generator,
    MixtureDensityNetwork,
)
from nke.packets import build_packets, group_by_time

PRUNE_BELOW = 0.02  # share of all jumps under which a component is dropped


@dataclass(frozen=True)
class MomentMatching:
    """The paper's training: mean motion gives the drift, covariance growth the diffusion, outliers the jumps.

    ``neighbours`` is κ_nn and ``sensitivity`` κ_sens of the paper. ``pool`` forms packets in the cloud of all
    time steps, which suits an autonomous system and measured better; False is the paper's way, each time
    step apart. ``diffusion`` is the form of the noise factor. The finite-time jump law has ``components``
    Gaussians besides "no jump" and a penalty ``smoothness`` on its slope; it needs one common step.
    """

    neighbours: int = 32
    sensitivity: float = 3.0
    pool: bool = True
    diffusion: type[FullFactor] | type[DiagonalFactor] | type[ConstantFactor] = FullFactor
    components: int = 2
    smoothness: float = 1e-3
    width: int = 64
    depth: int = 2
    held_out: float = 0.1
    schedule: Schedule = field(default_factory=Schedule)

    def __post_init__(self):
        if self.neighbours < 2 or self.components < 1 or self.width < 1 or self.depth < 1:
            raise InputError(
                f"expected neighbours ≥ 2 and components, width, depth ≥ 1; got {self.neighbours}, "
                f"{self.components}, {self.width}, {self.depth}"
            )
        if self.sensitivity <= 0 or self.smoothness < 0 or not 0 < self.held_out < 1:
            raise InputError("expected sensitivity > 0, smoothness ≥ 0 and held_out between 0 and 1")

    def fit(self, data: Trajectories, coordinates: Coordinates, jumps: bool | None, run: FitRun) -> FitResult:
        clock = time.perf_counter()
        parts = [part.transitions() for part in data.split(self.held_out, run.seed)]
        rng = np.random.default_rng(run.seed)
        packing = Packing(coordinates, self._neighbours(parts[1]), self.pool, rng)
        decided = {
            "packets": f"{packing.neighbours} neighbours, {'pooled over time' if self.pool else 'each time step apart'}"
        }
        flags = self._split(parts, coordinates, jumps, rng, decided)
        calm = [packing(part.take(~flag)) for part, flag in zip(parts, flags, strict=True)]
        packet_seconds = time.perf_counter() - clock

        trainer = run.trainer(self.schedule)
        advection = self._advection(calm, trainer)
        diffusion = self._diffusion(advection, calm, trainer)
        jump = None
        if flags[0].any():
            marked = [packing(part, flag) for part, flag in zip(parts, flags, strict=True)]
            network = self._jump_network(parts[0].displacement[flags[0]], flags[0].mean(), coordinates, trainer)
            network = self._jumps(advection, diffusion, marked, network, trainer)
            decided["components"] = f"{network.components} of {self.components} carry {PRUNE_BELOW:.0%} or more"
            jump = FiniteTimeJump(network, float(coordinates.step_to(np.asarray(parts[0].regular_step()))))

        step = float(np.median(parts[0].step))
        model = Model(Generator(advection, diffusion, jump), coordinates, step, data.names, data.units)
        return FitResult(model, trainer.history, {"packets": packet_seconds, **trainer.timings()}, decided)

    def _neighbours(self, checking: Transitions) -> int:
        """κ_nn, cut down where the held-out part is smaller than that."""
        group = np.zeros(len(checking), int) if self.pool else group_by_time(checking.time, checking.step)
        neighbours, d = min(self.neighbours, int(np.bincount(group).max())), checking.dimension
        if neighbours <= d + 1:
            raise InputError(
                f"expected more than {d + 1} held-out transitions and neighbours to form packets in {d} dimensions, "
                f"but there are {neighbours}; record more data or take more neighbours"
            )
        return neighbours

    def _split(
        self,
        parts: list[Transitions],
        coordinates: Coordinates,
        jumps: bool | None,
        rng: np.random.Generator,
        decided: dict[str, str],
    ) -> list[Bool[np.ndarray, " t"]]:
        """Which increments of the training and held-out parts are jumps; the reason goes into ``decided``."""
        step, regular = parts[0].step, parts[0].regular_step() is not None
        if jumps and not regular:
            raise InputError(
                "expected one common step to learn a finite-time jump law, but the steps of the data differ "
                f"(from {step.min():g} to {step.max():g}); use nke.Likelihood, which takes them, resample to a "
                "regular step, or pass jumps=False"
            )
        if jumps is None and not regular:
            jumps, decided["jumps"] = False, "none assumed: the steps differ, and a finite-time jump law needs one step"
        if jumps is None:
            jumps, decided["jumps"] = has_jumps(parts[0], coordinates, rng)
        if not jumps:
            return [np.zeros(len(part), bool) for part in parts]
        flags = [find_jumps(part, self.sensitivity) for part in parts]
        share = f"{flags[0].mean():.2%} of the increments exceed {self.sensitivity:g} median deviations"
        decided["jumps"] = "; ".join(filter(None, [decided.get("jumps"), share]))
        return flags

    def _advection(self, calm: list[Particles], trainer: Trainer) -> Advection:
        scale = jnp.sqrt(mean_square_velocity(calm[0]))
        network = DriftNetwork(jnp.where(scale > 0, scale, 1.0), self.width, self.depth, key=trainer.key())
        blocks = [Blocks(part, *part.particles.shape) for part in calm]
        return Advection(trainer.train("advection", AdvectionLoss(), network, blocks))

    def _diffusion(self, advection: Advection, calm: list[Particles], trainer: Trainer) -> Diffusion:
        growth = [eqx.filter_jit(covariance_growth)(advection, part) for part in calm]
        start = _positive_factor(np.asarray(mean_growth(growth[0]), np.float64))
        sizes = np.linalg.norm(start, axis=1)
        network = self.diffusion(jnp.asarray(start, jnp.float32), self.width, self.depth, key=trainer.key())
        loss = DiffusionLoss(jnp.asarray(np.outer(sizes, sizes), jnp.float32) * jnp.mean(calm[0].step))
        blocks = [Blocks(part, *part.data.particles.shape) for part in growth]
        return Diffusion(trainer.train("diffusion", loss, network, blocks))

    def _jump_network(
        self, jumped: Float[np.ndarray, "n d"], share: float, coordinates: Coordinates, trainer: Trainer
    ) -> MixtureDensityNetwork:
        size = np.sqrt(np.mean(coordinates.displacement_to(jumped) ** 2, axis=0))
        size = jnp.asarray(np.maximum(size, 1e-3 * size.max()), jnp.float32)
        probability = float(np.clip(share, 1e-6, 0.5))
        return MixtureDensityNetwork(size, probability, self.components, self.width, self.depth, key=trainer.key())

    def _jumps(
        self,
        advection: Advection,
        diffusion: Diffusion,
        marked: list[Particles],
        network: MixtureDensityNetwork,
        trainer: Trainer,
    ) -> MixtureDensityNetwork:
        clouds = [eqx.filter_jit(jump_clouds)(advection, diffusion, part) for part in marked]
        blocks = [Blocks(cloud, *part.particles.shape) for cloud, part in zip(clouds, marked, strict=True)]
        return _prune(trainer.train("jumps", JumpLoss(self.smoothness), network, blocks), clouds[0].centre)


@dataclass(frozen=True)
class Packing:
    """Transitions → dimensionless particles in packets."""

    coordinates: Coordinates
    neighbours: int
    pool: bool
    rng: np.random.Generator

    def __call__(self, part: Transitions, jumped: Bool[np.ndarray, " t"] | None = None) -> Particles:
        group = None if self.pool else group_by_time(part.time, part.step)
        x = self.coordinates.to(part.x)
        packets = build_packets(x, group, self.neighbours, self.rng)
        return Particles(
            x=jnp.asarray(x, jnp.float32),
            y=jnp.asarray(self.coordinates.to(part.y), jnp.float32),
            displacement=jnp.asarray(self.coordinates.displacement_to(part.displacement), jnp.float32),
            step=jnp.asarray(self.coordinates.step_to(part.step), jnp.float32),
            jumped=jnp.zeros(len(part), bool) if jumped is None else jnp.asarray(jumped),
            particles=jnp.asarray(packets.particles),
            members=jnp.asarray(packets.members),
        )


def _positive_factor(spread: Float[np.ndarray, "d d"]) -> Float[np.ndarray, "d d"]:
    """Lower factor of the data's mean diffusion tensor, lifted where sampling noise made it negative."""
    values, vectors = np.linalg.eigh(spread)
    top = values.max() if values.max() > 0 else 1.0
    return np.asarray(cholesky((vectors * np.maximum(values, 1e-6 * top)) @ vectors.T))


def _prune(network: MixtureDensityNetwork, centres: jax.Array) -> MixtureDensityNetwork:
    """Drops the components that carry almost none of the jumps."""
    h = jax.vmap(network)(centres.reshape(-1, centres.shape[-1]))
    leaving = -jnp.expm1(h.log_no_jump)
    share = np.asarray(leaving @ h.shares / jnp.sum(leaving))
    keep = [k for k in range(network.components) if share[k] >= PRUNE_BELOW]
    return network if len(keep) == network.components else network.prune(keep)
