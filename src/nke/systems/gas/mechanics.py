"""A sphere among free points: vectors, times of contact, the elastic collision, and what is written down."""

import math

from nke.systems.gas.compilation import kernel

LOG_COLUMNS = 20  # of a collision, as ``record_collision`` writes it


@kernel
def dot(a, b):
    """Computes a·b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def add(a, b, factor):
    """Computes a + factor·b."""
    return a[0] + factor * b[0], a[1] + factor * b[1], a[2] + factor * b[2]


@kernel
def norm(a):
    """Computes |a|."""
    return math.sqrt(dot(a, a))


@kernel
def put(row, a):
    """Writes a vector to the first three places of a row."""
    row[0], row[1], row[2] = a


@kernel
def get(row):
    """Reads a vector from the first three places of a row."""
    return row[0], row[1], row[2]


@kernel
def reach_time(r, w, radius, growth):
    """Computes the first time at which |r + w t| ≤ radius + growth·t; infinite if there is none.

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
    """Computes when a point at r with velocity w, both relative to a sphere, meets it; infinite if it never does."""
    return reach_time(r, w, radius, 0.0) if dot(r, w) < 0 else math.inf


@kernel
def collide(velocity, particle, normal, mass_ratio):
    """Computes velocities of sphere and particle after an elastic collision along the normal."""
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
    """Writes a collision while the log has room; returns the number so far.

    The columns are time, position, normal (from the sphere to the particle), velocity of the sphere before and after,
    velocity of the particle before and after, and whether the particle had hit the sphere before.
    """
    if count < len(log):
        row = log[count]
        row[0], row[19] = time, 1.0 if again else 0.0
        put(row[1:], position)
        put(row[4:], normal)
        put(row[7:], before)
        put(row[10:], after)
        put(row[13:], particle_before)
        put(row[16:], particle_after)
    return count + 1
