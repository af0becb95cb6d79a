"""Laws far from any that training would find, and the mass of a density on a grid."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from nke.mixtures import GaussianMixture
from nke.operators import (
    Advection,
    Diffusion,
    DriftNetwork,
    FullFactor,
    Generator,
    JumpNetwork,
    PoissonJump,
    trainable,
)


def wild_generator(d: int, seed: int, jumps: bool, size: float = 1.0) -> Generator:
    """Networks with large random weights: steep drift, strongly varying noise and rate."""
    keys = jax.random.split(jax.random.key(seed), 3)
    parts = [DriftNetwork(jnp.ones(d), 16, 2, key=keys[0]), FullFactor(jnp.eye(d), 16, 2, key=keys[1])]
    parts.append(JumpNetwork(jnp.ones(d), 0.1 * jnp.eye(d), 2.0, 2, 16, 2, key=keys[2]))
    rng = np.random.default_rng(seed)
    trained, fixed = eqx.partition(parts, trainable(parts))
    shaken = jax.tree.map(lambda leaf: leaf + jnp.asarray(size * rng.normal(size=leaf.shape), leaf.dtype), trained)
    drift, factor, jump = eqx.combine(shaken, fixed)
    return Generator(Advection(drift), Diffusion(factor), PoissonJump(jump) if jumps else None)


def total_mass(law: GaussianMixture) -> float:
    """∫p by the trapezoidal rule on a product grid that resolves every component to ten standard deviations."""
    deviations = np.sqrt(np.diagonal(law.covariances, axis1=-2, axis2=-1))
    count = 400 if law.dimension == 1 else 150
    grids = [
        np.unique(np.linspace(m - 10 * sd, m + 10 * sd, count)) for m, sd in zip(law.means.T, deviations.T, strict=True)
    ]
    mesh = np.stack(np.meshgrid(*grids, indexing="ij"), axis=-1)
    density = np.exp(law.log_prob(mesh))
    for grid in reversed(grids):
        density = np.trapezoid(density, grid, axis=-1)
    return float(density)
