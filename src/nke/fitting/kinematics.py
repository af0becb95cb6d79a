"""What the user knows of the coordinates, by name, held against the data."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import jax.numpy as jnp
import numpy as np

from nke.data import Coordinates, Transitions
from nke.data.transforms import Periodic
from nke.errors import InputError
from nke.fitting.decisions import Decision
from nke.fitting.rules import SelectionRules
from nke.operators import Fixed, KinematicConstraint


def known_motion(
    kinetic: Mapping[str, str] | None,
    invariant: Sequence[str],
    names: Sequence[str],
    some: Transitions,
    coordinates: Coordinates,
    rules: SelectionRules,
) -> tuple[KinematicConstraint | None, list[Decision]]:
    """Takes what the user says of positions and velocities, or what the data says where the user says nothing.

    Args:
        kinetic: Positions with their velocities; None: decided from the data.
        invariant: Coordinates on which the law does not depend.
        names: Of all coordinates.
        some: Transitions.
        coordinates: Those of training, which know the angles.
        rules: How much the motion may differ.

    Returns:
        The constraint, None where nothing is known; and what was decided, if anything was.

    Raises:
        InputError: If names are not there, or the data moves otherwise.
    """
    known, decisions = kinetic or {}, []
    if kinetic is None and (pairs := likely_positions(some, names, rules)):
        known, why = position_decision(pairs, some, names, rules)
        decisions.append(why)
    return kinematic_constraint(known, invariant, names, some, coordinates, rules), decisions


def kinematic_constraint(
    kinetic: Mapping[str, str],
    invariant: Sequence[str],
    names: Sequence[str],
    some: Transitions,
    coordinates: Coordinates,
    rules: SelectionRules,
) -> KinematicConstraint | None:
    """Builds what is known, dx_p = x_v dt and which columns are angles, in the coordinates of training.

    Args:
        kinetic: Positions with their velocities.
        invariant: Coordinates on which the law does not depend.
        names: Of all coordinates.
        some: Transitions that it is compared with.
        coordinates: Those of training, which know the angles.
        rules: How much the speeds may differ.

    Returns:
        The constraint; None where nothing is known.

    Raises:
        InputError: If names are not there, or the data moves otherwise.
    """
    angles = {i: t.period for i, t in enumerate(coordinates.transforms) if isinstance(t, Periodic)}
    if not kinetic and not invariant and not angles:
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
        _check_speed(some, p, v, names, rules.kinematic_speed_error)
    scale, unit = coordinates.scale, coordinates.time_unit
    slope, offset = (unit * side[velocities] / scale[positions] for side in (scale, coordinates.shift))
    fixed = tuple(Fixed(jnp.asarray(a, jnp.float32)) for a in (slope, offset))
    still = tuple(names.index(name) for name in invariant)
    known = KinematicConstraint(tuple(positions), tuple(velocities), still, len(names), fixed[0], fixed[1])
    if not angles:
        return known
    turning, per_period = list(angles), 2 * np.pi / np.array(list(angles.values()))
    frequency, phase = (
        Fixed(jnp.asarray(per_period * side[turning], jnp.float32)) for side in (scale, coordinates.shift)
    )
    return replace(known, periodic=tuple(turning), frequency=frequency, phase=phase)


def likely_positions(some: Transitions, names: Sequence[str], rules: SelectionRules) -> dict[str, str]:
    """Finds coordinates that move just as others say, dx = v dt in the user's own units.

    Args:
        some: Transitions.
        names: Of the coordinates.
        rules: How much the motion may differ.

    Returns:
        Positions with their velocities.
    """
    moved, flown = some.displacement, some.step[:, None] * (some.x + some.y) / 2
    size, found = np.sqrt(np.mean(moved**2, axis=0)), {}
    for p, name in enumerate(names):
        gap = np.sqrt(np.mean((moved[:, p, None] - flown) ** 2, axis=0))
        gap[p] = np.inf
        v = int(np.argmin(gap))
        near = gap[v] < rules.kinematic_gap * size[p]
        # A rough velocity leaves more open; most of the motion must be its own all the same.
        if near or (gap[v] < size[p] / 2 and has_no_noise_of_its_own(some, p, v, rules)):
            found[name] = names[v]
    return found


def has_no_noise_of_its_own(some: Transitions, p: int, v: int, rules: SelectionRules) -> bool:
    """Tells whether a position misses its velocity by no more than velocities recorded at both ends leave open.

    Between two recorded velocities a path with noise wanders: of dx = v dt the trapezoidal rule misses s²Δv²/12 in the
    mean of squares. Noise of the position itself would come on top.

    Args:
        some: Transitions.
        p: Place of the position.
        v: Place of the velocity.
        rules: Share of that variance that may come on top.

    Returns:
        Whether it does, within three standard errors.
    """
    missed = (some.displacement[:, p] - some.step * (some.x[:, v] + some.y[:, v]) / 2) ** 2
    open_ = (some.step * some.displacement[:, v]) ** 2 / 12
    top = missed - (1 + rules.kinematic_gap) * open_
    return bool(top.mean() <= 3 * top.std() / np.sqrt(len(top)))


def position_decision(
    pairs: dict[str, str], some: Transitions, names: Sequence[str], rules: SelectionRules
) -> tuple[dict[str, str], Decision]:
    """Decides which coordinates are positions of others, where the user has not said so.

    Args:
        pairs: Positions that move as their velocities say, with these.
        some: Transitions.
        names: Of all coordinates.
        rules: How much the motion may differ.

    Returns:
        The positions without noise of their own, which may be taken as known; and the decision.
    """
    sure = {p: v for p, v in pairs.items() if has_no_noise_of_its_own(some, names.index(p), names.index(v), rules)}
    sure = {p: v for p, v in sure.items() if v not in sure or sure[v] != p}
    answer = f"yes, {sure}: taken as known" if sure else f"it seems so; then say kinetic={pairs}"
    return sure, Decision(
        "Are some coordinates positions of others?",
        answer,
        dict(pairs),
        f"a coordinate that moves as another says, to {rules.kinematic_gap:.0%} of its motion; known where it has no "
        "noise of its own; kinetic={} learns all alike",
        "positions",
    )


def _check_speed(some: Transitions, p: int, v: int, names: Sequence[str], most: float) -> None:
    flown = some.step * (some.x[:, v] + some.y[:, v]) / 2
    ratio = (flown @ some.displacement[:, p]) / max(flown @ flown, np.finfo(float).tiny)
    if abs(ratio - 1) > most:
        raise InputError(
            f"kinetic says that {names[v]!r} is the velocity of {names[p]!r}, but {names[p]!r} moves {ratio:.3g} "
            "times as fast; check the names, and that the units of position, velocity and time agree"
        )
