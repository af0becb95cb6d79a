"""A stream of random numbers per trajectory, so that the data does not depend on how trajectories share the cores."""

import math

import numpy as np

from nke.systems.gas.compilation import kernel


@kernel
def uniform(stream):
    """Draws between 0 and 1, both excluded, by xoshiro256++ (Blackman and Vigna, 2021); the stream is its state."""
    a, b, c, d = stream[0], stream[1], stream[2], stream[3]
    word = rotate(a + d, 23) + a
    c ^= a
    d ^= b
    stream[0], stream[1] = a ^ d, b ^ c
    stream[2], stream[3] = c ^ (b << np.uint64(17)), rotate(d, 45)
    return (np.float64(word >> np.uint64(12)) + 0.5) * 2.0**-52


@kernel
def rotate(word, bits):
    """Rotates a word of 64 bits to the left."""
    return (word << np.uint64(bits)) | (word >> np.uint64(64 - bits))


@kernel
def exponential(stream):
    """Draws from the exponential law of mean one."""
    return -math.log(uniform(stream))


@kernel
def rayleigh(stream):
    """Draws from the Rayleigh law of scale one."""
    return math.sqrt(2 * exponential(stream))


@kernel
def normal(stream):
    """Draws from N(0, 1)."""
    return rayleigh(stream) * math.cos(2 * math.pi * uniform(stream))


@kernel
def direction(stream):
    """Draws a direction, uniform on the unit sphere."""
    z, angle = 2 * uniform(stream) - 1, 2 * math.pi * uniform(stream)
    across = math.sqrt(1 - z * z)
    return across * math.cos(angle), across * math.sin(angle), z


@kernel
def maxwell(stream, spread):
    """Draws a velocity whose components are N(0, spread²)."""
    across, angle = spread * rayleigh(stream), 2 * math.pi * uniform(stream)
    return across * math.cos(angle), across * math.sin(angle), spread * normal(stream)
