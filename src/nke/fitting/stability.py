"""Does a law diverge in simulation? Powers of the state may, beyond the data they were fitted to."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from nke.fitting.rules import SelectionRules
from nke.model.simulation import sample
from nke.operators import Generator, Strang


def diverges(generator: Generator, x: Float[np.ndarray, "t d"], step: float, rules: SelectionRules) -> bool:
    """Simulates paths from states of the data and tells whether they go far beyond it; an angle may go round.

    Args:
        generator: The law.
        x: States of the data, in the coordinates of training.
        step: Its typical step.
        rules: How many paths and steps, and how far is too far.

    Returns:
        Whether any path diverges.
    """
    starts = x[np.linspace(0, len(x) - 1, min(rules.simulated_paths, len(x))).astype(int)]
    steps, counts = np.full(rules.simulated_steps, step, np.float32), np.ones(rules.simulated_steps, int)
    paths = sample(generator, Strang(), jnp.asarray(starts, jnp.float32), steps, counts, jax.random.key(0), refine=True)
    widest = np.abs(x - x.mean(axis=0)).max(axis=0)
    widest[list(() if generator.constraint is None else generator.constraint.periodic)] = 0.0
    inside = np.abs(paths - x.mean(axis=0)) <= rules.divergence_distance * np.where(widest > 0, widest, np.inf)
    return not inside.all()
