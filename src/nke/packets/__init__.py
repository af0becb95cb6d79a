"""Gaussian packets: clusters of neighbouring particles, and the split into jumps and the rest."""

from nke.packets.jump_split import GAUSSIAN_CONSISTENCY, excess_kurtosis, jump_flags, jump_flags_by_time
from nke.packets.neighbours import PACKETS_PER_PARTICLE, Packets, build_packets, group_by_time

__all__ = [
    "GAUSSIAN_CONSISTENCY",
    "PACKETS_PER_PARTICLE",
    "Packets",
    "build_packets",
    "excess_kurtosis",
    "group_by_time",
    "jump_flags",
    "jump_flags_by_time",
]
