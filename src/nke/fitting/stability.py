"""Does a law diverge in simulation? Powers of the state may, beyond the data they were fitted to."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from nke.arrays import compiled
from nke.fitting.batches import float32
from nke.fitting.initial_moments import TransitionSample
from nke.fitting.rules import SelectionRules
from nke.model.batched import diffusion as batched_diffusion
from nke.model.batched import drift as batched_drift
from nke.model.batched import in_blocks
from nke.operators import Euler, Generator, Noise
from nke.operators.advection import tamed

PART_OF_THE_WAY = 0.05  # to the centre of the data that a step along the drift may be long: follows it to a percent


def diverges(
    generator: Generator,
    x: Float[np.ndarray, "t d"],
    step: float,
    rules: SelectionRules,
    logarithms: Float[np.ndarray, " d"] | None = None,
) -> bool:
    """Simulates paths from states of the data and tells whether they go far beyond it; an angle may go round.

    By Euler's method, which is enough to tell; like the sampler it does not overshoot where the drift leads back. What
    is far for a logarithm is so for the column itself: as many times its range, beside twice the growth in the data.

    Args:
        generator: The law.
        x: States of the data, in the coordinates of training.
        step: Its typical step.
        rules: How many paths and steps, and how far is too far.
        logarithms: The size of a factor e of coordinates that are logarithms, zero for the others; None: none is.

    Returns:
        Whether any path diverges.
    """
    starts = x[np.linspace(0, len(x) - 1, min(rules.simulated_paths, len(x))).astype(int)]
    rng, shape = np.random.default_rng(0), (rules.simulated_steps * rules.simulated_substeps, *starts.shape)
    drawn = [rng.standard_normal(shape), rng.random(shape[:2]), rng.standard_normal(shape), np.zeros((*shape[:2], 0))]
    noise = Noise(*map(float32, drawn))
    widest = np.abs(x - x.mean(axis=0)).max(axis=0)
    widest[list(() if generator.constraint is None else generator.constraint.periodic)] = 0.0
    most = rules.divergence_distance * np.where(widest > 0, widest, np.inf)
    if logarithms is not None:
        grown = widest + 2 * np.ptp(x, axis=0) + np.log(rules.divergence_distance) * logarithms
        most = np.where(logarithms > 0, np.minimum(most, grown), most)
    inputs = map(float32, (starts, np.array(step / rules.simulated_substeps), x.mean(axis=0), most))
    return not bool(_stays(generator, noise, *inputs))


def exceeds_motions(generator: Generator, sample: TransitionSample, rules: SelectionRules) -> bool:
    """Tells whether drift or noise say of some state of the data that it moves far beyond the largest recorded motion.

    A drift that is wrong by orders of magnitude in a few states, and noise that makes up for it there, may have a large
    likelihood; no recorded motion asks for either.

    Args:
        generator: The law.
        sample: Transitions of the data.
        rules: How far is too far.

    Returns:
        Whether any state does.
    """
    step, free, largest = sample.step[:, None], sample.free, np.abs(sample.displacement).max(axis=0)
    drift = step * np.abs(in_blocks(lambda z: batched_drift(generator, z), sample.states)[:, free])
    tensor = in_blocks(lambda z: batched_diffusion(generator, z), sample.states)
    noise = np.sqrt(step * np.diagonal(tensor, axis1=1, axis2=2)[:, free])
    return not bool((np.maximum(drift, noise) <= rules.most_motion * largest).all())


def runs_away(generator: Generator, x: Float[np.ndarray, "t d"], step: float, rules: SelectionRules) -> bool:
    """Tells whether the drift alone leads from just beyond the data to far beyond it, instead of back.

    From the data stretched to twice its extent; an angle may go round.

    Args:
        generator: The law.
        x: States of the data, in the coordinates of training.
        step: Its typical step.
        rules: How many states and steps, and how far is too far.

    Returns:
        Whether any path of the drift goes so far.
    """
    part, centre = x[np.linspace(0, len(x) - 1, min(rules.simulated_paths, len(x))).astype(int)], x.mean(axis=0)
    extent = np.abs(x - centre).max(axis=0)
    extent = np.where(extent > 0, extent, 1.0)
    most = rules.divergence_distance * extent
    most[list(() if generator.constraint is None else generator.constraint.periodic)] = np.inf
    short, count = step / rules.simulated_substeps, rules.simulated_steps * rules.simulated_substeps
    starts, short, centre, extent, most = map(float32, (2 * part - centre, np.array(short), centre, extent, most))
    return not bool(_returns(generator, starts, short, centre, extent, most, count))


@compiled
def _returns(
    generator: Generator,
    x: Float[Array, "n d"],
    step: Float[Array, ""],
    centre: Float[Array, " d"],
    extent: Float[Array, " d"],
    most: Float[Array, " d"],
    count: int,
) -> Bool[Array, ""]:
    """Whether the flow from all states stays within a distance from the centre.

    Where the drift is fast a step is shorter, no further than a part of the way to the centre: it then follows the path
    of the drift, and what looks like divergence is none of the step's.
    """

    def motion(x):
        drift = generator.advection.drift(x)
        far, speed = 1 + jnp.linalg.norm((x - centre) / extent), jnp.linalg.norm(drift / extent)
        return drift * jnp.minimum(step, PART_OF_THE_WAY * far / (speed + jnp.finfo(x.dtype).tiny))

    def one(x):
        middle = x + motion(x) / 2
        return x + motion(middle)

    def advance(state, _):
        x, inside = state
        x = jax.vmap(one)(x)
        return (x, inside & jnp.all(jnp.abs(x - centre) <= most)), None

    return jax.lax.scan(advance, (x, jnp.asarray(True)), length=count)[0][1]


@compiled
def _stays(
    generator: Generator,
    noise: Noise,
    x: Float[Array, "n d"],
    step: Float[Array, ""],
    centre: Float[Array, " d"],
    most: Float[Array, " d"],
) -> Bool[Array, ""]:
    """Whether all paths stay within a distance from the centre."""
    calm = eqx.tree_at(lambda g: g.advection.drift, generator, lambda x: jnp.zeros_like(x))

    def one(x, noise):
        moved = Euler().move(calm, x, step, noise)
        return moved + tamed(step * generator.advection.drift(x), x)

    def advance(state, noise):
        x, inside = state
        x = jax.vmap(one)(x, noise)
        return (x, inside & jnp.all(jnp.abs(x - centre) <= most)), None

    return jax.lax.scan(advance, (x, jnp.asarray(True)), noise)[0][1]
