"""The invariant density: a forecast that is continued until it changes no more."""

from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from nke.arrays import Array as AnyArray
from nke.errors import DivergenceError, InputError
from nke.mixtures import GaussianMixture
from nke.mixtures.reduction import squared_difference
from nke.model.forecast import advanced, filled, in_slots
from nke.operators import Evolution, Generator
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
        law = in_slots(GaussianMixture([1.0], np.zeros((1, d)), np.eye(d)[None]), components)
        speed = float(_speed(model.generator, law))
        step, calm = 0.5 / speed if speed > 0 else 1.0, 0
        for doubling in range(DOUBLINGS):
            law, left, change = _continued(evolution, model.generator, law, jnp.asarray(step * 2.0**doubling), turn)
            if not bool(left < 1e-6 * step):
                raise DivergenceError(
                    "expected a density that stays finite, but it diverges; the model has no stationary density, or is "
                    "not to be trusted that far from its data"
                )
            calm = calm + 1 if float(change) < SETTLED else 0
            advance(1)
            if calm == IN_A_ROW:
                advance(DOUBLINGS - doubling - 1)
                return filled(law)
    grows = np.sqrt(np.diagonal(law.numpy().covariance)) * model.coordinates.scale
    waited = step * 2.0**DOUBLINGS * model.coordinates.time_unit
    raise InputError(
        f"expected a law that settles, but after a time of {waited:g} "
        f"it still changes, with standard deviations {np.array2string(grows, precision=3)}; a random walk and a drift "
        "without return have no stationary density: use forecast(...) at the times of interest"
    )


@eqx.filter_jit
def _continued(
    evolution: Evolution,
    generator: Generator,
    law: GaussianMixture,
    step: Float[jax.Array, ""],
    turn: Float[AnyArray, " d"],
) -> tuple[GaussianMixture, Float[jax.Array, ""], Float[jax.Array, ""]]:
    """The law after a time, what was left of the time, and how much it changed."""
    moved, left = advanced(evolution, generator, law, step)
    moved = _wrapped(moved, turn)
    return moved, left, squared_difference(law, moved)


@eqx.filter_jit
def _speed(generator: Generator, law: GaussianMixture) -> Float[jax.Array, ""]:
    """How quickly the coefficients change along a law, per unit time."""
    rates = Rates.of(generator, law)
    return rates.slope + rates.noise + rates.jumps


def _turns(model: "Model") -> Float[np.ndarray, " d"]:
    """A whole turn of each angle in z; infinite for the other coordinates."""
    transforms = zip(model.coordinates.transforms, model.coordinates.scale, strict=True)
    return np.array([getattr(transform, "period", np.inf) / scale for transform, scale in transforms])


def _wrapped(law: GaussianMixture, turn: Float[AnyArray, " d"]) -> GaussianMixture:
    """Means of angles taken into one turn."""
    finite = jnp.where(jnp.isfinite(turn), turn, 1.0)
    means = jnp.where(jnp.isfinite(turn), law.means - finite * jnp.round(law.means / finite), law.means)
    return GaussianMixture(law.weights, means, law.covariances)
