"""Penalised regression tuned with knowledge of the truth: what plain least squares on smooth features can reach."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from nke.bench.flow_fit import OUTLIER, flow
from nke.data import Transitions
from nke.systems import System

FEATURES = 300
LENGTHS = (0.1, 0.2, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 3.0, 5.0, 8.0, 15.0)  # standard deviations of the inputs
RIDGES = 10.0 ** np.arange(-4.0, 6.1, 0.5)  # sums of squares are in units of the noise of one transition
MOST_TRANSITIONS = 100_000  # more are thinned out: the Gram matrices are what takes the time
CHUNK = 20_000

Array = np.ndarray


@dataclass(frozen=True)
class Inputs:
    """The coordinates that the features are functions of, and in which steps are measured.

    ``positive``: logarithms of all coordinates, in which also the drift is regressed. ``angles``: coordinates that
    enter by their sine and cosine.
    """

    name: str = "plain"
    positive: bool = False
    angles: tuple[int, ...] = ()

    def coordinates(self, x: Float[Array, "n d"]) -> Float[Array, "n d"]:
        """Gives the coordinates in which steps are measured."""
        return np.log(x) if self.positive else x

    def embedded(self, z: Float[Array, "n d"]) -> Float[Array, "n k"]:
        """Gives the inputs of the features."""
        rest = np.delete(z, self.angles, axis=1)
        return np.hstack([rest, *(part(z[:, list(self.angles)]) for part in (np.cos, np.sin))])

    def back(self, x: Float[Array, "n d"], truth: System) -> tuple[Float[Array, "n d"], Float[Array, "n d"]]:
        """Gives p and q of the drift of the states, p·(drift of the coordinates) + q: Itô's formula, true noise."""
        if not self.positive:
            return np.ones_like(x), np.zeros_like(x)
        return x, _variances(truth, x) / (2 * x)


class Regressed(NamedTuple):
    """The best drift found: error, and for each coordinate length scale and ridge."""

    error: float
    lengths: tuple[float, ...]
    ridges: tuple[float, ...]


class _Features:
    """1, the inputs, and random cosines of the inputs over a length scale."""

    def __init__(self, inputs: Inputs, shift: Array, scale: Array, length: float, count: int = FEATURES):
        rng = np.random.default_rng(0)
        self._inputs, self._shift, self._scale = inputs, shift, scale
        self._frequencies = rng.standard_normal((len(shift), count)) / length
        self._phases = rng.uniform(0, 2 * np.pi, count)
        self.unpenalised = 1 + len(shift)

    def __call__(self, z: Float[Array, "n d"]) -> Float[Array, "n f"]:
        unit = (self._inputs.embedded(z) - self._shift) / self._scale
        return np.hstack([np.ones((len(z), 1)), unit, np.cos(unit @ self._frequencies + self._phases)])


