"""A stream of random numbers per trajectory, so that the data does not depend on how trajectories share the cores."""

import math

import numpy as np

from nke.systems.gas.compilation import kernel

ROTATE, BACK = np.uint64(23), np.uint64(41)
TURN, RETURN = np.uint64(45), np.uint64(19)
SHIFT, LOW_BITS = np.uint64(17), np.uint64(12)
UNIT = 2.0**-52


@kernel
def uniform(stream):
    """Between 0 and 1, both excluded: xoshiro256++ (Blackman and Vigna, 2021). The stream is its state, four words."""
    a, b, c, d = stream[0], stream[1], stream[2], stream[3]
    mixed = a + d
    word = ((mixed << ROTATE) | (mixed >> BACK)) + a
    c ^= a
    d ^= b
    stream[0], stream[1] = a ^ d, b ^ c
    stream[2], stream[3] = c ^ (b << SHIFT), (d << TURN) | (d >> RETURN)
    return (np.float64(word >> LOW_BITS) + 0.5) * UNIT


@kernel
def exponential(stream):
    return -math.log(uniform(stream))


@kernel
def rayleigh(stream):
    return math.sqrt(2 * exponential(stream))


@kernel
def normal(stream):
    return rayleigh(stream) * math.cos(2 * math.pi * uniform(stream))


@kernel
def direction(stream):
    """Uniform on the unit sphere."""
    z, angle = 2 * uniform(stream) - 1, 2 * math.pi * uniform(stream)
    across = math.sqrt(1 - z * z)
    return across * math.cos(angle), across * math.sin(angle), z


@kernel
def maxwell(stream, spread):
    """A velocity whose components are N(0, spread²)."""
    across, angle = spread * rayleigh(stream), 2 * math.pi * uniform(stream)
    return across * math.cos(angle), across * math.sin(angle), spread * normal(stream)
