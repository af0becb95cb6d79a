"""Packets as plain lists of transitions."""

from nke.packets import Packets


def packets_of(packets: Packets):
    """Every packet as transitions, through the block's own list of particles."""
    for particles, members in zip(*packets, strict=True):
        for packet in members:
            yield particles[packet]
