"""Models built from the true coefficients of known systems, in any units."""

from functools import cache

import jax.numpy as jnp
import numpy as np

from nke.data import Coordinates
from nke.model import Model
from nke.operators import (
    Advection,
    Diffusion,
    Generator,
    PoissonJump,
)

FLOAT32 = 2e-6
UNITS = Coordinates(shift=np.array([3.0, -20.0]), scale=np.array([0.5, 40.0]), time_unit=0.25)


@cache
def true_generator(system, coordinates):
    """The system's own coefficients, expressed in the dimensionless coordinates of the model.

    z = (x − m)/c, τ = t/u: f_z = u f/c, a_z = u a/(c cᵀ), λ_z = u λ, and jumps are divided by c.
    """
    c = jnp.asarray(coordinates.scale, jnp.float32)
    m = jnp.asarray(coordinates.shift, jnp.float32)
    u = coordinates.time_unit

    def tensor(z):
        return system.diffusion(m + c * z) / c[:, None] / c * u

    jump = None
    if system.has_jumps:
        jump = PoissonJump.from_functions(
            lambda z: system.jump_rate(m + c * z) * u,
            lambda z: system.jump_law(m + c * z).affine(jnp.zeros_like(c), 1 / c),
        )
    return Generator(Advection(lambda z: system.drift(m + c * z) / c * u), Diffusion.from_tensor(tensor), jump)


PLAIN = {d: Coordinates(np.zeros(d), np.ones(d), 1.0) for d in (1, 2, 3)}


def true_model(system, coordinates=None, step=0.02):
    coordinates = coordinates or PLAIN[system.dimension]
    generator = true_generator(system, coordinates)  # shared, so that it compiles once
    return Model(generator, coordinates, step, system.names, ("",) * system.dimension)


def states_of(system, *batch):
    rng = np.random.default_rng(0)
    return np.abs(system.initial(int(np.prod(batch)), rng)).reshape(*batch, system.dimension)


def assert_mean(samples, truth, bias=0.0):
    """The mean over the paths equals the truth, to four standard errors and a stated bias."""
    error = np.abs(samples.mean(axis=0) - truth)
    assert (error <= 4 * samples.std(axis=0) / np.sqrt(len(samples)) + bias).all(), error
