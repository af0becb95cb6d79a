"""The exact gas without a bath: particles are drawn when they hit the sphere, and remembered from then on.

Given the sphere's path, the particles that it has not met are a Poisson gas, thinned to those whose straight way back
to the start never touched the sphere. So collisions are proposed as if the gas were untouched, and one is rejected if
its particle would have met the sphere on an earlier flight. Particles that were hit are followed and may hit again.
"""

import math
from typing import NamedTuple

import numpy as np

from nke.systems.gas.compilation import entry, kernel
from nke.systems.gas.mechanics import (
    add,
    collide,
    contact_time,
    dot,
    get,
    norm,
    put,
    reach_time,
    record_collision,
    record_states,
)
from nke.systems.gas.randomness import direction, exponential, maxwell, uniform

FLIGHTS_REMEMBERED = 4096  # of the sphere, with the particles hit at their starts
SPEED_MARGIN = 1.25  # of the bound on the sphere's speed over the speed that exceeded it


class Memory(NamedTuple):
    """The last flights of the sphere, as a ring; at the start of each it hit a particle.

    Attributes:
        time: When the flight starts.
        position: Position of the sphere then.
        velocity: Velocity of the sphere from then on.
        place: Place of the particle then.
        particle: Velocity of the particle from then on.
        wake: Time before which the particle cannot hit again; infinite once it has.
    """

    time: np.ndarray
    position: np.ndarray
    velocity: np.ndarray
    place: np.ndarray
    particle: np.ndarray
    wake: np.ndarray


@kernel
def new_memory():
    """Makes a memory without flights."""
    vectors = np.empty((4, FLIGHTS_REMEMBERED, 3))
    return Memory(
        np.empty(FLIGHTS_REMEMBERED), vectors[0], vectors[1], vectors[2], vectors[3], np.empty(FLIGHTS_REMEMBERED)
    )


@kernel
def remember(memory, flights, time, position, velocity, place, particle, wake):
    """Writes a flight and the particle hit at its start; returns the number of flights so far."""
    slot = flights % FLIGHTS_REMEMBERED
    memory.time[slot], memory.wake[slot] = time, wake
    put(memory.position[slot], position)
    put(memory.velocity[slot], velocity)
    put(memory.place[slot], place)
    put(memory.particle[slot], particle)
    return flights + 1


@kernel
def recollision(gas, memory, flights, bound, now, position, velocity, limit):
    """Finds the earliest contact with a remembered particle up to ``limit``, and its slot (−1: none).

    A particle is looked at only if a sphere slower than ``bound`` could have reached it.
    """
    first, when = -1, limit
    for slot in range(min(flights, FLIGHTS_REMEMBERED)):
        if memory.wake[slot] > limit:
            continue
        particle = get(memory.particle[slot])
        r = add(add(get(memory.place[slot]), particle, now - memory.time[slot]), position, -1.0)
        contact = now + contact_time(r, add(particle, velocity, -1.0), gas.radius)
        if contact <= when:
            first, when = slot, contact
        # Finite, so that a particle out of reach is looked at again when the bound is raised.
        memory.wake[slot] = min(now + reach_time(r, particle, gas.radius, bound), 1e300)
    return first, when


@kernel
def propose(gas, stream, velocity):
    """Draws a particle that hits the sphere, from (|v| + |V|) f(v) thinned to |v − V| f(v): velocity, normal, kept.

    A uniform impact disc is a normal with the cosine law around the direction that the particle comes from.
    """
    speed = norm(velocity)
    thermal = gas.spread * math.sqrt(8 / math.pi)
    if uniform(stream) * (thermal + speed) < thermal:
        size = gas.spread * math.sqrt(2 * (exponential(stream) + exponential(stream)))
        particle = add((0.0, 0.0, 0.0), direction(stream), size)
    else:
        particle = maxwell(stream, gas.spread)
    w = add(particle, velocity, -1.0)
    relative = norm(w)
    normal = add(direction(stream), w, -1 / relative)
    normal = add((0.0, 0.0, 0.0), normal, 1 / norm(normal))
    return particle, normal, uniform(stream) * (norm(particle) + speed) < relative


@kernel
def flight_at(memory, oldest, newest, time):
    """Finds the last of the flights oldest … newest that has started by ``time``."""
    while oldest < newest:
        middle = (oldest + newest + 1) // 2
        if memory.time[middle % FLIGHTS_REMEMBERED] <= time:
            oldest = middle
        else:
            newest = middle - 1
    return oldest


