"""What the kernels know of a gas."""

from typing import NamedTuple


class Gas(NamedTuple):
    density: float  # particles per volume
    spread: float  # σ, of a component of their velocities
    mass_ratio: float  # M/m
    radius: float  # of the sphere
