"""The invariant density: a forecast that is continued until it changes no more."""

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from nke.errors import DivergenceError, InputError
from nke.mixtures import GaussianMixture
from nke.mixtures.reduction import squared_difference
from nke.model.forecast import advanced, filled
from nke.operators import Evolution
from nke.operators.evolution import Rates
from nke.progress import ProgressOption, progress_bar

if TYPE_CHECKING:
    from nke.model.model import Model

SETTLED = 1e-4  # relative squared difference of two densities below which they are the same: 1 % in root mean square
IN_A_ROW = 3  # doublings of the time over which it must not change
DOUBLINGS = 14


def stationary(model: "Model", components: int, progress: ProgressOption) -> GaussianMixture:
    """The law in z that forecasts settle at; the time is doubled until three doublings in a row change nothing.

    A state that is left only after many times what was waited for cannot be told from a stationary one.
    """
    if components < 1:
        raise InputError(f"expected components ≥ 1, but got {components}")
    evolution, d = Evolution(components), model.dimension
    turn = _turns(model)
    with progress_bar(progress) as begin, jax.enable_x64(True):
        advance = begin("settling", DOUBLINGS)
        law = GaussianMixture(jnp.ones(1), jnp.zeros((1, d)), jnp.eye(d)[None])
        step = _first_step(model, law)
        calm = 0
        for doubling in range(DOUBLINGS):
            moved, left = advanced(evolution, model.generator, law, step * 2.0**doubling)
            if not bool(left < 1e-6 * step):
                raise DivergenceError(
                    "expected a density that stays finite, but it diverges; the model has no stationary density, or is "
                    "not to be trusted that far from its data"
                )
            moved = _wrapped(moved, turn)
            change = float(squared_difference(law, moved))
            calm = calm + 1 if change < SETTLED else 0
            law = moved
            advance(1)
            if calm == IN_A_ROW:
                advance(DOUBLINGS - doubling - 1)
                return filled(law)
    grows = np.sqrt(np.diagonal(np.asarray(law.covariance))) * model.coordinates.scale
    waited = float(step) * 2.0**DOUBLINGS * model.coordinates.time_unit
    raise InputError(
        f"expected a law that settles, but after a time of {waited:g} "
        f"it still changes, with standard deviations {np.array2string(grows, precision=3)}; a random walk and a drift "
        "without return have no stationary density: use forecast(...) at the times of interest"
    )


def _first_step(model: "Model", law: GaussianMixture) -> Float[jax.Array, ""]:
    """A time over which the coefficients change the law somewhat."""
    rates = Rates.of(model.generator, GaussianMixture(*map(jnp.asarray, jax.tree.leaves(law))))
    speed = float(rates.slope + rates.noise + rates.jumps)
    return jnp.asarray(0.5 / speed if speed > 0 else 1.0)


def _turns(model: "Model") -> Float[np.ndarray, " d"]:
    """A whole turn of each angle in z; infinite for the other coordinates."""
    transforms = zip(model.coordinates.transforms, model.coordinates.scale, strict=True)
    return np.array([getattr(transform, "period", np.inf) / scale for transform, scale in transforms])


def _wrapped(law: GaussianMixture, turn: Float[np.ndarray, " d"]) -> GaussianMixture:
    """Means of angles taken into one turn."""
    if not np.isfinite(turn).any():
        return law
    finite = np.where(np.isfinite(turn), turn, 1.0)
    means = jnp.where(np.isfinite(turn), law.means - finite * jnp.round(law.means / finite), law.means)
    return GaussianMixture(law.weights, means, law.covariances)
