"""Can recorded states carry a law at all? Asked before anything is learned, so that no number comes from nothing."""

import warnings

import numpy as np
from jaxtyping import Float

from nke.data import Coordinates, Trajectories
from nke.errors import InputError

NUMBERS_PER_PARAMETER = 2  # recorded at least: with fewer, mean and noise of the simplest law are not told apart
DEPENDENT = 1e-6  # of a singular value of scaled states over the largest: what single precision takes for zero
ROWS_LOOKED_AT = 100_000  # cost only
ROUNDED = 1e-3  # of a step: how far values may be from its multiples


def require_a_law(data: Trajectories) -> None:
    """Refuses data from which no drift and diffusion can be learned.

    Args:
        data: Recorded trajectories.

    Raises:
        InputError: If there are fewer transitions than the simplest law needs, a coordinate is constant or has two
            values only, or is a sum of others in every row. The message names them and says what can be fitted.

    Example:
        >>> from nke.fitting.sufficiency import require_a_law
        >>> x = np.sin(np.arange(50.0))
        >>> require_a_law(nke.Trajectories(np.stack([x, 2 * x], axis=1), 0.1, names=["x", "y"]))
        Traceback (most recent call last):
        nke.errors.InputError: expected coordinates of which none follows from the others, but in every ...
    """
    _require_transitions(data)
    states = _some_rows(data)
    _require_values(data, states)
    _require_independent(data, states)
    _warn_of_rounding(data, states)


def require_finite_units(coordinates: Coordinates, data: Trajectories) -> None:
    """Refuses units in which a diffusion tensor, a square of the states over time, is no number of double precision.

    Args:
        coordinates: Those of training.
        data: Recorded trajectories, for the names.

    Raises:
        InputError: If a number would be infinite or zero; the message names the coordinate and its size.
    """
    number = np.finfo(np.float64)
    with np.errstate(all="ignore"):
        variances = coordinates.scale**2 / coordinates.time_unit
        fits = np.isfinite(variances) & (variances > number.tiny / number.eps) & (variances < number.max * number.eps)
    if not fits.all():
        i = int(np.argmin(fits))
        raise InputError(
            f"expected units in which squares of the states are numbers of double precision, but {data.names[i]!r} "
            f"has size {coordinates.scale[i]:.3g} and moves by that in a time of {coordinates.time_unit:.3g}; change "
            "its unit or that of time"
        )


def _require_transitions(data: Trajectories) -> None:
    d, transitions = data.dimension, len(data.transitions())
    parameters = d * (d + 1) + d * (d + 1) // 2  # of a linear drift and a constant noise
    needed = -(-NUMBERS_PER_PARAMETER * parameters // d)
    if transitions < needed:
        fewer = "" if d == 1 else ", or read fewer coordinates with states= (--states)"
        raise InputError(
            f"expected at least {needed} transitions from a row to the next, since the simplest law of {d} "
            f"{'coordinate' if d == 1 else 'coordinates'} has {parameters} parameters, but got {transitions}; record "
            f"more rows{fewer}"
        )


def _some_rows(data: Trajectories) -> Float[np.ndarray, "n d"]:
    states = data.observed_states
    return states[:: -(-len(states) // ROWS_LOOKED_AT)]


def _require_values(data: Trajectories, states: Float[np.ndarray, "n d"]) -> None:
    """Refuses columns with one value or two: no path that drift and noise drive looks like that."""
    for i, name in enumerate(data.names):
        values = np.unique(states[:, i])
        if len(values) <= 2 or _same_but_for_rounding(values):
            still = _same_but_for_rounding(values)
            told = f"is {values[0]:g} always" if still else f"has only the values {values[0]:g} and {values[1]:g}"
            raise InputError(
                f"expected coordinates that move, but {name!r} {told}, so no drift and diffusion can be learned along "
                f"it; {_others(data.names, [i])}"
            )


def _same_but_for_rounding(values: Float[np.ndarray, " n"]) -> bool:
    return bool(np.ptp(values / max(np.abs(values).max(), np.finfo(float).tiny)) <= 8 * np.finfo(float).eps)


def _require_independent(data: Trajectories, states: Float[np.ndarray, "n d"]) -> None:
    """Refuses a coordinate that is a sum of others in every row: their noise would be singular."""
    if data.dimension == 1:
        return
    size = np.abs(states).max(axis=0)
    centred = states / size - (states / size).mean(axis=0)
    deviation = centred.std(axis=0)
    scaled = centred / deviation
    for i in reversed(range(1, data.dimension)):  # the last one goes, as in (x, y, x + y)
        before = scaled[:, :i]
        share = np.linalg.lstsq(before, scaled[:, i], rcond=DEPENDENT)[0]
        left = scaled[:, i] - before @ share
        if np.sqrt(np.mean(left**2)) > DEPENDENT:
            continue
        with np.errstate(all="ignore"):
            slopes = share * deviation[i] / deviation[:i] * (size[i] / size[:i])
            mean = size * (states / size).mean(axis=0)
            constant = mean[i] - slopes @ mean[:i]
        told = np.abs(share) > np.sqrt(DEPENDENT)
        sum_of = _sum(slopes[told], [name for name, is_in in zip(data.names, told, strict=False) if is_in], constant)
        raise InputError(
            "expected coordinates of which none follows from the others, but in every row "
            f"{data.names[i]!r} = {sum_of}; {_others(data.names, [i])}"
        )


def _sum(slopes: Float[np.ndarray, " n"], names: list[str], constant: float) -> str:
    """A sum in words, such as ``2 x − y + 1``."""
    factors = [f"{abs(slope):.4g} ".removeprefix("1 ") for slope in slopes]
    signs = ["−" if slope < 0 else "+" for slope in slopes]
    terms = [f"{sign} {factor}{name}" for sign, factor, name in zip(signs, factors, names, strict=True)]
    if abs(constant) > DEPENDENT * max(np.abs(slopes).max(), np.finfo(float).tiny):
        terms.append(f"{'−' if constant < 0 else '+'} {abs(constant):.4g}")
    return " ".join(terms).removeprefix("+ ")


def _others(names: tuple[str, ...], left_out: list[int]) -> str:
    """What can be fitted instead."""
    others = [name for i, name in enumerate(names) if i not in left_out]
    return f"fit the others: {', '.join(others)}; read them with states= (--states)" if others else "record what moves"


def _warn_of_rounding(data: Trajectories, states: Float[np.ndarray, "n d"]) -> None:
    """Says where states are rounded more coarsely than they move, as counts are."""
    moved = data.transitions().displacement
    for i, name in enumerate(data.names):
        values = np.unique(states[:, i])
        unit, typical = np.diff(values).min(), float(np.mean(np.abs(moved[:, i])))
        steps = (values - values[0]) / unit
        in_steps = len(values) < len(states) / 10 and np.abs(steps - steps.round()).max() < ROUNDED
        if in_steps and typical <= 2 * unit:
            warnings.warn(
                f"{name!r} is recorded in steps of {unit:.3g} and typically moves by {typical:.3g} between rows: its "
                "noise cannot be told from rounding; record it more finely or with a longer step",
                UserWarning,
                stacklevel=3,
            )
