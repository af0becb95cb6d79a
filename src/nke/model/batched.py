"""The edge between NumPy and compiled rules of one state: vectorised, in blocks of bounded memory."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from nke.arrays import compiled
from nke.mixtures import GaussianMixture
from nke.operators import Generator, TransitionRule

BLOCK = 1 << 14


def in_blocks(
    function: Callable,
    *arrays: np.ndarray,
    advance: Callable[[int], None] = lambda rows: None,
    most: int = BLOCK,
) -> Any:
    """The values of ``function`` on float32 blocks of the arrays (padded to few distinct sizes), as float64 NumPy.

    ``advance`` is a callback that receives the number of rows processed, block by block; ``most`` are the rows of a
    block.
    """
    count = len(arrays[0])
    size = min(most, 1 << max(count - 1, 0).bit_length())
    pieces = []
    for start in range(0, max(count, 1), size):
        rows = min(size, count - start)
        block = [np.resize(a[start : start + rows], (size, *a.shape[1:])).astype(np.float32) for a in arrays]
        result = jax.tree.map(lambda leaf, n=rows: np.asarray(leaf)[:n].astype(np.float64), function(*block))
        pieces.append(result)
        advance(rows)
    return jax.tree.map(lambda *parts: np.concatenate(parts), *pieces)


@compiled
def drift(generator: Generator, z: Float[Array, "n d"]) -> Float[Array, "n d"]:
    """The drift at each state."""
    return jax.vmap(generator.advection.drift)(z)


@compiled
def diffusion(generator: Generator, z: Float[Array, "n d"]) -> Float[Array, "n d d"]:
    """The diffusion tensor at each state."""
    return jax.vmap(generator.diffusion.tensor)(z)


@compiled
def jump_rate(generator: Generator, z: Float[Array, "n d"]) -> Float[Array, " n"]:
    """The jump rate at each state, of a generator that has jumps."""
    assert generator.jump is not None
    return jax.vmap(generator.jump.intensity)(z)


@compiled
def jump_law(generator: Generator, z: Float[Array, "n d"]) -> GaussianMixture:
    """The law of one jump at each state, of a generator that has jumps."""
    assert generator.jump is not None
    return jax.vmap(generator.jump.law)(z)


@compiled
def displacement(
    rule: TransitionRule, generator: Generator, z: Float[Array, "n d"], step: Float[Array, " n"]
) -> GaussianMixture:
    """The law of the next state minus the present one."""
    return jax.vmap(lambda z, step: rule.displacement(generator, z, step))(z, step)


@compiled
def log_prob(
    rule: TransitionRule,
    generator: Generator,
    z: Float[Array, "n d"],
    moved: Float[Array, "n d"],
    step: Float[Array, " n"],
) -> Float[Array, " n"]:
    """The log density of each displacement."""
    return jax.vmap(lambda z, moved, step: rule.log_prob(generator, z, moved, step))(z, moved, step)


@eqx.filter_jit  # also within other programs
def relative_changes(
    generator: Generator, z: Float[Array, "n d"], step: Float[Array, " #n"], key: PRNGKeyArray
) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
    """Relative change of the noise factor over the noise of a step, and of the drift over the drift of a step."""
    f, g = generator.advection.drift, generator.diffusion.factor

    def change(z, step, xi):
        here, drift = g(z), f(z)
        there, later = g(z + jnp.sqrt(step) * here @ xi[: here.shape[1]]), f(z + step * drift)
        return _relative(there - here, here), _relative(later - drift, drift)

    return jax.vmap(change)(z, jnp.broadcast_to(step, z.shape[:1]), jax.random.normal(key, z.shape))


@compiled
def step_changes(
    generator: Generator, z: Float[Array, "n d"], step: Float[Array, " n"]
) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
    """Relative change of the drift over a step, and the error that linearising it leaves over the motion of the step.

    With the second difference Δ²f = f(z) − 2f(z + s/2·f) + f(z + s·f) the flow of a drift that is linear along the way
    misses s·Δ²f/6; the motion is √(|s·f|² + s·tr a).
    """
    f, g = generator.advection.drift, generator.diffusion.factor

    def change(z, step):
        now, noise = f(z), g(z)
        half, whole = f(z + step / 2 * now), f(z + step * now)
        motion = jnp.sum((step * now) ** 2) + step * jnp.sum(noise**2)
        missed = jnp.sum((step / 6 * (now - 2 * half + whole)) ** 2)
        return _relative(whole - now, now), jnp.sqrt(missed / (motion + jnp.finfo(z.dtype).tiny))

    return jax.vmap(change)(z, step)


def _relative(change: Float[Array, "..."], whole: Float[Array, "..."]) -> Float[Array, ""]:
    """The size of a change over that of what changes."""
    return jnp.sqrt(jnp.sum(change**2) / (jnp.sum(whole**2) + jnp.finfo(whole.dtype).tiny))
