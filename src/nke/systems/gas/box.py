"""The reference: all particles of a cube around the sphere, moving with it, and new ones through its faces.

Between collisions everything flies straight. At each collision one sweep moves the particles, drops those that left the
cube and finds the next to hit; entering particles are drawn in order of time until then. Coordinates are relative to
the sphere.
"""

import math

import numpy as np

from nke.systems.gas.compilation import entry, kernel
from nke.systems.gas.mechanics import add, collide, contact_time, get, norm, put, record_collision, record_states
from nke.systems.gas.randomness import exponential, maxwell, normal, rayleigh, uniform

POINT, VELOCITY, HIT = 0, 3, 6  # columns of the bath; hit: whether the particle has hit the sphere


@kernel
def fill(gas, half, bath, stream):
    """Fills the cube outside the sphere with a Poisson gas; returns the number of particles."""
    count, x = 0, -half
    while True:
        x += exponential(stream) / (gas.density * 4 * half * half)
        if x >= half or count == len(bath):
            return count
        point = (x, half * (2 * uniform(stream) - 1), half * (2 * uniform(stream) - 1))
        if norm(point) > gas.radius:
            put(bath[count, POINT:], point)
            put(bath[count, VELOCITY:], maxwell(stream, gas.spread))
            bath[count, HIT] = 0.0
            count += 1


@kernel
def influx(gas, half, u):
    """Computes a bound on the rate of entry through a face that moves inwards at speed u: proposals per time."""
    return gas.density * 4 * half * half * (gas.spread / math.sqrt(2 * math.pi) + max(-u, 0.0))


@kernel
def enter(gas, half, velocity, stream):
    """Draws time to the next proposed entry through any face, point and velocity of entry, and whether it is kept.

    Along the inward normal of its face the velocity has density ∝ (w − u)₊ N(w; 0, σ²), by thinning of a Rayleigh and,
    where the face moves outwards, a normal variable; along the face it is Maxwell's.
    """
    total = 0.0
    for axis in range(3):
        total += influx(gas, half, velocity[axis]) + influx(gas, half, -velocity[axis])
    wait, choice = exponential(stream) / total, uniform(stream) * total
    axis, side = 0, 1.0
    for face in range(6):
        axis, side = face // 2, 1.0 - 2.0 * (face % 2)
        choice -= influx(gas, half, side * velocity[axis])
        if choice < 0:
            break
    u = side * velocity[axis]
    out = max(-u, 0.0)
    rayleighs = uniform(stream) * (gas.spread / math.sqrt(2 * math.pi) + out) >= out
    w = gas.spread * (rayleigh(stream) if rayleighs else normal(stream))
    kept = uniform(stream) * (max(w, 0.0) + out) < w - u
    a, b = half * (2 * uniform(stream) - 1), half * (2 * uniform(stream) - 1)
    v1, v2 = gas.spread * normal(stream), gas.spread * normal(stream)
    if axis == 0:
        return wait, (-side * half, a, b), (side * w, v1, v2), kept
    if axis == 1:
        return wait, (b, -side * half, a), (v2, side * w, v1), kept
    return wait, (a, b, -side * half), (v1, v2, side * w), kept


@kernel
def remove(bath, count, i):
    """Puts the last particle in the place of one that left; returns the number that remain."""
    for column in range(bath.shape[1]):
        bath[i, column] = bath[count - 1, column]
    return count - 1


@kernel
def sweep(gas, half, bath, count, before, velocity, elapsed):
    """Moves the bath by a flight with velocity ``before``; returns number left, next to hit (−1: none) and when."""
    i, first, wait = 0, -1, math.inf
    while i < count:
        particle = get(bath[i, VELOCITY:])
        r = add(get(bath[i]), add(particle, before, -1.0), elapsed)
        if max(abs(r[0]), abs(r[1]), abs(r[2])) > half:
            count = remove(bath, count, i)
            continue
        put(bath[i], r)
        contact = contact_time(r, add(particle, velocity, -1.0), gas.radius)
        if contact < wait:
            first, wait = i, contact
        i += 1
    return count, first, wait


@kernel
def let_in(gas, half, bath, count, velocity, stream, first, wait):
    """Adds the particles that enter until the next hit, where the sweep at the end of the flight expects them.

    Returns the number of particles, the next to hit and when; if the bath is full, the flight ends early (−1).
    """
    time = 0.0
    while True:
        gap, point, particle, kept = enter(gas, half, velocity, stream)
        time += gap
        if time >= wait:
            return count, first, wait
        if not kept:
            continue
        if count == len(bath):
            return count, -1, time
        w = add(particle, velocity, -1.0)
        put(bath[count], add(point, w, -time))
        put(bath[count, VELOCITY:], particle)
        bath[count, HIT] = 0.0
        contact = time + contact_time(point, w, gas.radius)
        if contact < wait:
            first, wait = count, contact
        count += 1


@kernel
def trajectory(gas, half, start, times, stream, states, log, bath):
    """Fills ``states`` and as much of ``log`` as there is; returns the number of collisions."""
    time, end = times[0], times[-1]
    position, velocity = get(start), get(start[3:])
    before, elapsed = velocity, 0.0
    count, row, collisions = fill(gas, half, bath, stream), np.int64(0), np.int64(0)
    while True:
        count, first, wait = sweep(gas, half, bath, count, before, velocity, elapsed)
        count, first, wait = let_in(gas, half, bath, count, velocity, stream, first, min(wait, end - time))
        after = end if wait >= end - time else time + wait
        row = record_states(states, times, row, time, after, position, velocity)
        if after == end:
            return collisions
        position, time = add(position, velocity, wait), after
        before, elapsed = velocity, wait
        if first >= 0:
            particle = get(bath[first, VELOCITY:])
            r = add(get(bath[first]), add(particle, velocity, -1.0), wait)
            normal = add((0.0, 0.0, 0.0), r, 1 / norm(r))
            velocity, gone = collide(before, particle, normal, gas.mass_ratio)
            again = bath[first, HIT] > 0
            collisions = record_collision(
                log, collisions, time, position, normal, before, velocity, particle, gone, again
            )
            put(bath[first], add(r, add(gone, before, -1.0), -wait))  # the sweep moves it back to the contact
            put(bath[first, VELOCITY:], gone)
            bath[first, HIT] = 1.0


@kernel
def new_bath(gas, half):
    """Makes room for 2.2 times the mean number of particles and 1000 more."""
    return np.empty((int(2.2 * gas.density * 8 * half**3) + 1000, 7))


@entry
def trajectories(gas, half, starts, times, streams, states, logs, counts):
    """Fills states, logs of collisions and their numbers for trajectories one after the other."""
    bath = new_bath(gas, half)
    for m in range(len(starts)):
        counts[m] = trajectory(gas, half, starts[m], times, streams[m], states[m], logs[m], bath)
