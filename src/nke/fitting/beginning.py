"""Where a fit by likelihood begins: networks at the data's own averages, in any form of the model."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
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
    FullFactor,
    Generator,
    JumpNetwork,
    KinematicConstraint,
    KineticDrift,
    KineticFactor,
    KineticJump,
    PoissonJump,
    RelativeFactor,
    monomial_degrees,
    monomials,
)

NOISES = {"constant": ConstantFactor, "plain": FullFactor, "diagonal": DiagonalFactor, "relative": RelativeFactor}
WITHOUT_NETWORKS = ("constant", "relative")  # forms of the noise that can do without
CLEAR = 0.2  # nats per transition between the starts of two forms of the noise that need no trial
NEGLECTED = 2e-3  # chance of more jumps in a step than the Poisson series tells apart
MOST_TERMS = 16  # components for one number of jumps
CLOSER = 0.05  # how much closer to zero noise without networks goes on falling with the state
MOST_DEGREE, MOST_COEFFICIENTS = 3, 120  # of a drift without network
MOST_TURNING = 1.0  # change of the drift over a step, of itself, in states from which a law without networks is learned
LEAST_DESCRIBED = 0.5  # share of such states, otherwise all
TELLING_TERMS = 20.0  # nats by which least squares must gain, beside one a coefficient, for a higher degree


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
    networks: bool = True  # without them only the drift depends on the state, and relative noise by its size

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
        constraint: KinematicConstraint | None = None,
    ):
        self.x, self.constraint = coordinates.to(some.x), constraint
        self.free = np.arange(coordinates.dimension) if constraint is None else np.array(constraint.free)
        self.deviation = self.x.std(axis=0)[self.free]
        self.x = self.x if constraint is None else constraint.seen(self.x)
        self.moved = coordinates.displacement_to(some.displacement)[:, self.free]
        self.step, self.typical = coordinates.step_to(some.step), float(np.median(coordinates.step_to(some.step)))
        self.jumps, self.method = jumps, method
        self._ahead: dict[str, Float[np.ndarray, "t d"]] = {}
        self.origin, self.least = near_zero(self.x, coordinates)
        self.amplitude = state_size(self.x, coordinates)[:, self.free]
        self.law = self._law(self.moved)
        self.rest = self._left_over("constant")
        self.rest_law = self._law(self.rest)
        self.noiseless = self._noiseless()
        self.law = self.law.read_with(self.resolution, self.typical) if self.noiseless.any() else self.law
        self.mixture = None
        if jumps:
            clear = bool(self.noiseless.all())
            self.mixture = jump_law(self.law, self.moved, self.step, method.components, seed, clear)
        self.state_dependent_shapes, self.shapes_in_words = self._jump_shapes()

    def _law(self, moved: Float[np.ndarray, "t r"]) -> Start:
        start = start_with_jumps if self.jumps else start_without_jumps
        return start(moved, self.step, NOISELESS * self.deviation)

    def _noiseless(self) -> Bool[np.ndarray, " r"]:
        """Coordinates whose calm motion a quadratic drift explains without any noise."""
        return np.sqrt(self.typical * np.diag(self.rest_law.spread)) < 2 * NOISELESS * self.deviation

    @property
    def resolution(self) -> Float[np.ndarray, " r"]:
        return np.where(self.noiseless, RESOLUTION * self.deviation, 0.0)

    def _left_over(self, noise: str) -> Float[np.ndarray, "t r"]:
        """The displacements without a quadratic drift by least squares."""
        terms = np.asarray(monomials(self.x, 2))
        constant, slopes = polynomial_drift(terms, self.moved / self.step[:, None], self._weights(noise))
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
        gain = self._relative_gain
        return [*(["constant"] if gain < CLEAR else []), "plain", *(["relative"] if gain > -CLEAR else [])]

    @cached_property
    def _relative_gain(self) -> float:
        """Nats per transition by which relative noise explains better what a quadratic drift leaves over."""
        rest, scaled = self.rest, self.rest / self.amplitude
        relative = self._law(scaled).log_prob(scaled, self.step) - np.log(self.amplitude).sum(axis=1)
        return float(np.mean(relative - self.rest_law.log_prob(rest, self.step)))

    def simplest(self, noise: str | None = None) -> list[Form]:
        """Forms without networks worth a try: the likelier noise, as many powers of the state as least squares ask for.

        A lower degree that gives half of what they gain comes first: see ``degrees_asked``.
        """
        if self.state_dependent_shapes or self.noiseless.any() or noise not in (None, *WITHOUT_NETWORKS):
            return []
        noise = noise or self._likelier_noise()
        return [Form(noise, degree=degree, networks=False) for degree in self.degrees_asked(noise)]

    def degrees_asked(self, noise: str) -> list[int]:
        """Powers of the state in the drift for which least squares ask, and those that give half of their gain.

        Least squares know no curvature of the motion within a step and may ask for too many.
        """
        velocity, halfway = self.moved / self.step[:, None], self._halfway(noise)
        degrees = self._degrees()
        weights, nats = self._weights(noise), []
        for degree in degrees:
            terms = np.asarray(monomials(halfway, degree))
            constant, slopes = polynomial_drift(terms, velocity, weights)
            squares = np.sum(weights * (velocity - constant - terms @ slopes.T) ** 2, axis=0)
            nats.append(-len(velocity) / 2 * np.log(squares).sum() - self._coefficients(degree))
        gained = np.array(nats) - nats[0]
        enough = max(gained.max() - TELLING_TERMS, 0.0)
        return [degrees[i] for i in sorted({int(np.argmax(gained >= share)) for share in (enough / 2, enough)})]

    def turning(self, x: Float[np.ndarray, "n d"], step: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """By how much of itself a drift by least squares changes over a step."""
        degree, constant, slopes = self._least_squares
        drift = lambda x: constant + np.asarray(monomials(x, degree)) @ slopes.T  # noqa: E731
        now, ahead = drift(x), x.copy()
        ahead[:, self.free] += step[:, None] * now
        return np.linalg.norm(drift(ahead) - now, axis=1) / np.maximum(np.linalg.norm(now, axis=1), 1e-300)

    def described(self, x: Float[np.ndarray, "n d"], step: Float[np.ndarray, " n"]) -> Bool[np.ndarray, " n"]:
        """Steps over which the drift changes by no more than itself: beyond, no discrete model holds.

        A question to the state alone, so that a law learned without the others is no other law.
        """
        fine = self.turning(x, step) <= MOST_TURNING
        return fine if fine.mean() > LEAST_DESCRIBED else np.ones_like(fine)

    @cached_property
    def _least_squares(self) -> tuple[int, Float[np.ndarray, " r"], Float[np.ndarray, "r n"]]:
        """Degree, constant and slopes of a polynomial drift."""
        noise = self._likelier_noise()
        degree = self.degrees_asked(noise)[-1]
        terms = np.asarray(monomials(self._halfway(noise), degree))
        return degree, *polynomial_drift(terms, self.moved / self.step[:, None], self._weights(noise))

    def _likelier_noise(self) -> str:
        return "constant" if self._relative_gain < 0 else "relative"

    def _degrees(self) -> list[int]:
        """Of a drift without network that are not too many coefficients."""
        return [k for k in range(1, MOST_DEGREE + 1) if k == 1 or self._coefficients(k) <= MOST_COEFFICIENTS]

    def _coefficients(self, degree: int) -> int:
        return len(monomial_degrees(self.x.shape[1], degree)) * len(self.free)

    def _halfway(self, noise: str) -> Float[np.ndarray, "t d"]:
        """States half a step ahead along a polynomial drift: there the mean velocity of a step is that of the drift."""
        if noise not in self._ahead:
            self._ahead[noise] = self._half_a_step_ahead(noise)
        return self._ahead[noise]

    def _half_a_step_ahead(self, noise: str) -> Float[np.ndarray, "t d"]:
        terms = np.asarray(monomials(self.x, self._degrees()[-1]))
        constant, slopes = polynomial_drift(terms, self.moved / self.step[:, None], self._weights(noise))
        ahead = self.x.copy()
        ahead[:, self.free] += self.step[:, None] / 2 * (constant + terms @ slopes.T)
        return ahead

    def _weights(self, noise: str) -> Float[np.ndarray, "t r"]:
        """Of velocities in least squares: calm steps by their length and their noise."""
        size = self.amplitude if noise == "relative" else np.ones_like(self.moved)
        return (self.step * (1 - self.law.jumped))[:, None] / size**2

    def generator(self, form: Form, key: Callable[[], PRNGKeyArray]) -> Generator:
        sizes = self._sizes(form)
        drift, factor = self.drift(form, key()), self._factor(form, sizes, key())
        measure, order = self._jump(sizes, key()) if self.jumps else (None, 1)
        if self.constraint is not None:
            factor = KineticFactor(factor, self.constraint)
            measure = measure and KineticJump(measure, self.constraint)
        jump = None if measure is None else PoissonJump(measure, order)
        return Generator(Advection(drift), Diffusion(factor), jump, self.constraint)

    def _jump(self, sizes: dict[str, int], key: PRNGKeyArray) -> tuple[JumpNetwork, int]:
        """And how many jumps of a step to tell apart."""
        law, mixture = self.law, self.mixture
        components = mixture.components if mixture else self.method.components or 1
        size, noise = np.sqrt(np.diag(law.jump)), np.sqrt(self.typical) * np.asarray(cholesky(law.spread))
        options: dict[str, Any] = {
            "state_dependent_shapes": self.state_dependent_shapes,
            "inputs": self.x.shape[1],
            **sizes,
        }
        network = JumpNetwork(float32(size), float32(noise), law.rate, components, **options, key=key)
        if mixture is not None and components > 1:
            network = network.starting_from(mixture)
        return network, series_order(law.rate * self.typical, components)

    def drift(self, form: Form, key: PRNGKeyArray) -> DriftNetwork | KineticDrift:
        """Speeds of order one, and the polynomial by least squares, calm steps weighed by their noise."""
        speed = np.sqrt(np.mean((self.moved / self.step[:, None]) ** 2, axis=0))
        scale, inputs = float32(np.where(speed > 0, speed, 1.0)), self.x.shape[1]
        drift = DriftNetwork(scale, **self._sizes(form), degree=form.degree, inputs=inputs, key=key)
        terms = np.asarray(monomials(self.x if form.networks else self._halfway(form.noise), form.degree))
        weights = self._weights(form.noise)
        drift = drift.starting_from(*map(float32, polynomial_drift(terms, self.moved / self.step[:, None], weights)))
        return drift if self.constraint is None else KineticDrift(drift, self.constraint)

    def _sizes(self, form: Form) -> dict[str, int]:
        """Of the networks."""
        return {"width": self.method.width, "depth": self.method.depth if form.networks else 0}

    def _factor(self, form: Form, sizes: dict[str, int], key: PRNGKeyArray):
        """Without networks from independent noise on: correlations are then parameters that may be dropped."""
        factor = cholesky if form.networks else lambda spread: np.diag(np.sqrt(np.diag(spread)))
        if form.noise != "relative":
            spread, inputs = (self.law if form.networks else self.rest_law).spread, self.x.shape[1]
            return NOISES[form.noise](float32(factor(spread)), **sizes, inputs=inputs, key=key)
        moved = self.moved if form.networks else self._left_over("relative")
        spread = self._law(moved / self.amplitude).spread
        least = self.least if form.networks else CLOSER * self.least
        start, origin, size = map(float32, (factor(spread), self.origin, least))
        noisy = None if self.constraint is None else self.constraint.free
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
