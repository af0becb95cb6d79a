"""Baselines of a size for tests."""

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp

from nke.baselines import SDEGAN, sde_gan
from nke.fitting import Schedule

SIZES = {"width": 16, "depth": 1, "schedule": Schedule(600, learning_rate=1e-2, particles=1024)}
GAN = {"window": 6, "batch": 32, "width": 8, "depth": 1, "hidden": 8, "generator_rate": 3e-3, "critic_rate": 1e-2}
STEPS = 3 * sde_gan.CHUNK


@dataclass(frozen=True)
class Motionless(SDEGAN):
    """Starts without a drift, so that it has one to learn."""

    def generator(self, data, coordinates, seed):
        start = super().generator(data, coordinates, seed)
        return eqx.tree_at(lambda g: g.advection.drift.body.skip, start, replace_fn=halt)


def halt(skip):
    return jax.tree.map(jnp.zeros_like, skip)
