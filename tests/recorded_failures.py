"""An Ornstein–Uhlenbeck process in the plane, its true model, and recordings on which a model is not to be trusted.

Exact discrete paths, so that nothing is compiled but the model: dX = −X dt + G dW with correlated noise, step 0.1.
"""

from functools import cache

import jax.numpy as jnp
import numpy as np

import nke
from nke.data import Coordinates
from nke.model import Model
from nke.operators import Advection, Diffusion, Generator

PATHS, ROWS, STEP = 50, 101, 0.1
FACTOR = np.array([[0.6, 0.0], [0.3, 0.4]])


@cache
def model(rate: float = 1.0, noise: float = 1.0) -> Model:
    generator = Generator(Advection(lambda x: -rate * x), Diffusion(lambda x: noise * jnp.asarray(FACTOR)), None)
    return Model(generator, Coordinates(np.zeros(2), np.ones(2), 1.0), STEP, ("u", "v"), ("", ""))


def states(seed: int = 0, paths: int = PATHS, rows: int = ROWS, noise=lambda row: 1.0) -> np.ndarray:
    """Paths (paths, rows, 2) that start at rest; the noise may change from row to row."""
    rng, decay = np.random.default_rng(seed), np.exp(-STEP)
    lower = FACTOR * np.sqrt((1 - decay**2) / 2)
    x = rng.standard_normal((paths, 2)) @ (FACTOR / np.sqrt(2)).T
    found = [x]
    for row in range(rows - 1):
        x = decay * x + noise(row) * rng.standard_normal((paths, 2)) @ lower.T
        found.append(x)
    return np.stack(found, axis=1)


def recorded(x: np.ndarray, step: float = STEP) -> nke.Trajectories:
    return nke.Trajectories(x, step, names=["u", "v"])


@cache
def right() -> nke.Trajectories:
    return recorded(states())