@kernel
def met_before(gas, memory, flights, bound, place, particle, time):
    """Tells whether a particle that hits the sphere at ``place`` would have met it on an earlier flight.

    It goes back in time along the particle's straight way. Between looks it skips what no sphere slower than ``bound``
    can have reached, and each flight that it looks at is solved exactly.
    """
    oldest, flight = max(0, flights - FLIGHTS_REMEMBERED), flights - 1
    while flight > oldest:
        start = memory.time[flight % FLIGHTS_REMEMBERED]
        r = add(add(place, particle, start - time), get(memory.position[flight % FLIGHTS_REMEMBERED]), -1.0)
        look = start - reach_time(r, (-particle[0], -particle[1], -particle[2]), gas.radius, bound)
        if look < memory.time[oldest % FLIGHTS_REMEMBERED]:
            return False
        flight = flight_at(memory, oldest, flight - 1, look)
        slot = flight % FLIGHTS_REMEMBERED
        velocity, length = get(memory.velocity[slot]), look - memory.time[slot]
        r = add(add(place, particle, look - time), add(get(memory.position[slot]), velocity, length), -1.0)
        if contact_time(r, add(velocity, particle, -1.0), gas.radius) <= length:
            return True
    return False


@kernel
def next_collision(gas, stream, memory, flights, bound, end):
    """Finds the next collision: slot of the particle, time, velocity of the particle, normal.

    The slot is −1 for a particle not met before, −2 if there is no collision before the end.
    """
    start, position, velocity = _last(memory, flights)
    now, nothing = start, (0.0, 0.0, 0.0)
    area = math.pi * gas.radius * gas.radius
    rate = gas.density * area * (gas.spread * math.sqrt(8 / math.pi) + norm(velocity))
    while True:
        proposal = now + exponential(stream) / rate
        here = add(position, velocity, now - start)
        slot, when = recollision(gas, memory, flights, bound, now, here, velocity, min(proposal, end))
        here = add(position, velocity, when - start)
        if slot >= 0:
            particle = get(memory.particle[slot])
            r = add(add(get(memory.place[slot]), particle, when - memory.time[slot]), here, -1.0)
            return slot, when, particle, add(nothing, r, 1 / norm(r))
        if proposal >= end:
            return -2, end, nothing, nothing
        particle, normal, kept = propose(gas, stream, velocity)
        if kept and not met_before(gas, memory, flights, bound, add(here, normal, gas.radius), particle, proposal):
            return -1, proposal, particle, normal
        now = proposal


@kernel
def _last(memory, flights):
    """Reads start, position and velocity of the last flight."""
    slot = (flights - 1) % FLIGHTS_REMEMBERED
    return memory.time[slot], get(memory.position[slot]), get(memory.velocity[slot])


@kernel
def trajectory(gas, start, times, stream, states, log, memory):
    """Fills ``states`` and as much of ``log`` as there is; returns the number of collisions."""
    position, velocity = get(start), get(start[3:])
    flights = remember(memory, np.int64(0), times[0], position, velocity, position, velocity, math.inf)
    bound = max(4.0 * gas.spread / math.sqrt(gas.mass_ratio), SPEED_MARGIN * norm(velocity))
    end, row, collisions = times[-1], np.int64(0), np.int64(0)
    while True:
        slot, time, particle, normal = next_collision(gas, stream, memory, flights, bound, end)
        begin, position, velocity = _last(memory, flights)
        row = record_states(states, times, row, begin, time, position, velocity)
        if slot == -2:
            return collisions
        position = add(position, velocity, time - begin)
        faster, gone = collide(velocity, particle, normal, gas.mass_ratio)
        collisions = record_collision(
            log, collisions, time, position, normal, velocity, faster, particle, gone, slot >= 0
        )
        if slot >= 0:
            memory.wake[slot] = math.inf
        place = add(position, normal, gas.radius)
        flights = remember(memory, flights, time, position, faster, place, gone, time)
        if dot(faster, faster) > bound * bound:
            bound = SPEED_MARGIN * norm(faster)
            forget_bounds(memory, flights)


@kernel
def forget_bounds(memory, flights):
    """Marks every particle that may still hit as to be looked at."""
    for slot in range(min(flights, FLIGHTS_REMEMBERED)):
        if memory.wake[slot] < math.inf:
            memory.wake[slot] = -math.inf


@entry
def trajectories(gas, starts, times, streams, states, logs, counts):
    """Fills states, logs of collisions and their numbers for trajectories one after the other."""
    memory = new_memory()
    for m in range(len(starts)):
        counts[m] = trajectory(gas, starts[m], times, streams[m], states[m], logs[m], memory)
