"""κ_nn-nearest-neighbour packets, laid out so that every particle is evaluated once per step.

Particles come in blocks (the particles of one time step, or those of some packets of the pooled cloud); a
packet is κ_nn positions within its block. A loss evaluates the networks on the block's particles and
averages the values over the packets that hold them. In the pooled cloud neighbouring packets could share particles,
but a batch of such neighbourhoods says little of the rest of the state space, and training took three times as long.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike
from scipy.spatial import KDTree

from nke.errors import InputError

PACKETS_PER_TIME_STEP = 256
PACKETS_PER_PARTICLE = 8  # that hold it, on average, in the pooled cloud
PARTICLES_PER_BLOCK = 1024  # of the pooled cloud
LISTED = 1 << 16  # members of packets that are listed at a time: bounds the memory


class Packets(NamedTuple):
    """Gaussian packets in blocks: which transitions belong to each block, and which of them form a packet.

    Attributes:
        particles: Numbers of the transitions of each block, padded with repeats, shape (blocks, particles).
        members: Positions within the block of the particles of each packet, shape (blocks, packets, neighbours).

    Example:
        >>> from nke.packets import build_packets
        >>> states = np.arange(100.0)[:, None]
        >>> packets = build_packets(states, None, neighbours=3, rng=np.random.default_rng(0))
        >>> first = packets.particles[0][packets.members[0, 0]]  # transitions of the first packet
        >>> np.ptp(states[first])
        np.float64(2.0)
    """

    particles: Int[np.ndarray, "blocks particles"]
    members: Int[np.ndarray, "blocks packets neighbours"]

    def listed(self) -> Iterator[Int[np.ndarray, "packets neighbours"]]:
        """Gives the transitions in each packet, block after block, some packets at a time.

        Example:
            >>> from nke.packets import Packets
            >>> packets = Packets(np.array([[3, 4, 5]]), np.array([[[0, 1], [1, 2]]]))
            >>> [transitions.tolist() for transitions in packets.listed()]
            [[[3, 4], [4, 5]]]
        """
        blocks, count, neighbours = self.members.shape
        at_a_time = max(1, LISTED // (count * neighbours))
        for first in range(0, blocks, at_a_time):
            some = slice(first, first + at_a_time)
            block = np.arange(len(self.members[some]))[:, None, None]
            yield np.asarray(self.particles[some])[block, np.asarray(self.members[some])].reshape(-1, neighbours)


def group_by_time(time: ArrayLike, step: ArrayLike) -> Int[np.ndarray, " t"]:
    """Numbers the time steps that transitions start at; times equal to a millionth of a step agree.

    Args:
        time: When each transition starts, shape (t,).
        step: How long it takes, shape (t,).

    Returns:
        Number of the time step of each transition, in order of time, shape (t,).

    Example:
        >>> group_by_time([0.0, 0.1, 0.2, 0.0, 0.1], np.full(5, 0.1)).tolist()
        [0, 1, 2, 0, 1]
    """
    start = np.asarray(time, np.float64)
    ticks = np.round((start - start.min()) / (1e-6 * np.median(np.asarray(step, np.float64))))
    return np.unique(ticks, return_inverse=True)[1]


def build_packets(
    states: ArrayLike,
    group: ArrayLike | None,
    neighbours: int,
    rng: np.random.Generator,
) -> Packets:
    """Builds packets of the nearest states around randomly selected particles.

    Args:
        states: Start states of the transitions, shape (t, d).
        group: Number of the time step of each transition, shape (t,): neighbours are taken within the same time step,
            as in the paper, around 256 centres each, and time steps with fewer particles than ``neighbours`` are left
            out. None takes neighbours in the pooled cloud of all time steps, in blocks of packets from anywhere.
        neighbours: Number of particles in a packet, κ_nn.
        rng: Generator that draws the centres.

    Returns:
        The packets, in blocks.

    Raises:
        InputError: There are not enough particles for one packet.

    Example:
        >>> states = np.random.default_rng(0).normal(size=(100, 2))
        >>> build_packets(states, np.repeat([0, 1], 50), 8, np.random.default_rng(0)).members.shape
        (2, 256, 8)
    """
    states = np.asarray(states, np.float64)
    if group is None:
        return _pooled(states, neighbours, rng)
    group = np.asarray(group)
    order = np.argsort(group, kind="stable")
    steps = np.split(order, np.flatnonzero(np.diff(group[order])) + 1)
    steps = [peers for peers in steps if len(peers) >= neighbours]
    if not steps:
        raise InputError(
            f"expected at least {neighbours} trajectories observed at the same time, but every time step has "
            "fewer; pool the time steps (MomentMatching(pool=True)) or take fewer neighbours"
        )
    blocks = [(peers, _nearest(states[peers], neighbours, rng)) for peers in steps]
    return _stack(blocks)


def _nearest(
    states: Float[np.ndarray, "t d"], neighbours: int, rng: np.random.Generator
) -> Int[np.ndarray, "packets neighbours"]:
    """Finds the nearest states around centres drawn from them."""
    count = PACKETS_PER_TIME_STEP
    centres = rng.choice(len(states), count, replace=len(states) < count)
    return KDTree(states).query(states[centres], neighbours)[1].reshape(count, neighbours)


def _pooled(states: Float[np.ndarray, "t d"], neighbours: int, rng: np.random.Generator) -> Packets:
    """Builds packets in the cloud of all states, in blocks of packets from anywhere in it."""
    if len(states) < neighbours:
        raise InputError(f"expected at least {neighbours} transitions to form a packet, but got {len(states)}")
    packets = max(1, PARTICLES_PER_BLOCK // neighbours)
    blocks = max(1, round(PACKETS_PER_PARTICLE * len(states) / neighbours / packets))
    count = blocks * packets
    centres = rng.choice(len(states), count, replace=len(states) < count)
    nearest = KDTree(states).query(states[centres], neighbours, workers=-1)[1]
    members = np.arange(packets * neighbours, dtype=np.int32).reshape(packets, neighbours)
    return Packets(nearest.astype(np.int32).reshape(blocks, -1), np.broadcast_to(members, (blocks, *members.shape)))


def _stack(blocks: list[tuple[np.ndarray, np.ndarray]]) -> Packets:
    """Stacks blocks of particles and members, repeating the last particle of the shorter ones."""
    width = max(len(particles) for particles, _ in blocks)
    padded = [np.pad(particles, (0, width - len(particles)), mode="edge") for particles, _ in blocks]
    return Packets(np.stack(padded).astype(np.int32), np.stack([m for _, m in blocks]).astype(np.int32))