def tuned_regression(
    seen: Transitions, truth: System, points: Float[Array, "n d"], inputs: Inputs, lengths: Sequence[float] = LENGTHS
) -> Regressed:
    """Regresses the drift with the length scale and ridge of each coordinate that come nearest to the true drift.

    The steps are weighted by the true noise; those with a jump, told by the true law, are left out. A second pass has
    its features at the states half a step ahead by the first pass's drift.

    Args:
        seen: The transitions.
        truth: The true law.
        points: States at which the drift is compared with the true one.
        inputs: The coordinates of the features.
        lengths: Length scales to choose from.

    Returns:
        The relative error over the points, and what was chosen.
    """
    seen = _without_jumps(seen.take(slice(None, None, -(-len(seen) // MOST_TRANSITIONS))), truth)
    problem = _Problem(seen, truth, points, inputs)
    first = [problem.solve(length, problem.start) for length in lengths]
    choice = [min(lengths, key=lambda length: first[lengths.index(length)].errors[i]) for i in range(problem.dimension)]
    speed = np.stack([first[lengths.index(length)].predicted[:, i] for i, length in enumerate(choice)], axis=1)
    second = [problem.solve(length, problem.start + problem.step / 2 * speed) for length in lengths]
    errors = np.array([found.errors for found in second])
    best = errors.argmin(axis=0)
    return Regressed(
        float(np.sqrt(errors.min(axis=0).sum() / np.sum(problem.true**2))),
        tuple(lengths[i] for i in best),
        tuple(second[i].ridges[j] for j, i in enumerate(best)),
    )


class _Solution(NamedTuple):
    errors: Float[Array, " d"]  # summed squares over the points
    ridges: tuple[float, ...]
    predicted: Float[Array, "n d"]  # drift at the starts of the transitions


class _Problem:
    """The regression of one data set, to be solved for some length scales."""

    def __init__(self, seen: Transitions, truth: System, points: Float[Array, "n d"], inputs: Inputs):
        self._inputs, self._points = inputs, points
        self._back = inputs.back(points, truth)
        self.start, self.step = inputs.coordinates(seen.x), seen.step[:, None]
        self._response = (inputs.coordinates(seen.y) - self.start) / self.step
        self.true = np.asarray(truth.drift(points))
        self.dimension = points.shape[1]
        noise = _variances(truth, seen.x)
        noise = noise / seen.x**2 if inputs.positive else noise
        middle = np.median(noise, axis=0)
        # A coordinate without noise is regressed in units of its own motion; relative noise vanishes at zero.
        self._variance = np.where(middle > 0, np.maximum(noise, 1e-2 * middle), self._response.var(axis=0) * self.step)
        embedded = inputs.embedded(self.start)
        self._shift, self._scale = embedded.mean(axis=0), embedded.std(axis=0)

    def solve(self, length: float, states: Float[Array, "n d"]) -> _Solution:
        """Regresses on features of given states and chooses the ridge of each coordinate."""
        features = _Features(self._inputs, self._shift, self._scale, length)
        at_points = np.vstack([features(z) for z in _chunks(self._inputs.coordinates(self._points))])
        chosen = [
            self._coordinate(i, gram, at_points, features) for i, gram in self._normal_equations(features, states)
        ]
        coefficients = np.stack([c for _, _, c in chosen], axis=1)
        predicted = np.vstack([features(z) @ coefficients for z in _chunks(self.start)])
        return _Solution(np.array([e for e, _, _ in chosen]), tuple(r for _, r, _ in chosen), predicted)

    def _normal_equations(self, features: _Features, states: Float[Array, "n d"]) -> Iterator[tuple[int, Array]]:
        """Yields for each coordinate the weighted Gram matrix of features and response; equal weights share it."""
        weights = self.step / self._variance
        same = bool((weights == weights[:, :1]).all())
        size = len(features(states[:1])[0])
        grams = np.zeros((1 if same else self.dimension, size, size))
        sides = np.zeros((self.dimension, size))
        for z, weight, response in zip(*map(_chunks, (states, weights, self._response)), strict=True):
            values = features(z)
            for i in range(len(grams)):
                grams[i] += values.T @ (values * weight[:, i : i + 1])
            sides += (values.T @ (weight * response)).T
        for i in range(self.dimension):
            yield i, np.column_stack([grams[0 if same else i], sides[i]])

    def _coordinate(
        self, i: int, system: Array, at_points: Array, features: _Features
    ) -> tuple[float, float, Float[Array, " f"]]:
        """Gives error, ridge and coefficients of the ridge that comes nearest to the truth."""
        gram, side = system[:, :-1], system[:, -1]
        penalty = np.ones(len(side))
        penalty[: features.unpenalised] = 1e-6  # so that an input that hardly varies is no trouble
        solutions = np.stack([np.linalg.solve(gram + np.diag(ridge * penalty), side) for ridge in RIDGES], axis=1)
        factor, term = (values[:, i : i + 1] for values in self._back)
        errors = np.sum((factor * (at_points @ solutions) + term - self.true[:, i : i + 1]) ** 2, axis=0)
        best = int(np.argmin(errors))
        return float(errors[best]), float(RIDGES[best]), solutions[:, best]


def _without_jumps(seen: Transitions, truth: System) -> Transitions:
    if not truth.has_jumps:
        return seen
    spread = np.sqrt(_variances(truth, seen.x) * seen.step[:, None])
    left = np.abs(seen.y - flow(lambda x: np.asarray(truth.drift(x)), seen.x, seen.step))
    return seen.take(np.asarray((left < OUTLIER * spread).all(axis=1)))


def _variances(truth: System, x: Float[Array, "n d"]) -> Float[Array, "n d"]:
    """Gives the diagonal of a(x)."""
    return np.diagonal(np.asarray(truth.diffusion(x)), axis1=1, axis2=2)


def _chunks(rows: Array) -> list[Array]:
    return [rows[i : i + CHUNK] for i in range(0, len(rows), CHUNK)]
