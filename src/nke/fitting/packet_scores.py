"""Scores of the forward packet in NumPy, for laws without jumps that are linear in their parameters.

The same density as ``ForwardPacket``: what it computes for one state, here for many at once, and its derivatives by the
values of drift and noise at the points where it asks for them, written out (reverse mode, line by line). The functions
are linear in the parameters, so that a score is the sum over the points of derivative × features. Nothing is compiled,
which for laws of some hundred parameters takes longer than the sums themselves.

The places at which the equation is linearised are held where they are, as in ``ForwardPacket``; what the mean of one
sub-step changes in the next is followed by the mean slope of the drift.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from nke.fitting.batches import Steps
from nke.fitting.smooth_basis import FeatureSet
from nke.operators import ForwardPacket, KinematicConstraint
from nke.operators.networks.smooth import MOST_LOG
from nke.operators.transition_rule import FAR, NARROW, STIFF, THIN, TINY

CHUNK_NUMBERS = 1 << 22  # features of all points that are kept at a time: what stays in the cache


@dataclass(frozen=True)
class LinearFunctions:
    """Functions of the visible state, each a weighted sum of features, times a size.

    Attributes:
        features: The features.
        rows: The function that each parameter belongs to.
        columns: The feature that it weighs.
        places: Where the parameters are in the vector of all.
        scale: Size of each function.
    """

    features: FeatureSet
    rows: Int[np.ndarray, " p"]
    columns: Int[np.ndarray, " p"]
    places: Int[np.ndarray, " p"]
    scale: Float[np.ndarray, " o"]

    def table(self, values: Float[np.ndarray, " q"]) -> Float[np.ndarray, "o f"]:
        """Collects the weights from the vector of all parameters, those of all features of all functions."""
        table = np.zeros((len(self.scale), len(self.features.groups)), np.float32)
        table[self.rows, self.columns] = values[self.places]
        return table * self.scale[:, None].astype(np.float32)

    def scores(
        self, design: Float[np.ndarray, "n e f"], slopes: Float[np.ndarray, "n e o"]
    ) -> Float[np.ndarray, "n p"]:
        """Sums derivatives by the functions' values at e points of each transition, times features.

        Args:
            design: Features at the points.
            slopes: Derivatives by the values of the functions there.

        Returns:
            Derivatives by the parameters.
        """
        slopes = (slopes * self.scale).astype(np.float32)
        # For each transition a matrix product of functions × points and points × features.
        whole = np.matmul(np.swapaxes(slopes, 1, 2), design)
        return whole[:, self.rows, self.columns]


@dataclass(frozen=True)
class PacketScores:
    """Log densities of transitions under a law that is linear in its parameters, and their scores.

    Attributes:
        drift: Drift of the free coordinates.
        noise: Entries of the lower noise factor over ``start``, row by row, logarithms on the diagonal.
        start: The factor of the noise where all entries are zero.
        constraint: What is known of positions, angles and coordinates that do not matter.
    """

    drift: LinearFunctions
    noise: LinearFunctions
    start: Float[np.ndarray, "r r"]
    constraint: KinematicConstraint | None

    def batches(
        self, rule: ForwardPacket, values: Float[np.ndarray, " q"], data: Steps
    ) -> Iterator[tuple[Float[np.ndarray, " n"], Float[np.ndarray, "n q"]]]:
        """Computes log densities and scores, some transitions at a time.

        Args:
            rule: The discrete model.
            values: The parameters.
            data: The transitions.

        Yields:
            Log densities and scores.
        """
        for chunk in self._chunks(rule, data):
            yield self._scored(rule, values, *chunk)

    def log_likelihood(self, rule: ForwardPacket, values: Float[np.ndarray, " q"], data: Steps) -> float:
        """Sums the log densities, without their scores.

        Args:
            rule: The discrete model.
            values: The parameters.
            data: The transitions.

        Returns:
            Nats; NaN where a density is not finite.
        """
        return float(sum(self._densities(rule, values, *chunk)[0].sum() for chunk in self._chunks(rule, data)))

    def _chunks(self, rule: ForwardPacket, data: Steps) -> Iterator[list[np.ndarray]]:
        r, inputs = len(self.start), [np.asarray(a, np.float64) for a in data]
        points = rule.substeps * len(rule.quadrature.nodes(r)[1])
        numbers = points * (len(self.drift.features.groups) + len(self.noise.features.groups))
        size = max(256, CHUNK_NUMBERS // numbers)
        for begin in range(0, len(inputs[2]), size):
            yield [a[begin : begin + size] for a in inputs]

    def _densities(self, rule, values, x, displacement, step) -> tuple[np.ndarray, np.ndarray, np.ndarray, list]:
        """Log densities, their derivatives by mean and covariance, and the sub-steps of one chunk."""
        free = np.arange(x.shape[1]) if self.constraint is None else np.array(self.constraint.free)
        law = _Values(self, values, _halfway(self.constraint, x, step), free)
        forward = [_SubStep.start(law, rule, np.ascontiguousarray(x[:, free].T), step)]
        while len(forward) < rule.substeps:
            forward.append(forward[-1].next(law))
        spread = forward[-1].spread
        if rule.resolution is not None:
            spread = spread + np.diag(np.square(rule.resolution))[:, :, None]
        return *_gaussian(displacement[:, free].T - forward[-1].mean, spread), forward

    def _scored(self, rule, values, x, displacement, step) -> tuple[np.ndarray, np.ndarray]:
        """Log densities and scores of one chunk."""
        log_prob, mean_slope, spread_slope, forward = self._densities(rule, values, x, displacement, step)
        slopes = []
        for part in reversed(forward):
            found, mean_slope, spread_slope = part.slopes(mean_slope, spread_slope)
            slopes.append(found)
        slopes.reverse()
        scores = np.zeros((len(x), len(values)), np.float32)
        for body, designs, by_values in (
            (self.drift, [part.drift_design for part in forward], [found.drift for found in slopes]),
            (self.noise, [part.noise_design for part in forward], [found.noise for found in slopes]),
        ):
            by_value = np.moveaxis(np.concatenate(by_values), -1, 0)
            scores[:, body.places] = body.scores(np.concatenate(designs, axis=1), by_value)
        return log_prob, scores


class _Slopes(NamedTuple):
    """Derivatives of the log density by the values of drift and entries of the noise at the points of a sub-step."""

    drift: Float[np.ndarray, "e r n"]
    noise: Float[np.ndarray, "k o n"]


class _Values:
    """Drift and noise at points of each transition, with the features there."""

    def __init__(self, law: PacketScores, values: np.ndarray, states: np.ndarray, free: np.ndarray):
        self._law, self._states, self._free = law, states, free
        self._drift, self._noise = law.drift.table(values), law.noise.table(values)
        self.start = law.start[:, :, None]

    def drift(self, points: Float[np.ndarray, "e r n"]) -> tuple[np.ndarray, np.ndarray]:
        """Features (n, e, f) and drift (e, r, n)."""
        design = self._design(self._law.drift.features, points)
        return design, _last(design @ self._drift.T)

    def noise(self, points: Float[np.ndarray, "e r n"]) -> tuple[np.ndarray, np.ndarray]:
        """Features (n, e, f) and the lower factors L (e, r, r, n) with g = start·L."""
        design = self._design(self._law.noise.features, points)
        lower = lower_factors((design @ self._noise.T).astype(np.float64), len(self.start))
        return design, _last(lower)

    def _design(self, features: FeatureSet, points: np.ndarray) -> np.ndarray:
        e, r, n = points.shape
        states = np.repeat(self._states, e, axis=0)
        states[:, self._free] = np.moveaxis(points, -1, 0).reshape(n * e, r)
        constraint = self._law.constraint
        visible = states if constraint is None else constraint.seen(states)
        return features.design(visible.astype(np.float32)).reshape(n, e, -1)


@dataclass(frozen=True)
class _SubStep:
    """One sub-step of ``ForwardPacket._without_jumps``, with what its derivatives need; names as there.

    The transitions are the last axis, so that products of small matrices are products of long vectors.
    """

    rule: ForwardPacket
    short: Float[np.ndarray, " n"]
    begin: Float[np.ndarray, "r n"]  # x, at the start of the whole step
    mean: Float[np.ndarray, "r n"]  # of the displacement, at the end of the sub-step
    spread: Float[np.ndarray, "r r n"]  # likewise its covariance
    before: Float[np.ndarray, "r r n"] | None  # covariance at the start of the sub-step
    root: Float[np.ndarray, "r r n"]  # Cholesky factor of the mean of a over the packet, or g itself
    lower: Float[np.ndarray, "k r r n"]  # factors L at the points of the noise
    slope: Float[np.ndarray, "r r n"]  # J
    turn: Float[np.ndarray, "r r n"]  # sJ/4 before it is bounded
    flow: Float[np.ndarray, "r r n"]
    ahead: Float[np.ndarray, "r n"]
    pushed: Float[np.ndarray, "r n"]  # s·(f̄ − J·ahead)
    inverse_width: Float[np.ndarray, "r r n"]
    start_factor: Float[np.ndarray, "r r 1"]
    drift_design: Float[np.ndarray, "n e f"]
    noise_design: Float[np.ndarray, "n k m"]

    @classmethod
    def start(
        cls, law: _Values, rule: ForwardPacket, x: Float[np.ndarray, "r n"], step: Float[np.ndarray, " n"]
    ) -> "_SubStep":
        """The first sub-step, from a packet of no width."""
        short = step / rule.substeps
        ahead, middle = _ahead(law, x, short)
        design, lower = law.noise(middle[None])
        root = _product(law.start, lower[0])
        width = _width(short / 2 * _square(root))
        return cls._move(law, rule, short, x, np.zeros_like(x), None, ahead, middle, width, root, lower, design)

    def next(self, law: _Values) -> "_SubStep":
        """The sub-step after this one: the packet has a width by now, over which the noise is averaged too."""
        ahead, middle = _ahead(law, self.begin + self.mean, self.short)
        width = _width(self.spread + self.short / 2 * _square(self.root))
        nodes, weights = self.rule.quadrature.nodes(len(middle))
        design, lower = law.noise(_points(middle, width, nodes))
        squares = np.stack([_square(_product(law.start, one)) for one in lower])
        mean = np.tensordot(weights, squares, 1)
        return self._move(
            law,
            self.rule,
            self.short,
            self.begin,
            self.mean,
            self.spread,
            ahead,
            middle,
            width,
            _cholesky(mean),
            lower,
            design,
        )

    @classmethod
    def _move(
        cls, law, rule, short, begin, mean, before, ahead, middle, width, root, lower, noise_design
    ) -> "_SubStep":
        """Mean and covariance at the end of a sub-step."""
        nodes, weights = rule.quadrature.nodes(len(middle))
        drift_design, f = law.drift(_points(middle, width, nodes))
        average = np.tensordot(weights, f, 1)
        change = np.moveaxis(np.tensordot(nodes * weights[:, None], f, (0, 0)), 0, 1)
        inverse_width = _inverse(width)
        slope = _product(change, inverse_width)
        turn = short / 4 * slope
        flow = _inverse(np.eye(len(middle))[:, :, None] - turn * _bound(turn, STIFF, (0, 1)))
        pushed = short * (average - _times(slope, ahead))
        twice = _product(flow, flow)
        gained = short * _square(_product(twice, root))
        if before is not None:
            carried = _product(twice, twice)
            gained = gained + _product(_product(carried, before), _t(carried))
        return cls(
            rule,
            short,
            begin,
            mean + _times(twice, pushed),
            _regular(gained, THIN),
            before,
            root,
            lower,
            slope,
            turn,
            flow,
            ahead,
            pushed,
            inverse_width,
            law.start,
            drift_design,
            noise_design,
        )

    def slopes(
        self, by_mean: Float[np.ndarray, "r n"], by_spread: Float[np.ndarray, "r r n"]
    ) -> tuple[_Slopes, Float[np.ndarray, "r n"], Float[np.ndarray, "r r n"]]:
        """Derivatives by drift and noise from those by mean and covariance at the end; and those at the start."""
        short, flow = self.short, self.flow
        nodes, weights = self.rule.quadrature.nodes(len(by_mean))
        by_gained = _regular(by_spread, THIN)  # the transpose of adding a multiple of the trace is the same
        twice, by_before = _product(flow, flow), np.zeros_like(by_spread)
        by_moved = 2 * short * _product(by_gained, _product(twice, self.root))  # by R²·g
        by_twice = by_mean[:, None] * self.pushed[None] + _product(by_moved, _t(self.root))
        if self.before is not None:
            carried = _product(twice, twice)
            by_before = _product(_product(_t(carried), by_gained), carried)
            by_carried = 2 * _product(_product(by_gained, carried), self.before)
            by_twice = by_twice + _product(by_carried, _t(twice)) + _product(_t(twice), by_carried)
        by_flow = _product(by_twice, _t(flow)) + _product(_t(flow), by_twice)
        by_turn = _product(_product(_t(flow), by_flow), _t(flow))
        by_pushed = short * _times(_t(twice), by_mean)  # by f̄ − J·ahead
        by_slope = short / 4 * _through_bound(self.turn, by_turn, STIFF) - by_pushed[:, None] * self.ahead[None]
        by_change = _product(by_slope, _t(self.inverse_width))
        along = np.tensordot(nodes, by_change, (1, 1))
        by_drift = weights[:, None, None] * (by_pushed + along)
        by_noise = self._by_entries(_product(_t(twice), by_moved), weights)
        # The mean at the start moves the points: by the mean slope of the drift.
        return _Slopes(by_drift, by_noise), by_mean + _times(_t(self.slope), by_pushed), by_before

    def _by_entries(self, by_root: Float[np.ndarray, "r r n"], weights: np.ndarray) -> Float[np.ndarray, "k o n"]:
        """Derivatives by the entries of the lower factors at the points of the noise."""
        start, (i, j) = self.start_factor, np.tril_indices(len(by_root))
        if self.before is None:
            by_factors = [by_root]
        else:
            inverse, half = _inverse(self.root), np.zeros_like(by_root)
            half[i, j] = _product(_t(self.root), by_root)[i, j] / np.where(i == j, 2, 1)[:, None]
            by_a = _product(_product(_t(inverse), half), inverse)
            by_a = by_a + _t(by_a)
            by_factors = [w * _product(by_a, _product(start, one)) for w, one in zip(weights, self.lower, strict=True)]
        by_lower = np.stack([_product(_t(start), by_factor)[i, j] for by_factor in by_factors])
        return by_lower * np.where((i == j)[:, None], self.lower[:, i, j], 1.0)  # exponentials on the diagonal


def lower_factors(entries: Float[np.ndarray, "*n o"], r: int) -> Float[np.ndarray, "*n r r"]:
    """Builds lower triangular factors from their entries, row by row, of which those on the diagonal are logarithms.

    Args:
        entries: The entries.
        r: Number of rows.

    Returns:
        The factors.
    """
    lower, (i, j), diagonal = np.zeros((*entries.shape[:-1], r, r)), np.tril_indices(r), np.arange(r)
    lower[..., i, j] = entries
    lower[..., diagonal, diagonal] = np.exp(np.clip(lower[..., diagonal, diagonal], -MOST_LOG, MOST_LOG))
    return lower


def _halfway(constraint: KinematicConstraint | None, x: np.ndarray, step: np.ndarray) -> np.ndarray:
    """The states with positions where they are halfway through the step."""
    if constraint is None or not constraint.positions:
        return x
    states, where = x.copy(), list(constraint.positions)
    velocity = np.asarray(constraint.slope.value) * x[:, list(constraint.velocities)]
    states[:, where] += step[:, None] / 2 * (velocity + np.asarray(constraint.offset.value))
    return states


def _ahead(law: _Values, x: np.ndarray, short: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The way to the middle of the sub-step, and the middle."""
    half = short / 2 * law.drift(x[None])[1][0]
    ahead = half * _bound(half, FAR, (0,))
    return ahead, x + ahead


