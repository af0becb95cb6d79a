"""What the user knows of the coordinates, by name, held against the data."""

from collections.abc import Mapping, Sequence

import jax.numpy as jnp
import numpy as np

from nke.data import Coordinates, Transitions
from nke.errors import InputError
from nke.operators import Fixed, KinematicConstraint

ALIKE = 0.1  # share of its motion by which a coordinate may miss what its velocity says
OFF = 0.1  # of the speed, by which positions may move faster or slower than their velocities say


def kinematic_constraint(
    kinetic: Mapping[str, str],
    invariant: Sequence[str],
    names: Sequence[str],
    some: Transitions,
    coordinates: Coordinates,
) -> KinematicConstraint | None:
    """dx_p = x_v dt in the coordinates of training; refuses names that are not there and data that moves otherwise."""
    if not kinetic and not invariant:
        return None
    for option, used in (("kinetic", [*kinetic, *kinetic.values()]), ("invariant", invariant)):
        if unknown := [name for name in used if name not in names]:
            raise InputError(
                f"{option} names {', '.join(map(repr, unknown))}, but the coordinates are {', '.join(map(repr, names))}"
            )
    positions, velocities = ([names.index(name) for name in side] for side in (kinetic, kinetic.values()))
    if len(positions) == len(names) or any(p == v for p, v in zip(positions, velocities, strict=True)):
        raise InputError(
            f"kinetic calls {', '.join(map(repr, kinetic))} positions, which leaves nothing to learn; "
            'name each position with its velocity, {"x": "vx"}'
        )
    for p, v in zip(positions, velocities, strict=True):
        _check_speed(some, p, v, names)
    scale, unit = coordinates.scale, coordinates.time_unit
    slope, offset = (unit * side[velocities] / scale[positions] for side in (scale, coordinates.shift))
    fixed = (Fixed(jnp.asarray(a, jnp.float32)) for a in (slope, offset))
    still = tuple(names.index(name) for name in invariant)
    return KinematicConstraint(tuple(positions), tuple(velocities), still, len(names), *fixed)


def likely_positions(some: Transitions, names: Sequence[str]) -> dict[str, str]:
    """Coordinates that move just as others say, dx = v dt in the user's own units, with these others."""
    moved, flown = some.displacement, some.step[:, None] * (some.x + some.y) / 2
    size, found = np.sqrt(np.mean(moved**2, axis=0)), {}
    for p, name in enumerate(names):
        gap = np.sqrt(np.mean((moved[:, p, None] - flown) ** 2, axis=0))
        gap[p] = np.inf
        v = int(np.argmin(gap))
        if gap[v] < ALIKE * size[p]:
            found[name] = names[v]
    return found


def _check_speed(some: Transitions, p: int, v: int, names: Sequence[str]) -> None:
    flown = some.step * (some.x[:, v] + some.y[:, v]) / 2
    ratio = (flown @ some.displacement[:, p]) / max(flown @ flown, np.finfo(float).tiny)
    if abs(ratio - 1) > OFF:
        raise InputError(
            f"kinetic says that {names[v]!r} is the velocity of {names[p]!r}, but {names[p]!r} moves {ratio:.3g} "
            "times as fast; check the names, and that the units of position, velocity and time agree"
        )
