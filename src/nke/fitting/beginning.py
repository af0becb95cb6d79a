"""Where a fit by likelihood begins: networks at the data's own averages, in any form of the model."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray
from scipy.stats import poisson

from nke.arrays import cholesky
from nke.data import Coordinates, Transitions
from nke.fitting.start import (
    Start,
    jump_law,
    near_zero,
    polynomial_drift,
    start_with_jumps,
    start_without_jumps,
    state_size,
)
from nke.operators import (
    Advection,
    ConstantFactor,
    DiagonalFactor,
    Diffusion,
    DriftNetwork,
    FullFactor,
    Generator,
    JumpNetwork,
    PoissonJump,
    RelativeFactor,
    monomials,
)

NOISES = {"constant": ConstantFactor, "plain": FullFactor, "diagonal": DiagonalFactor, "relative": RelativeFactor}
CLEAR = 0.2  # nats per transition between the starts of two forms of the noise that need no trial
NEGLECTED = 2e-3  # chance of more jumps in a step than the Poisson series tells apart
MOST_TERMS = 16  # components for one number of jumps


@runtime_checkable
class Options(Protocol):
    """What is said about the networks."""

    @property
    def components(self) -> int | None: ...
    @property
    def jump_shapes(self) -> str: ...
    @property
    def width(self) -> int: ...
    @property
    def depth(self) -> int: ...


@dataclass(frozen=True)
class Form:
    """What the short runs decide."""

    noise: str
    substeps: int = 1
    degree: int = 1  # of the drift's polynomial

    def __str__(self) -> str:
        more = [f"degree {self.degree}"] * (self.degree > 1) + [f"{self.substeps} sub-steps"] * (self.substeps > 1)
        return " ".join([self.noise, *more])


class Beginning:
    """Networks that begin at the data's own averages, in any form."""

    def __init__(self, some: Transitions, coordinates: Coordinates, jumps: bool, method: Options, seed: int):
        self.x = coordinates.to(some.x)
        self.moved, self.step = coordinates.displacement_to(some.displacement), coordinates.step_to(some.step)
        self.jumps, self.method = jumps, method
        self.law = self._law(self.moved)
        self.mixture = None
        if jumps:
            self.mixture = jump_law(self.law, self.moved, self.step, method.components, seed)
        self.origin, self.least = near_zero(self.x, coordinates)
        self.amplitude = state_size(self.x, coordinates)

    def _law(self, moved: Float[np.ndarray, "t d"]) -> Start:
        return start_with_jumps(moved, self.step) if self.jumps else start_without_jumps(moved, self.step)

    def plausible(self) -> list[str]:
        """Forms of the noise worth a trial, the simplest first.

        Constant and relative noise exclude each other where one explains what a quadratic drift leaves over far better.
        """
        terms, weights = np.asarray(monomials(self.x, 2)), (self.step * (1 - self.law.jumped))[:, None]
        constant, slopes = polynomial_drift(terms, self.moved / self.step[:, None], weights * np.ones_like(self.moved))
        rest = self.moved - self.step[:, None] * (constant + terms @ slopes.T)
        scaled = rest / self.amplitude
        relative = self._law(scaled).log_prob(scaled, self.step) - np.log(self.amplitude).sum(axis=1)
        gain = np.mean(relative - self._law(rest).log_prob(rest, self.step))
        return [*(["constant"] if gain < CLEAR else []), "plain", *(["relative"] if gain > -CLEAR else [])]

    def generator(self, form: Form, key: Callable[[], PRNGKeyArray]) -> Generator:
        sizes: dict[str, int] = {"width": self.method.width, "depth": self.method.depth}
        drift = self._drift(form, sizes, key())
        factor = self._factor(form, sizes, key())
        jump = None
        if self.jumps:
            typical, law, mixture = float(np.median(self.step)), self.law, self.mixture
            components = mixture.components if mixture else self.method.components or 1
            size, noise = np.sqrt(np.diag(law.jump)), np.sqrt(typical) * np.asarray(cholesky(law.spread))
            moving = self.method.jump_shapes == "state-dependent"
            network = JumpNetwork(
                float32(size), float32(noise), law.rate, components, **sizes, moving=moving, key=key()
            )
            if mixture is not None and components > 1:
                network = network.starting_from(mixture)
            jump = PoissonJump(network, series_order(law.rate * typical, components))
        return Generator(Advection(drift), Diffusion(factor), jump)

    def _drift(self, form: Form, sizes: dict[str, int], key: PRNGKeyArray) -> DriftNetwork:
        """Speeds of order one, and the polynomial by least squares, calm steps weighed by their noise."""
        speed = np.sqrt(np.mean((self.moved / self.step[:, None]) ** 2, axis=0))
        drift = DriftNetwork(float32(np.where(speed > 0, speed, 1.0)), **sizes, degree=form.degree, key=key)
        noise = self.amplitude if form.noise == "relative" else np.ones_like(self.x)
        weights = (self.step * (1 - self.law.jumped))[:, None] / noise**2
        terms = np.asarray(monomials(self.x, form.degree))
        return drift.starting_from(*map(float32, polynomial_drift(terms, self.moved / self.step[:, None], weights)))

    def _factor(self, form: Form, sizes: dict[str, int], key: PRNGKeyArray):
        if form.noise != "relative":
            return NOISES[form.noise](float32(cholesky(self.law.spread)), **sizes, key=key)
        spread = self._law(self.moved / self.amplitude).spread
        start, origin, size = map(float32, (cholesky(spread), self.origin, self.least))
        return RelativeFactor(start, **sizes, origin=origin, size=size, key=key)


def series_order(expected: float, components: int) -> int:
    """How many jumps per step to tell apart: more happen with a chance of at most ``NEGLECTED``.

    At least one, at most four, and no more than ``MOST_TERMS`` components for any number of jumps.
    """
    order = 1
    while order < 4 and components ** (order + 1) <= MOST_TERMS and poisson.sf(order, expected) > NEGLECTED:
        order += 1
    return order


def float32(a: np.ndarray) -> Float[Array, "..."]:
    return jnp.asarray(a, jnp.float32)
