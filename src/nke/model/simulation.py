"""Simulated paths: many particles carried from one time to the next, in sub-steps as short as the coefficients ask."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key, PRNGKeyArray

from nke.arrays import compiled
from nke.model.batched import relative_changes
from nke.operators import Generator, Noise, Splitting
from nke.progress import Progress, silent

PIECES = 50  # of a simulation, at most: enough to tell the time left, at a cost of a millisecond each
NOISE_CHANGE, DRIFT_CHANGE = 0.2, 0.5  # of the coefficients over a sub-step, at most
MOST_STATES = 0.9  # share of the states that the sub-steps suit
FINEST = 32


def sample(
    generator: Generator,
    splitting: Splitting,
    z: Float[Array, "n d"],
    steps: Float[np.ndarray, " intervals"],
    substeps: Int[np.ndarray, " intervals"],
    key: PRNGKeyArray,
    refine: bool = False,
    borders: Float[np.ndarray, "2 d"] | None = None,
    progress: Progress = silent,
) -> Float[np.ndarray, "intervals n d"]:
    """States at the end of each interval, every interval cut into its own number of sub-steps.

    With ``refine`` the number is multiplied by what the coefficients at the present states ask for. States beyond the
    ``borders``, lowest and highest, are reflected. The intervals are done in pieces of few distinct sizes, the last
    filled up with intervals of no sub-steps.
    """
    count = len(steps)
    size = 1 << (-(-count // PIECES) - 1).bit_length()
    pieces = -(-count // size)
    keys = jax.random.split(key, (PIECES, size))  # one program for all counts of a size
    lengths, counts = (np.pad(a, (0, pieces * size - count)).reshape(pieces, size) for a in (steps, substeps))
    ends = None if borders is None else jnp.asarray(borders, jnp.float32)
    states, advance = [], progress("simulating", count)
    for i in range(pieces):
        moved = np.asarray(sample_piece(generator, splitting, z, lengths[i], counts[i], keys[i], refine, ends))
        z, rows = moved[-1], min(size, count - i * size)
        states.append(moved[:rows])
        advance(rows)
    return np.concatenate(states)


@eqx.filter_jit
def sample_piece(
    generator: Generator,
    splitting: Splitting,
    z: Float[Array, "n d"],
    steps: Float[Array, " intervals"],
    substeps: Int[Array, " intervals"],
    keys: Key[Array, " intervals"],
    refine: bool,
    borders: Float[Array, "2 d"] | None = None,
) -> Float[Array, "intervals n d"]:
    """States at the end of each interval, in one compiled loop over all of them."""

    def interval(z, inputs):
        step, count, key = inputs
        if refine:
            part = step / jnp.maximum(count, 1)
            count = count * substeps_needed(generator, z, part[None], jax.random.fold_in(key, 2**31))
        z = _in_parts(generator, splitting, z, step, count, key, borders)
        return z, z

    return jax.lax.scan(interval, z, (steps, substeps, keys))[1]


def _in_parts(
    generator: Generator,
    splitting: Splitting,
    z: Float[Array, "n d"],
    step: Float[Array, "..."],
    count: Int[Array, ""] | int,
    key: Key[Array, ""],
    borders: Float[Array, "2 d"] | None,
) -> Float[Array, "n d"]:
    """States after a step, one for all or one each, cut into ``count`` parts; where that is none, the states."""
    (n, d), part = z.shape, step / jnp.maximum(count, 1)
    each = (0, 0 if step.ndim else None, 0)

    def substep(i, z):
        keys = jax.random.split(jax.random.fold_in(key, i), 4)
        noise = Noise(
            jax.random.normal(keys[0], (n, d)),
            jax.random.uniform(keys[1], (n,)),
            jax.random.normal(keys[2], (n, d)),
            jax.random.rademacher(keys[3], (n, d * (d - 1) // 2), z.dtype),
        )
        moved = jax.vmap(lambda z, step, noise: splitting.move(generator, z, step, noise), each)(z, part, noise)
        return moved if borders is None else reflected(moved, *borders)

    return jax.lax.fori_loop(0, count, substep, z)


@compiled
def sample_steps(
    generator: Generator,
    splitting: Splitting,
    z: Float[Array, "n d"],
    steps: Float[Array, " n"],
    key: Key[Array, ""],
    borders: Float[Array, "2 d"] | None = None,
) -> Float[Array, "n d"]:
    """One state a step later for each state, each after a step of its own, in sub-steps as ``sample`` takes them."""
    count = substeps_needed(generator, z, steps, jax.random.fold_in(key, 2**31)) if splitting.refined else 1
    return _in_parts(generator, splitting, z, steps, count, key, borders)


def reflected(z: Float[Array, "n d"], low: Float[Array, " d"], high: Float[Array, " d"]) -> Float[Array, "n d"]:
    """States mirrored at borders that they crossed, infinite ones being none."""
    z = jnp.where(z < low, 2 * low - z, z)
    z = jnp.where(z > high, 2 * high - z, z)
    return jnp.clip(z, low, high)


def substeps_needed(
    generator: Generator, z: Float[Array, "n d"], step: Float[Array, " #n"], key: PRNGKeyArray
) -> Int[Array, ""]:
    """Into how many parts to cut a step, so that in most states the coefficients change little over each."""
    by_noise, by_drift = relative_changes(generator, z, step, key)
    asked = jnp.maximum((by_noise / NOISE_CHANGE) ** 2, by_drift / DRIFT_CHANGE)
    most = jnp.nan_to_num(jnp.nanquantile(asked, MOST_STATES), nan=1.0)
    return jnp.clip(jnp.ceil(most), 1, FINEST).astype(jnp.int32)
