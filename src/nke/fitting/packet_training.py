"""The paper's training on packets, one function for each step: advection, diffusion, jumps."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from nke.arrays import cholesky
from nke.data import Coordinates, Transitions
from nke.fitting.batches import Blocks, float32
from nke.fitting.initial_networks import FACTORS
from nke.fitting.packet_losses import (
    AdvectionLoss,
    CovarianceGrowth,
    DiffusionLoss,
    ForwardLoss,
    JumpLoss,
    Particles,
    covariance_growth,
    evaluate,
    jump_clouds,
    linear_drift,
    mean_growth,
    mean_square_velocity,
)
from nke.fitting.rules import SelectionRules
from nke.fitting.stochastic import Loss, losses
from nke.fitting.training import Trainer
from nke.operators import Advection, Diffusion, DriftNetwork, KinematicConstraint, MixtureDensityNetwork
from nke.packets import PACKETS_PER_PARTICLE, build_packets, group_by_time

MOST_COMPARED = 1 << 17  # particles on which a network is compared with its start
NOISE_FORMS = ("constant", "plain", "diagonal")  # those that need no size of the state


@dataclass(frozen=True)
class Packing:
    """Forms packets of transitions, in dimensionless coordinates.

    Neighbours are near in what the law depends on, and what moves is what is to be learned: no positions that follow
    their velocities.

    Attributes:
        coordinates: Those of training.
        neighbours: κ_nn, the particles of a packet.
        pool: Whether packets are formed in the cloud of all time steps.
        rng: Source of random numbers.
        constraint: What is known of positions and velocities.
    """

    coordinates: Coordinates
    neighbours: int
    pool: bool
    rng: np.random.Generator
    constraint: KinematicConstraint | None = None

    def __call__(self, part: Transitions, jumped: Bool[np.ndarray, " t"] | None = None) -> Particles:
        """Forms the packets of a part of the data.

        Args:
            part: Transitions.
            jumped: Which of them are jumps; None: none.

        Returns:
            Particles and the packets that hold them.
        """
        group = None if self.pool else group_by_time(part.time, part.step)
        x, y = self.coordinates.to(part.x), self.coordinates.to(part.y)
        free = list(range(x.shape[1]) if self.constraint is None else self.constraint.free)
        seen = (lambda state: state) if self.constraint is None else self.constraint.seen
        packets = build_packets(seen(x), group, self.neighbours, self.rng)
        return Particles(
            x=float32(seen(x)),
            y=float32(seen(y)),
            free=float32(x[:, free]),
            displacement=float32(self.coordinates.displacement_to(part.displacement)[:, free]),
            step=float32(self.coordinates.step_to(part.step)),
            jumped=jnp.zeros(len(part), bool) if jumped is None else jnp.asarray(jumped),
            particles=jnp.asarray(packets.particles),
            members=jnp.asarray(packets.members),
        )


def train_advection(
    calm: list[Particles], width: int, depth: int, rules: SelectionRules, trainer: Trainer
) -> Advection:
    """Learns the drift from the mean motion of packets.

    Args:
        calm: Packets without jumps, to train on and held out.
        width: Units of a layer.
        depth: Hidden layers.
        rules: What the network must gain over a straight line.
        trainer: Runs the training.

    Returns:
        The advection.
    """
    speed = np.sqrt(mean_square_velocity(calm[0]))
    scale, inputs = float32(np.where(speed > 0, speed, 1.0)), calm[0].x.shape[1]
    network = DriftNetwork(scale, width, depth, inputs=inputs, key=trainer.key())
    network = network.starting_from(*map(float32, linear_drift(calm[0])))
    learned = _train("advection", AdvectionLoss(), network, calm, trainer)
    return Advection(_better(ForwardLoss(), network, learned, calm[1], rules.round_gain_errors))


def train_diffusion(
    advection: Advection,
    calm: list[Particles],
    noise: str,
    width: int,
    depth: int,
    rules: SelectionRules,
    trainer: Trainer,
) -> Diffusion:
    """Learns the diffusion from the growth of packet covariances.

    Args:
        advection: The learned drift.
        calm: Packets without jumps, to train on and held out.
        noise: Form of the noise, one of ``NOISE_FORMS``.
        width: Units of a layer.
        depth: Hidden layers.
        rules: What the network must gain over constant noise.
        trainer: Runs the training.

    Returns:
        The diffusion.
    """
    growth = [covariance_growth(advection, part) for part in calm]
    start = _positive_factor(mean_growth(growth[0]))
    sizes, inputs = np.linalg.norm(start, axis=1), calm[0].x.shape[1]
    network = FACTORS[noise](float32(start), width, depth, inputs=inputs, key=trainer.key())
    loss = DiffusionLoss(float32(np.outer(sizes, sizes)) * jnp.mean(calm[0].step))
    learned = _train("diffusion", loss, network, growth, trainer)
    return Diffusion(_better(loss, network, learned, growth[1], rules.round_gain_errors))


def train_jumps(
    advection: Advection,
    diffusion: Diffusion,
    marked: list[Particles],
    network: MixtureDensityNetwork,
    smoothness: float,
    rules: SelectionRules,
    trainer: Trainer,
) -> MixtureDensityNetwork:
    """Learns the law of displacements by jumps over one step.

    Args:
        advection: The learned drift.
        diffusion: The learned diffusion.
        marked: Packets with flags for jumps, to train on and held out.
        network: Where it starts.
        smoothness: Penalty on its slope.
        rules: Least width of a packet, and least share of all jumps of a component that is kept.
        trainer: Runs the training.

    Returns:
        The network without components that hardly any jump uses.
    """
    # In units of a packet no jump is then larger than 1/resolution, whose square single precision still resolves.
    deviation = np.std(np.asarray(marked[0].free, np.float64), axis=0)
    resolution = rules.resolution * np.maximum(deviation, np.asarray(network.scale.value, np.float64))
    clouds = [jump_clouds(advection, diffusion, part, resolution) for part in marked]
    training, held_out = (Blocks(cloud, *part.particles.shape) for cloud, part in zip(clouds, marked, strict=True))
    learned = trainer.train("jumps", JumpLoss(smoothness), network, (training, held_out))
    return _prune(learned, clouds[0].centre, rules.least_component_share)


def initial_jump_network(
    jumps: Float[np.ndarray, "n r"],
    share: float,
    components: int,
    inputs: int,
    width: int,
    depth: int,
    trainer: Trainer,
) -> MixtureDensityNetwork:
    """Builds the jump network at the size and share of the jumps that were found.

    Args:
        jumps: Their displacements, in the coordinates of training.
        share: Of the increments that are jumps.
        components: Gaussians besides "no jump".
        inputs: Number of coordinates of the state, as the law sees it.
        width: Units of a layer.
        depth: Hidden layers.
        trainer: Gives the random key.

    Returns:
        The network.
    """
    size = np.sqrt(np.mean(jumps**2, axis=0))
    size = float32(np.maximum(size, 1e-3 * size.max()))
    probability = float(np.clip(share, 1e-6, 0.5))
    return MixtureDensityNetwork(size, probability, components, width, depth, inputs, key=trainer.key())


def _train(name: str, loss: Loss, start: Any, parts: list[Any], trainer: Trainer) -> Any:
    training, held_out = (_blocks(part) for part in parts)
    return trainer.train(name, loss, start, (training, held_out))


def _better(loss: Loss, start: Any, learned: Any, held_out: Any, errors: float) -> Any:
    """Takes a network where it is ahead of its start on held-out packets by so many standard errors.

    A packet shares its particles with others, so that there are fewer independent blocks than there are blocks.
    """
    blocks = _blocks(held_out)._replace(most_evaluated=MOST_COMPARED)
    gain = np.asarray(losses(loss, start, blocks) - losses(loss, learned, blocks), np.float64)
    error = gain.std() / np.sqrt(max(len(gain) / PACKETS_PER_PARTICLE, 1.0))
    return learned if gain.mean() > errors * error else start


def _blocks(part: Particles | CovarianceGrowth) -> Blocks:
    particles = part if isinstance(part, Particles) else part.data
    return Blocks(part, *particles.particles.shape)


def _positive_factor(spread: Float[np.ndarray, "d d"]) -> Float[np.ndarray, "d d"]:
    """Lower factor of the data's mean diffusion tensor, lifted where sampling noise made it negative."""
    values, vectors = np.linalg.eigh(spread)
    top = values.max() if values.max() > 0 else 1.0
    return np.asarray(cholesky((vectors * np.maximum(values, 1e-6 * top)) @ vectors.T))


def _prune(network: MixtureDensityNetwork, centres: jax.Array, least_share: float) -> MixtureDensityNetwork:
    """Drops the components that carry almost none of the jumps."""

    def jumps_by_component(x):
        h = network(x)
        return -jnp.expm1(h.log_no_jump) * h.shares

    jumps = evaluate(jumps_by_component, centres.reshape(-1, centres.shape[-1])).sum(axis=0)
    share = jumps / jumps.sum()
    keep = [k for k in range(network.components) if share[k] > least_share]
    return network if len(keep) == network.components else network.prune(keep)
