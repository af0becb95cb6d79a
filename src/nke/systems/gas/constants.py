"""The numbers of a gas that the kernels need."""

from typing import NamedTuple


class Gas(NamedTuple):
    """A sphere in an ideal gas.

    Attributes:
        density: Particles per volume.
        spread: Standard deviation σ of a component of their velocities.
        mass_ratio: Mass of the sphere in masses of a particle.
        radius: Radius of the sphere.
    """

    density: float
    spread: float
    mass_ratio: float
    radius: float
