"""Intervals for what a law says, from the uncertainty of its parameters.

To first order, by the derivative along each direction of the uncertainty: coefficients are linear in most parameters,
the way back to the user's units is linear in them, and the ends vary smoothly with the state, which those of a few
hundred draws do not. What is positive, a variance or a rate, has its interval on the scale of its logarithm.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import ndtri

from nke.data import Coordinates
from nke.errors import InputError
from nke.mixtures import GaussianMixture
from nke.model.batched import in_blocks, jump_law
from nke.model.pushforward import displacement_back
from nke.model.uncertainty import Moved, Uncertainty

if TYPE_CHECKING:
    from nke.model.model import Model

QUANTITIES = ("drift", "diffusion", "jump_rate", "total_drift")
MOST_LOG = 50.0  # |log| of an end over the value, so that far from all data it does not overflow
SMALL = 1e-4  # of a direction, for the one derivative that is taken by differences, in float64


class Interval(NamedTuple):
    """Two ends between which a quantity lies, each of the shape of the quantity itself.

    Attributes:
        lower: The lower end.
        upper: The upper end.
    """

    lower: Float[np.ndarray, "..."]
    upper: Float[np.ndarray, "..."]


def interval(model: "Model", quantity: str, x: Float[np.ndarray, "n d"], level: float) -> Interval:
    """Computes intervals at some states; ``Model.interval`` calls this.

    Args:
        model: The law.
        quantity: One of ``QUANTITIES``.
        x: States in the user's units.
        level: Probability of the interval.

    Returns:
        Lower and upper ends, a row for each state.

    Raises:
        InputError: If quantity or level are none, or nothing is known of the law's uncertainty.
    """
    if quantity not in QUANTITIES:
        raise InputError(f"expected one of {', '.join(map(repr, QUANTITIES))}, but got {quantity!r}")
    if isinstance(level, bool) or not isinstance(level, int | float | np.number) or not 0 < level < 1:
        raise InputError(f"expected a level between 0 and 1, such as 0.9, but got {level!r}")
    value = getattr(model, quantity)(x)
    if quantity == "jump_rate" and not model.has_jumps:
        return Interval(value, value.copy())
    offset, error = offset_and_error(model, quantity, x)
    reach = float(ndtri((1 + level) / 2)) * error
    positive = (value > 0) & _positive(quantity, model.dimension)
    size = np.where(positive, value, 1.0)
    below, above = (np.exp(np.clip((offset + sign * reach) / size, -MOST_LOG, MOST_LOG)) for sign in (-1.0, 1.0))
    middle = value + offset
    return Interval(
        np.where(positive, value * below, middle - reach), np.where(positive, value * above, middle + reach)
    )


def offset_and_error(
    model: "Model", quantity: str, x: Float[np.ndarray, "n d"]
) -> tuple[Float[np.ndarray, "n ..."], Float[np.ndarray, "n ..."]]:
    """Computes how far the most likely value of a quantity is from that of the law, and its standard error.

    Args:
        model: The law.
        quantity: One of ``QUANTITIES``.
        x: States in the user's units.

    Returns:
        Both in the user's units, for each number of the quantity.

    Raises:
        InputError: If nothing is known of the law's uncertainty.
    """
    uncertainty, coordinates, z = known_uncertainty(model), model.coordinates, model.coordinates.to(x)
    per_direction = {"drift": _drift, "diffusion": _diffusion, "jump_rate": _rate, "total_drift": _total_drift}
    if quantity == "total_drift" and not model.has_jumps:
        quantity = "drift"
    what = {
        "drift": ("drift",) if coordinates.is_affine else ("drift", "diffusion"),
        "diffusion": ("diffusion",),
        "jump_rate": ("jump_rate",),
        "total_drift": ("drift", "jump_rate", "jump_law", *(() if coordinates.is_affine else ("diffusion",))),
    }[quantity]
    moved = uncertainty.moved(model.generator, z, what)
    changes = per_direction[quantity](model, moved, x)
    return changes[:, 0], np.sqrt(np.sum(changes[:, 1:] ** 2, axis=1))


def known_uncertainty(model: "Model") -> Uncertainty:
    """Gives what is known of the uncertainty of a law.

    Raises:
        InputError: If nothing is known, or it is that of another law.
    """
    if model.uncertainty is None:
        raise InputError(
            "this model has no intervals: they come with polynomial and smooth laws, and with networks that end with "
            "Newton's method, fitted by nke.Likelihood of this version or later; fit the data again, or compare "
            "fits to resampled trajectories"
        )
    if not model.uncertainty.belongs_to(model.generator):
        raise InputError("the uncertainty of this model is that of another generator; keep the two together")
    return model.uncertainty


def _drift(model: "Model", moved: Moved, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n r d"]:
    assert moved.drift is not None
    return model.coordinates.drift_back(moved.drift, _each(x, moved.drift.shape), moved.diffusion)


def _diffusion(model: "Model", moved: Moved, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n r d d"]:
    assert moved.diffusion is not None
    return model.coordinates.diffusion_back(moved.diffusion, _each(x, moved.diffusion.shape[:-1]))


def _rate(model: "Model", moved: Moved, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n r"]:
    assert moved.jump_rate is not None
    return model.coordinates.rate_back(moved.jump_rate)


def _total_drift(model: "Model", moved: Moved, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n r d"]:
    """The drift and the mean motion by jumps, λ·E: their changes are those of λ times E and of E times λ."""
    z = model.coordinates.to(x)
    law = in_blocks(lambda z: jump_law(model.generator, z), z).numpy()
    rate = model.jump_rate(x)[:, None, None]
    change = moved.jump_law
    assert change is not None
    mean = displacement_back(law, model.coordinates, x).mean[:, None, :]
    return (
        _drift(model, moved, x)
        + _rate(model, moved, x)[..., None] * mean
        + rate * _mean_moved(law, change, model.coordinates, x)
    )


def _mean_moved(
    law: GaussianMixture, change: GaussianMixture, coordinates: Coordinates, x: Float[np.ndarray, "n d"]
) -> Float[np.ndarray, "n r d"]:
    """By how much the mean of a jump in the user's units moves, by differences."""
    here = [np.asarray(a)[:, None] for a in (law.weights, law.means, law.covariances)]
    by = [SMALL * np.asarray(a) for a in (change.weights, change.means, change.covariances)]
    ends = [
        displacement_back(
            GaussianMixture(*(a + sign * b for a, b in zip(here, by, strict=True))), coordinates, _each(x, by[1].shape)
        )
        for sign in (1.0, -1.0)
    ]
    # The weights sum to one at either end, whatever their rounding.
    means = [np.einsum("nrk,nrki->nri", np.asarray(end.weights), np.asarray(end.means)) for end in ends]
    return (means[0] - means[1]) / (2 * SMALL)


def _each(x: Float[np.ndarray, "n d"], shape: tuple[int, ...]) -> Float[np.ndarray, "..."]:
    """The states, once for each direction."""
    return np.broadcast_to(x[:, None], (shape[0], shape[1], x.shape[1]))


def _positive(quantity: str, dimension: int) -> Bool[np.ndarray, "..."]:
    """Which numbers of a quantity are positive whatever the parameters."""
    if quantity == "diffusion":
        return np.eye(dimension, dtype=bool)
    return np.array(quantity == "jump_rate")
