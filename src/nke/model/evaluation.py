"""The edge between NumPy and compiled single-state rules: vectorised, in blocks of bounded memory."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key, PRNGKeyArray

from nke.mixtures import GaussianMixture
from nke.operators import Generator, Noise, Splitting, TransitionRule

BLOCK = 1 << 14
PIECES = 50  # of a simulation, at most: enough to tell the time left, at a cost of a millisecond each


def in_blocks(function: Callable, *arrays: np.ndarray, report: Callable[[int], None] = lambda rows: None) -> Any:
    """``function`` on float32 blocks of the arrays (padded to few distinct sizes), as float64 NumPy."""
    count = len(arrays[0])
    size = min(BLOCK, 1 << max(count - 1, 0).bit_length())
    pieces = []
    for start in range(0, max(count, 1), size):
        rows = min(size, count - start)
        block = [np.resize(a[start : start + rows], (size, *a.shape[1:])).astype(np.float32) for a in arrays]
        result = jax.tree.map(lambda leaf, n=rows: np.asarray(leaf[:n], np.float64), function(*block))
        pieces.append(result)
        report(rows)
    return jax.tree.map(lambda *parts: np.concatenate(parts), *pieces)


NOISE_CHANGE, DRIFT_CHANGE = 0.2, 0.5  # of the coefficients over a sub-step, at most
MOST_STATES = 0.9  # share of the states that the sub-steps suit
FINEST = 32


@eqx.filter_jit
def drift(generator: Generator, z: Float[Array, "n d"]) -> Float[Array, "n d"]:
    return jax.vmap(generator.advection.drift)(z)


@eqx.filter_jit
def diffusion(generator: Generator, z: Float[Array, "n d"]) -> Float[Array, "n d d"]:
    return jax.vmap(generator.diffusion.tensor)(z)


@eqx.filter_jit
def jump_rate(generator: Generator, z: Float[Array, "n d"]) -> Float[Array, " n"]:
    assert generator.jump is not None
    return jax.vmap(generator.jump.intensity)(z)


@eqx.filter_jit
def jump_law(generator: Generator, z: Float[Array, "n d"]) -> GaussianMixture:
    assert generator.jump is not None
    return jax.vmap(generator.jump.law)(z)


@eqx.filter_jit
def displacement(
    rule: TransitionRule, generator: Generator, z: Float[Array, "n d"], step: Float[Array, " n"]
) -> GaussianMixture:
    """Law of the next state minus the present one."""
    return jax.vmap(lambda z, step: rule.displacement(generator, z, step))(z, step)


@eqx.filter_jit
def log_prob(
    rule: TransitionRule,
    generator: Generator,
    z: Float[Array, "n d"],
    moved: Float[Array, "n d"],
    step: Float[Array, " n"],
) -> Float[Array, " n"]:
    return jax.vmap(lambda z, moved, step: rule.log_prob(generator, z, moved, step))(z, moved, step)


@eqx.filter_jit
def changes(
    generator: Generator, z: Float[Array, "n d"], step: Float[Array, " #n"], key: PRNGKeyArray
) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
    """By how much of itself the noise factor changes over the noise of a step, and the drift over its drift."""
    f, g = generator.advection.drift, generator.diffusion.factor

    def change(z, step, xi):
        here, drift = g(z), f(z)
        there, later = g(z + jnp.sqrt(step) * here @ xi[: here.shape[1]]), f(z + step * drift)
        return _relative(there - here, here), _relative(later - drift, drift)

    return jax.vmap(change)(z, jnp.broadcast_to(step, z.shape[:1]), jax.random.normal(key, z.shape))


def _relative(change: Float[Array, "..."], whole: Float[Array, "..."]) -> Float[Array, ""]:
    return jnp.sqrt(jnp.sum(change**2) / (jnp.sum(whole**2) + jnp.finfo(whole.dtype).tiny))


def finer(generator: Generator, z: Float[Array, "n d"], step: Float[Array, ""], key: PRNGKeyArray) -> Int[Array, ""]:
    """Into how many parts to cut a step, so that in most states the coefficients change little over each."""
    by_noise, by_drift = changes(generator, z, step[None], key)
    asked = jnp.maximum((by_noise / NOISE_CHANGE) ** 2, by_drift / DRIFT_CHANGE)
    most = jnp.nan_to_num(jnp.nanquantile(asked, MOST_STATES), nan=1.0)
    return jnp.clip(jnp.ceil(most), 1, FINEST).astype(jnp.int32)


def sample(
    generator: Generator,
    splitting: Splitting,
    z: Float[Array, "n d"],
    steps: Float[np.ndarray, " intervals"],
    substeps: Int[np.ndarray, " intervals"],
    key: PRNGKeyArray,
    refine: bool = False,
    report: Callable[[int], None] = lambda intervals: None,
) -> Float[np.ndarray, "intervals n d"]:
    """States at the end of each interval, every interval cut into its own number of sub-steps.

    With ``refine`` the number is multiplied by what the coefficients at the present states ask for. The intervals are
    done in pieces of few distinct sizes, the last filled up with intervals of no sub-steps.
    """
    count = len(steps)
    size = 1 << (-(-count // PIECES) - 1).bit_length()
    pieces = -(-count // size)
    keys = jax.random.split(key, (PIECES, size))  # one program for all counts of a size
    lengths, counts = (np.pad(a, (0, pieces * size - count)).reshape(pieces, size) for a in (steps, substeps))
    states = []
    for i in range(pieces):
        moved = np.asarray(_piece(generator, splitting, z, lengths[i], counts[i], keys[i], refine))
        z, rows = moved[-1], min(size, count - i * size)
        states.append(moved[:rows])
        report(rows)
    return np.concatenate(states)


@eqx.filter_jit
def _piece(
    generator: Generator,
    splitting: Splitting,
    z: Float[Array, "n d"],
    steps: Float[Array, " intervals"],
    substeps: Int[Array, " intervals"],
    keys: Key[Array, " intervals"],
    refine: bool,
) -> Float[Array, "intervals n d"]:
    n, d = z.shape

    def substep(i, carry):
        z, step, key = carry
        keys = jax.random.split(jax.random.fold_in(key, i), 4)
        noise = Noise(
            jax.random.normal(keys[0], (n, d)),
            jax.random.uniform(keys[1], (n,)),
            jax.random.normal(keys[2], (n, d)),
            jax.random.rademacher(keys[3], (n, d * (d - 1) // 2), z.dtype),
        )
        moved = jax.vmap(lambda z, noise: splitting.move(generator, z, step, noise))(z, noise)
        return moved, step, key

    def interval(z, inputs):
        step, count, key = inputs
        if refine:
            part = step / jnp.maximum(count, 1)
            count = count * finer(generator, z, part, jax.random.fold_in(key, 2**31))
        z, _, _ = jax.lax.fori_loop(0, count, substep, (z, step / jnp.maximum(count, 1), key))
        return z, z

    return jax.lax.scan(interval, z, (steps, substeps, keys))[1]
