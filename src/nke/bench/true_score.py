"""The score of the true law itself: what no honest density exceeds on unseen data, beyond sampling error."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from nke.data import Transitions
from nke.errors import UnavailableError
from nke.mixtures import GaussianMixture
from nke.operators import Advection, Diffusion, ForwardPacket, Generator, PoissonJump
from nke.systems import System


def true_log_prob(system: System, part: Transitions) -> Float[np.ndarray, " t"]:
    """Scores the true law: exactly where the system knows its transition density, otherwise by simulated sub-steps."""
    try:
        return system.log_prob(part.y, given=part.x, step=part.step)
    except UnavailableError:
        return simulated_log_prob(system, part)


def simulated_log_prob(
    system: System, part: Transitions, substeps: int = 4, samples: int = 4096, seed: int = 0, batch: int = 50
) -> Float[np.ndarray, " t"]:
    """Computes log E[p_δ(y | X)]: X sampled over all sub-steps but the last, p_δ the forward packet over the last one.

    The packet has the true coefficients, so both the sub-steps and the samples converge to the true law.
    """
    generator, rule = true_generator(system), ForwardPacket()

    def one(x, y, step, key):
        short = step / substeps

        def move(state, key):
            law = rule.displacement(generator, state, short)
            choice, noise = jax.random.split(key)
            k = jax.random.categorical(choice, jnp.log(law.weights))
            return state + law.means[k] + jnp.linalg.cholesky(law.covariances[k]) @ jax.random.normal(noise, x.shape)

        def path(key):
            state = x
            for i in range(substeps - 1):
                state = move(state, jax.random.fold_in(key, i))
            return rule.displacement(generator, state, short).log_prob(y - state)

        return jax.nn.logsumexp(jax.vmap(path)(jax.random.split(key, samples))) - jnp.log(samples)

    compiled = jax.jit(lambda x, y, s, keys: jax.lax.map(lambda a: one(*a), (x, y, s, keys), batch_size=batch))
    keys = jax.random.split(jax.random.key(seed), len(part))
    arrays = (jnp.asarray(a, jnp.float32) for a in (part.x, part.y, part.step))
    return np.asarray(compiled(*arrays, keys), np.float64)


def true_generator(system: System) -> Generator:
    """Makes operators of the system's own coefficients."""
    if system.has_jumps and not isinstance(system.jump_law(np.zeros(system.dimension)), GaussianMixture):
        raise UnavailableError(f"the jump law of {system!r} is no Gaussian mixture")

    def law(x: Float[Array, " d"]):
        return system.jump_law(x)

    jump = PoissonJump.from_functions(system.jump_rate, law, order=2) if system.has_jumps else None
    return Generator(Advection(system.drift), Diffusion(system.noise_matrix), jump)