def _gaussian(rest: np.ndarray, spread: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Log densities, and their derivatives by mean and covariance."""
    lower = _cholesky(spread)
    back = _inverse(lower)
    inverse, diagonal = _product(_t(back), back), np.arange(len(rest))
    white = _times(inverse, rest)
    log_det = 2 * np.log(lower[diagonal, diagonal]).sum(axis=0)
    log_prob = -(np.sum(rest * white, axis=0) + log_det + len(rest) * np.log(2 * np.pi)) / 2
    return log_prob, white, (white[:, None] * white[None] - inverse) / 2


def _bound(a: np.ndarray, most: float, axes: tuple[int, ...]) -> np.ndarray:
    """The factor by which ``_bounded`` of the forward packet shortens."""
    return (1 + (np.sum(a * a, axis=axes) / most**2) ** 2) ** -0.25


def _through_bound(a: np.ndarray, by_bounded: np.ndarray, most: float) -> np.ndarray:
    """Derivatives by a matrix from those by the shortened one."""
    size, along = np.sum(a * a, axis=(0, 1)) / most**2, np.sum(a * by_bounded, axis=(0, 1))
    return by_bounded * (1 + size**2) ** -0.25 - size / most**2 * (1 + size**2) ** -1.25 * along * a


def _points(centre: np.ndarray, factor: np.ndarray, nodes: np.ndarray) -> Float[np.ndarray, "e r n"]:
    return centre + np.tensordot(nodes, factor, (1, 1))


def _width(covariance: np.ndarray) -> np.ndarray:
    return _cholesky(_regular(covariance, NARROW) + TINY**2 * np.eye(len(covariance))[:, :, None])


def _regular(covariance: np.ndarray, least: float) -> np.ndarray:
    return covariance + least**2 * np.trace(covariance) * np.eye(len(covariance))[:, :, None]


def _last(values: np.ndarray) -> np.ndarray:
    """The same in double precision with the first axis, the transitions, as the last."""
    return np.ascontiguousarray(np.moveaxis(values, 0, -1), np.float64)


def _t(matrices: np.ndarray) -> np.ndarray:
    return np.swapaxes(matrices, 0, 1)


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.einsum("ijn,jkn->ikn", a, b)


def _times(a: np.ndarray, v: np.ndarray) -> np.ndarray:
    return np.einsum("ijn,jn->in", a, v)


def _square(a: np.ndarray) -> np.ndarray:
    return np.einsum("ijn,kjn->ikn", a, a)


def _cholesky(a: Float[np.ndarray, "r r n"]) -> Float[np.ndarray, "r r n"]:
    """The lower factors of positive definite matrices; NaN for others."""
    lower = np.zeros_like(a)
    with np.errstate(invalid="ignore", divide="ignore"):
        for j in range(len(a)):
            lower[j, j] = np.sqrt(a[j, j] - np.sum(lower[j, :j] ** 2, axis=0))
            rest = a[j + 1 :, j] - np.einsum("ikn,kn->in", lower[j + 1 :, :j], lower[j, :j])
            lower[j + 1 :, j] = rest / lower[j, j]
    return lower


def _inverse(a: Float[np.ndarray, "r r n"]) -> Float[np.ndarray, "r r n"]:
    """The inverses; NaN, or infinite, where there is none, so that a step of Newton's method that led there fails."""
    if len(a) == 1:
        return 1 / a
    if len(a) == 2:
        adjugate = np.array([[a[1, 1], -a[0, 1]], [-a[1, 0], a[0, 0]]])
        return adjugate / (a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0])
    try:
        return np.moveaxis(np.linalg.inv(np.moveaxis(a, -1, 0)), 0, -1)
    except np.linalg.LinAlgError:
        return np.full_like(a, np.nan)
