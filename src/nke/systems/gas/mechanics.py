"""A sphere among free points: vectors, times of contact, the elastic collision, and what is written down."""

import math

from nke.systems.gas.compilation import kernel

# Columns of the log: one collision.
TIME, POSITION, NORMAL = 0, 1, 4  # the normal points from the sphere to the particle
BEFORE, AFTER = 7, 10  # velocity of the sphere
PARTICLE_BEFORE, PARTICLE_AFTER, AGAIN = 13, 16, 19  # again: the particle had hit the sphere before
COLUMNS = 20


@kernel
def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def add(a, b, factor):
    """a + factor·b."""
    return a[0] + factor * b[0], a[1] + factor * b[1], a[2] + factor * b[2]


@kernel
def norm(a):
    return math.sqrt(dot(a, a))


@kernel
def put(row, a):
    row[0], row[1], row[2] = a


@kernel
def get(row):
    return row[0], row[1], row[2]


@kernel
def reach_time(r, w, radius, growth):
    """The first time at which |r + w t| ≤ radius + growth·t; infinite if there is none.

    No sphere of this radius that starts at the origin and never exceeds the speed ``growth`` meets the point sooner.
    """
    a, b, c = dot(w, w) - growth * growth, dot(r, w) - radius * growth, dot(r, r) - radius * radius
    if c <= 0:
        return 0.0
    root = b * b - a * c
    if root < 0 or (a >= 0 and b >= 0):
        return math.inf
    return c / (math.sqrt(root) - b)


@kernel
def contact_time(r, w, radius):
    """When a point at r with velocity w, both relative to a sphere, meets it; infinite if it never does."""
    return reach_time(r, w, radius, 0.0) if dot(r, w) < 0 else math.inf


@kernel
def collide(velocity, particle, normal, mass_ratio):
    """Velocities of sphere and particle after an elastic collision along the normal."""
    g = dot(add(particle, velocity, -1.0), normal)
    kick = 2 * g / (mass_ratio + 1)
    return add(velocity, normal, kick), add(particle, normal, -mass_ratio * kick)


@kernel
def record_states(states, times, row, begin, end, position, velocity):
    """Writes the sphere's state at all recording times up to ``end`` of a straight flight; returns the next row."""
    while row < len(times) and times[row] <= end:
        put(states[row], add(position, velocity, times[row] - begin))
        put(states[row, 3:], velocity)
        row += 1
    return row


@kernel
def record_collision(log, count, time, position, normal, before, after, particle_before, particle_after, again):
    """Writes a collision while the log has room; returns the number so far."""
    if count < len(log):
        row = log[count]
        row[TIME], row[AGAIN] = time, 1.0 if again else 0.0
        put(row[POSITION:], position)
        put(row[NORMAL:], normal)
        put(row[BEFORE:], before)
        put(row[AFTER:], after)
        put(row[PARTICLE_BEFORE:], particle_before)
        put(row[PARTICLE_AFTER:], particle_after)
    return count + 1
