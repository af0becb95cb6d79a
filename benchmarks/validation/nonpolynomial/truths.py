"""Systems with known truth that only this measurement needs."""

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from nke.arrays import Array, namespace
from nke.mixtures import GaussianMixture
from nke.systems import Lorenz
from nke.systems.base import System
from nke.systems.euler_maruyama import EulerMaruyamaScheme, FineStepped, fine_steps


@dataclass(frozen=True)
class JumpingOscillator(EulerMaruyamaScheme):
    """An oscillator in two wells whose velocity is kicked one way, at a rate that does not depend on the state.

        dq = v dt + small_noise dW₁,  dv = (q − q³ − v/2) dt + noise dW₂ + jumps of rate ``rate``

    A jump of the velocity is N(widths w, w²), where w = noise √interval is the noise of one recorded step.
    """

    noise: float = 0.5
    small_noise: float = 0.05
    rate: float = 0.5
    widths: float = 8.0
    dimension: int = field(default=2, init=False, repr=False)

    duration: ClassVar[float] = 5.0
    interval: ClassVar[float] = 0.05

    @property
    def names(self) -> tuple[str, ...]:
        return ("q", "v")

    @property
    def has_jumps(self) -> bool:
        return self.rate > 0

    def drift(self, x: ArrayLike) -> Float[Array, "*batch d"]:
        state = self.as_states(x)
        q, v = state[..., 0], state[..., 1]
        return namespace(state).stack([v, q - q**3 - v / 2], axis=-1)

    def noise_matrix(self, x: ArrayLike) -> Float[Array, "*batch d d"]:
        return _everywhere(np.diag([self.small_noise, self.noise]), self.as_states(x))

    def jump_rate(self, x: ArrayLike) -> Float[Array, "*batch"]:
        state = self.as_states(x)
        return self.rate * namespace(state).ones_like(state[..., 0])

    def jump_law(self, x: ArrayLike) -> GaussianMixture:
        state = self.as_states(x)
        xp, width = namespace(state), self.noise * math.sqrt(self.interval)
        weights = xp.ones_like(state[..., :1])
        means = weights[..., None] * xp.asarray([0.0, self.widths * width])
        return GaussianMixture(weights, means, weights[..., None, None] * xp.asarray([[0.0, 0.0], [0.0, width**2]]))

    def initial(self, trajectories: int, rng: np.random.Generator) -> Float[np.ndarray, "trajectories d"]:
        return rng.uniform(-1.5, 1.5, (trajectories, 2))


@dataclass(frozen=True)
class TankReactor(FineStepped):
    """A continuous stirred tank with an exothermic reaction of Arrhenius kinetics: conversion x, temperature θ.

        dx = (−x + r) dt + noise₁ dW₁,  dθ = (−(1 + cooling) θ + heat r) dt + noise₂ dW₂,
        r = damkohler (1 − x) exp(θ/(1 + θ/activation)),  dW₁ dW₂ = correlation dt

    These are the dimensionless equations of Uppal, Ray and Poore (1974). With the defaults the tank ignites and goes
    out in turns, with a period of 3.5; the temperature rises from 2 to 6.5 within five recorded steps. It is simulated
    by Heun's method, of weak order two under constant noise: Euler's is off by one or two per cent where it ignites.
    """

    damkohler: float = 0.15
    heat: float = 14.0
    cooling: float = 2.0
    activation: float = 20.0
    conversion_noise: float = 0.02
    temperature_noise: float = 0.15
    correlation: float = 0.6
    dimension: int = field(default=2, init=False, repr=False)

    duration: ClassVar[float] = 10.0
    interval: ClassVar[float] = 0.1

    @property
    def names(self) -> tuple[str, ...]:
        return ("conversion", "temperature")

    def drift(self, x: ArrayLike) -> Float[Array, "*batch d"]:
        state = self.as_states(x)
        xp = namespace(state)
        conversion, temperature = state[..., 0], state[..., 1]
        rate = self.damkohler * (1 - conversion) * xp.exp(temperature / (1 + temperature / self.activation))
        return xp.stack([rate - conversion, self.heat * rate - (1 + self.cooling) * temperature], axis=-1)

    def noise_matrix(self, x: ArrayLike) -> Float[Array, "*batch d d"]:
        shared, rest = self.correlation, math.sqrt(1 - self.correlation**2)
        rows = [[self.conversion_noise, 0.0], [self.temperature_noise * shared, self.temperature_noise * rest]]
        return _everywhere(np.array(rows), self.as_states(x))

    def initial(self, trajectories: int, rng: np.random.Generator) -> Float[np.ndarray, "trajectories d"]:
        return rng.uniform([0.5, 1.0], [0.9, 3.0], (trajectories, 2))

    def advance(self, x: Float[np.ndarray, "m d"], step: float, rng: np.random.Generator) -> Float[np.ndarray, "m d"]:
        count, h = fine_steps(step, self.dt)
        root = math.sqrt(h) * np.asarray(self.noise_matrix(np.zeros(2))).T
        for _ in range(count):
            kick, slope = rng.standard_normal(x.shape) @ root, np.asarray(self.drift(x))
            x = x + h / 2 * (slope + np.asarray(self.drift(x + h * slope + kick))) + kick
        return x


@dataclass(frozen=True)
class ScaledLorenz(System):
    """Lorenz's equations with states a tenth of the usual ones, as DynGMA uses them: g = 0.3 diag(x, y, z)."""

    dimension: int = field(default=3, init=False, repr=False)

    duration: ClassVar[float] = 2.0
    interval: ClassVar[float] = 0.01
    usual: ClassVar[Lorenz] = Lorenz(noise=0.3)
    box: ClassVar[tuple[tuple[float, ...], tuple[float, ...]]] = ((-2.5, -3.0, -1.0), (2.5, 3.0, 6.0))

    @property
    def names(self) -> tuple[str, ...]:
        return self.usual.names

    def drift(self, x: ArrayLike) -> Float[Array, "*batch d"]:
        return self.usual.drift(10 * self.as_states(x)) / 10

    def noise_matrix(self, x: ArrayLike) -> Float[Array, "*batch d d"]:
        return self.usual.noise_matrix(x)

    def initial(self, trajectories: int, rng: np.random.Generator) -> Float[np.ndarray, "trajectories d"]:
        return rng.uniform(*self.box, (trajectories, 3))

    def advance(self, x: Float[np.ndarray, "m d"], step: float, rng: np.random.Generator) -> Float[np.ndarray, "m d"]:
        return self.usual.advance(10 * x, step, rng) / 10


def _everywhere(matrix: Float[np.ndarray, "d d"], state: Float[Array, "*batch d"]) -> Float[Array, "*batch d d"]:
    xp = namespace(state)
    return xp.broadcast_to(xp.asarray(matrix, dtype=state.dtype), (*state.shape, state.shape[-1]))
