"""What the user knows of the columns, by name: positive, an angle, between two bounds."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from nke.data import Trajectories
from nke.data.transforms import Log, Logit, Periodic, Transform
from nke.errors import InputError, InputTypeError


def known_columns(
    data: Trajectories,
    positive: Sequence[str] | None,
    periodic: Sequence[str] | Mapping[str, float] | None,
    bounds: Mapping[str, Sequence[float]] | None,
    kinetic: Mapping[str, str] | None = None,
) -> dict[str, Transform]:
    """Finds the transforms of the columns that the user named.

    Args:
        data: Recorded trajectories.
        positive: Columns that are positive, to be learned as their logarithms.
        periodic: Columns that are angles; their periods if these are not 2π.
        bounds: Columns with the two bounds that they stay between, to be learned as logits.
        kinetic: Positions with their velocities, both of which must stay as they are.

    Returns:
        The transform of each column that was named.

    Raises:
        InputError: If a name is not there or named twice, or a period or a bound is not possible.
        InputTypeError: If names are given as one text.
    """
    demands: dict[str, dict[str, Transform]] = {
        "positive": {name: Log() for name in _names(positive, "positive")},
        "periodic": {name: Periodic() for name in _names(periodic, "periodic")},
        "bounds": {name: Logit(*map(float, _two(name, pair))) for name, pair in (bounds or {}).items()},
    }
    if isinstance(periodic, Mapping):
        demands["periodic"] = {name: Periodic(float(period)) for name, period in periodic.items()}
    found: dict[str, Transform] = {}
    for option, named in demands.items():
        for name, transform in named.items():
            if name not in data.names:
                known = ", ".join(map(repr, data.names))
                raise InputError(f"{option} names {name!r}, but the coordinates are {known}; check the names")
            if name in found:
                raise InputError(
                    f"{option} names {name!r}, which is also said to be {found[name].kind}; name it once, "
                    "or give bounds alone"
                )
            if not transform.affine and kinetic and name in {*kinetic, *kinetic.values()}:
                raise InputError(
                    f"{option} names {name!r}, of which kinetic says that it is a position or a velocity: these are "
                    "learned as they are; leave it out of one of the two"
                )
            found[name] = transform
    return {name: as_recorded(data, name, transform) for name, transform in found.items()}


def _names(named: Iterable[str] | None, option: str) -> list[str]:
    if isinstance(named, str):
        raise InputTypeError(f"expected {option} as a list of names, but got the text {named!r}; say [{named!r}]")
    return list(named or ())


def _two(name: str, pair: Sequence[float]) -> Sequence[float]:
    if len(pair) != 2:
        raise InputError(f"expected two bounds for {name!r}, but got {tuple(pair)}; say bounds={{{name!r}: (0, 1)}}")
    return pair


def as_recorded(data: Trajectories, name: str, transform: Transform) -> Transform:
    """Gives a wrapped angle its interval; one that exceeds a turn, or never crosses, is not wrapped.

    Args:
        data: Recorded trajectories.
        name: Of the column.
        transform: Of the column.

    Returns:
        The transform, of an angle with the interval in which it is recorded.
    """
    if not isinstance(transform, Periodic):
        return transform
    column, period = data.names.index(name), transform.period
    values, moved = data.observed_states[:, column], data.transitions().displacement[:, column]
    low, high, rounding = float(values.min()), float(values.max()), 1e-6 * period
    if high - low > period + rounding or np.abs(moved).max() <= period / 2:
        return transform
    for start in (-period / 2, 0.0):
        if start - rounding <= low and high <= start + period + rounding:
            return Periodic(period, start)
    return Periodic(period, low)
