"""Two plain simulators to compare with: a given bath event by event in NumPy, and the box with a time step."""

import math

import numpy as np
from jaxtyping import Float

from nke.systems.gas.box import VELOCITY, enter, fill, new_bath, remove
from nke.systems.gas.compilation import entry
from nke.systems.gas.constants import Gas
from nke.systems.gas.mechanics import add, collide, dot, get, norm, put, record_states


def replay(
    gas: Gas,
    start: Float[np.ndarray, " 6"],
    points: Float[np.ndarray, "p 3"],
    velocities: Float[np.ndarray, "p 3"],
    end: float,
) -> tuple[Float[np.ndarray, " c"], Float[np.ndarray, "c 6"]]:
    """Finds all collisions up to ``end`` of a sphere in a given bath: their times and the states just after them.

    ``points`` and ``velocities`` are those of the bath at time 0. After each collision every particle is looked at.
    """
    time, position, velocity = 0.0, start[:3], start[3:]
    points, velocities = points.copy(), velocities.copy()
    times, states = [], []
    while True:
        r, w = points - position, velocities - velocity
        a, b, c = (np.sum(first * second, axis=1) for first, second in ((w, w), (r, w), (r, r)))
        root = b**2 - a * (c - gas.radius**2)
        meets = (b < 0) & (root >= 0)
        waits = np.full(len(points), math.inf)
        waits[meets] = np.maximum(c[meets] - gas.radius**2, 0) / (np.sqrt(root[meets]) - b[meets])
        i = int(np.argmin(waits))
        if time + waits[i] > end:
            return np.array(times), np.reshape(states, (-1, 6))
        time, position, points = time + waits[i], position + waits[i] * velocity, points + waits[i] * velocities
        normal = (points[i] - position) / np.linalg.norm(points[i] - position)
        kick = 2 * (velocities[i] - velocity) @ normal / (gas.mass_ratio + 1)
        velocity = velocity + kick * normal
        velocities[i] -= gas.mass_ratio * kick * normal
        times.append(time)
        states.append(np.concatenate([position, velocity]))


@entry
def time_stepped(gas, half, start, times, stream, states, step):
    """Moves the box by small steps: a particle found inside the sphere and approaching it collides there and then."""
    bath = new_bath(gas, half)
    time, end = times[0], times[-1]
    position, velocity = get(start), get(start[3:])
    count, row, collisions = fill(gas, half, bath, stream), np.int64(0), np.int64(0)
    entry, point, particle, kept = enter(gas, half, velocity, stream)
    while time < end:
        row = record_states(states, times, row, time, time + step, position, velocity)
        position = add(position, velocity, step)
        for i in range(count):
            put(bath[i], add(get(bath[i]), add(get(bath[i, VELOCITY:]), velocity, -1.0), step))
        while entry < step:
            if kept and count < len(bath):
                put(bath[count], add(point, add(particle, velocity, -1.0), step - entry))
                put(bath[count, VELOCITY:], particle)
                count += 1
            gap, point, particle, kept = enter(gas, half, velocity, stream)
            entry += gap
        entry -= step
        i = 0
        while i < count:
            r, particle_velocity = get(bath[i]), get(bath[i, VELOCITY:])
            if norm(r) < gas.radius and dot(r, add(particle_velocity, velocity, -1.0)) < 0:
                normal = add((0.0, 0.0, 0.0), r, 1 / norm(r))
                velocity, gone = collide(velocity, particle_velocity, normal, gas.mass_ratio)
                put(bath[i, VELOCITY:], gone)
                collisions += 1
            if max(abs(r[0]), abs(r[1]), abs(r[2])) > half:
                count = remove(bath, count, i)
            else:
                i += 1
        time += step
    return collisions
