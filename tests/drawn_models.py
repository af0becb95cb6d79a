"""Models with known coefficients in any dimension, and data to draw them beside."""

from functools import cache

import jax.numpy as jnp
import numpy as np

from nke.data import Coordinates, Trajectories
from nke.mixtures import GaussianMixture
from nke.model import Model
from nke.operators import Advection, Diffusion, Generator, PoissonJump


@cache
def linear(dimension, jumps=True):
    """f = −x, a = I/4 and rare standard normal jumps: in raw coordinates, so that the model is cheap to build."""
    law = GaussianMixture(jnp.ones(1), jnp.zeros((1, dimension)), jnp.eye(dimension)[None])
    jump = PoissonJump.from_functions(lambda z: 0.3 + 0.0 * z[0], lambda z: law) if jumps else None
    generator = Generator(Advection(lambda z: -z), Diffusion.from_tensor(lambda z: jnp.eye(dimension) / 4), jump)
    names = tuple(f"q{i}" for i in range(dimension))
    coordinates = Coordinates(np.zeros(dimension), np.ones(dimension), 1.0)
    return Model(generator, coordinates, 0.1, names, ("mm",) * dimension, unit_of_time="s")


def recorded(dimension, ragged=False):
    states = np.random.default_rng(0).standard_normal((60, 6, dimension)).cumsum(axis=1)
    times = 0.1 * np.arange(6)
    if ragged:
        return Trajectories([s[: 2 + m % 5] for m, s in enumerate(states)], [times[: 2 + m % 5] for m in range(60)])
    return Trajectories(states, times)


def words(figure):
    """All text in a figure."""
    return "\n".join(text.get_text() for text in figure.findobj(lambda artist: hasattr(artist, "get_text")))
