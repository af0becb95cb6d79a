"""Where a fit by likelihood begins: networks at the data's own averages, in any form of the model."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray
from scipy.stats import poisson

from nke.arrays import cholesky
from nke.data import Coordinates, Transitions
from nke.fitting.start import (
    FOLLOWS,
    NOISELESS,
    RESOLUTION,
    Start,
    jump_law,
    jumps_follow_the_state,
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
    Frame,
    FullFactor,
    Generator,
    JumpNetwork,
    KineticDrift,
    KineticFactor,
    KineticJump,
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
    def jump_shapes(self) -> str | None: ...
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

    def __init__(
        self,
        some: Transitions,
        coordinates: Coordinates,
        jumps: bool,
        method: Options,
        seed: int,
        frame: Frame | None = None,
    ):
        self.x, self.frame = coordinates.to(some.x), frame
        self.free = np.arange(coordinates.dimension) if frame is None else np.array(frame.free)
        self.deviation = self.x.std(axis=0)[self.free]
        self.x = self.x if frame is None else frame.seen(self.x)
        self.moved = coordinates.displacement_to(some.displacement)[:, self.free]
        self.step, self.typical = coordinates.step_to(some.step), float(np.median(coordinates.step_to(some.step)))
        self.jumps, self.method = jumps, method
        self.origin, self.least = near_zero(self.x, coordinates)
        self.amplitude = state_size(self.x, coordinates)[:, self.free]
        self.law = self._law(self.moved)
        self.rest = self._left_over()
        self.rest_law = self._law(self.rest)
        self.noiseless = self._noiseless()
        self.law = self.law.read_with(self.resolution, self.typical) if self.noiseless.any() else self.law
        self.mixture = None
        if jumps:
            clear = bool(self.noiseless.all())
            self.mixture = jump_law(self.law, self.moved, self.step, method.components, seed, clear)
        self.moving, self.shapes_in_words = self._jump_shapes()

    def _law(self, moved: Float[np.ndarray, "t r"]) -> Start:
        start = start_with_jumps if self.jumps else start_without_jumps
        return start(moved, self.step, NOISELESS * self.deviation)

    def _noiseless(self) -> Bool[np.ndarray, " r"]:
        """Coordinates whose calm motion a quadratic drift explains without any noise."""
        return np.sqrt(self.typical * np.diag(self.rest_law.spread)) < 2 * NOISELESS * self.deviation

    @property
    def resolution(self) -> Float[np.ndarray, " r"]:
        return np.where(self.noiseless, RESOLUTION * self.deviation, 0.0)

    def _left_over(self) -> Float[np.ndarray, "t r"]:
        """The displacements without a quadratic drift."""
        terms, weights = np.asarray(monomials(self.x, 2)), (self.step * (1 - self.law.jumped))[:, None]
        constant, slopes = polynomial_drift(terms, self.moved / self.step[:, None], weights * np.ones_like(self.moved))
        return self.moved - self.step[:, None] * (constant + terms @ slopes.T)

    def _jump_shapes(self) -> tuple[bool, str]:
        """Whether means and covariances of the jumps depend on the state, and why."""
        asked = self.method.jump_shapes
        if asked is not None or self.mixture is None:
            return asked == "state-dependent", ""
        found, share = jumps_follow_the_state(self.mixture, self.rest, self.law.jumped, self.x)
        share_in_words = f"the state explains {share:.1%} of the jumps' variance or of their squares'"
        return found, f"{share_in_words} (threshold {FOLLOWS:.0%}, and beyond chance)"

    def plausible(self) -> list[str]:
        """Forms of the noise worth a trial, the simplest first.

        Constant and relative noise exclude each other where one explains what a quadratic drift leaves over far better.
        """
        if self.noiseless.any():
            return ["constant"] if self.noiseless.all() else ["constant", "plain"]
        rest, scaled = self.rest, self.rest / self.amplitude
        relative = self._law(scaled).log_prob(scaled, self.step) - np.log(self.amplitude).sum(axis=1)
        gain = np.mean(relative - self.rest_law.log_prob(rest, self.step))
        return [*(["constant"] if gain < CLEAR else []), "plain", *(["relative"] if gain > -CLEAR else [])]

    def generator(self, form: Form, key: Callable[[], PRNGKeyArray]) -> Generator:
        sizes: dict[str, int] = {"width": self.method.width, "depth": self.method.depth}
        drift, factor = self._drift(form, sizes, key()), self._factor(form, sizes, key())
        measure, order = self._jump(sizes, key()) if self.jumps else (None, 1)
        if self.frame is not None:
            drift, factor = KineticDrift(drift, self.frame), KineticFactor(factor, self.frame)
            measure = measure and KineticJump(measure, self.frame)
        jump = None if measure is None else PoissonJump(measure, order)
        return Generator(Advection(drift), Diffusion(factor), jump, self.frame)

    def _jump(self, sizes: dict[str, int], key: PRNGKeyArray) -> tuple[JumpNetwork, int]:
        """And how many jumps of a step to tell apart."""
        law, mixture = self.law, self.mixture
        components = mixture.components if mixture else self.method.components or 1
        size, noise = np.sqrt(np.diag(law.jump)), np.sqrt(self.typical) * np.asarray(cholesky(law.spread))
        options: dict[str, Any] = {"moving": self.moving, "inputs": self.x.shape[1], **sizes}
        network = JumpNetwork(float32(size), float32(noise), law.rate, components, **options, key=key)
        if mixture is not None and components > 1:
            network = network.starting_from(mixture)
        return network, series_order(law.rate * self.typical, components)

    def _drift(self, form: Form, sizes: dict[str, int], key: PRNGKeyArray) -> DriftNetwork:
        """Speeds of order one, and the polynomial by least squares, calm steps weighed by their noise."""
        speed = np.sqrt(np.mean((self.moved / self.step[:, None]) ** 2, axis=0))
        scale, inputs = float32(np.where(speed > 0, speed, 1.0)), self.x.shape[1]
        drift = DriftNetwork(scale, **sizes, degree=form.degree, inputs=inputs, key=key)
        noise = self.amplitude if form.noise == "relative" else np.ones_like(self.moved)
        weights = (self.step * (1 - self.law.jumped))[:, None] / noise**2
        terms = np.asarray(monomials(self.x, form.degree))
        return drift.starting_from(*map(float32, polynomial_drift(terms, self.moved / self.step[:, None], weights)))

    def _factor(self, form: Form, sizes: dict[str, int], key: PRNGKeyArray):
        if form.noise != "relative":
            start, inputs = float32(cholesky(self.law.spread)), self.x.shape[1]
            return NOISES[form.noise](start, **sizes, inputs=inputs, key=key)
        spread = self._law(self.moved / self.amplitude).spread
        start, origin, size = map(float32, (cholesky(spread), self.origin, self.least))
        noisy = None if self.frame is None else self.frame.free
        return RelativeFactor(start, **sizes, origin=origin, size=size, noisy=noisy, key=key)


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
