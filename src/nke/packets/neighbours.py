"""κ_nn-nearest-neighbour packets, laid out so that every particle is evaluated once per step.

Particles come in blocks (the particles of one time step, or a neighbourhood of the pooled cloud); a
packet is κ_nn positions within its block. A loss evaluates the networks on the block's particles and
averages the values over the packets that hold them.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.spatial import KDTree

from nke.errors import InputError

CENTRES = 256  # packets per time step
POOLED_CENTRES = 64  # packets per neighbourhood of the pooled cloud
OVERLAP = 8  # packets that hold a particle, on average, in the pooled cloud


class Packets(NamedTuple):
    particles: Int[np.ndarray, "blocks particles"]  # transitions of each block (padded with repeats)
    members: Int[np.ndarray, "blocks packets neighbours"]  # positions within the block


def group_by_time(time: Float[np.ndarray, " t"], step: Float[np.ndarray, " t"]) -> Int[np.ndarray, " t"]:
    """Number of the time step that each transition starts at; times equal to a millionth of a step agree."""
    ticks = np.round((time - time.min()) / (1e-6 * np.median(step)))
    return np.unique(ticks, return_inverse=True)[1]


def build_packets(
    states: Float[np.ndarray, "t d"],
    group: Int[np.ndarray, " t"] | None,
    neighbours: int,
    rng: np.random.Generator,
) -> Packets:
    """Packets of the ``neighbours`` nearest states around selected particles.

    With ``group`` (the paper): neighbours within the same time step, ``CENTRES`` random centres each; time
    steps with fewer particles than ``neighbours`` are left out. Without: neighbours in the pooled cloud.
    """
    if group is None:
        return _pooled(states, neighbours, rng)
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
    centres = rng.choice(len(states), CENTRES, replace=len(states) < CENTRES)
    return KDTree(states).query(states[centres], neighbours)[1].reshape(CENTRES, neighbours)


def _pooled(states: Float[np.ndarray, "t d"], neighbours: int, rng: np.random.Generator) -> Packets:
    if len(states) < neighbours:
        raise InputError(f"expected at least {neighbours} transitions to form a packet, but got {len(states)}")
    blocks = max(1, round(OVERLAP * len(states) / neighbours / POOLED_CENTRES))
    count = blocks * POOLED_CENTRES
    centres = rng.choice(len(states), count, replace=len(states) < count)
    # The order of a k-d tree keeps neighbours together, so a block shares most of its particles.
    centres = centres[KDTree(states[centres]).indices]
    nearest = KDTree(states).query(states[centres], neighbours, workers=-1)[1]
    parts = []
    for packet in nearest.reshape(blocks, POOLED_CENTRES, neighbours):
        particles, positions = np.unique(packet, return_inverse=True)
        parts.append((particles, positions.reshape(packet.shape)))
    return _stack(parts)


def _stack(blocks: list[tuple[np.ndarray, np.ndarray]]) -> Packets:
    width = max(len(particles) for particles, _ in blocks)
    padded = [np.pad(particles, (0, width - len(particles)), mode="edge") for particles, _ in blocks]
    return Packets(np.stack(padded).astype(np.int32), np.stack([m for _, m in blocks]).astype(np.int32))
