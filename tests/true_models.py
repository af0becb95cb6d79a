"""Models that have the coefficients of a known system."""

import numpy as np

from nke.data import Coordinates
from nke.model import Model
from nke.operators import Advection, Diffusion, Generator, PoissonJump
from nke.systems import System


def true_model(system: System, step: float) -> Model:
    """The system's own coefficients as a model in raw coordinates."""
    jump = PoissonJump.from_functions(system.jump_rate, system.jump_law) if system.has_jumps else None
    generator = Generator(Advection(system.drift), Diffusion.from_tensor(system.diffusion), jump)
    d = system.dimension
    return Model(generator, Coordinates(np.zeros(d), np.ones(d), 1.0), step, system.names, ("",) * d)
