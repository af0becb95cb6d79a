"""In which coordinates is the law learned? Plain ones, logarithms or angles, by the evidence of smooth regressions.

They are compared in the user's units: the density of a logarithm has the Jacobian du/dx = 1/x.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from nke.data import Coordinates, Trajectories, Transitions
from nke.data.transforms import Log, Periodic, Plain, Transform
from nke.fitting.batches import some_transitions
from nke.fitting.decisions import Decision, Estimate
from nke.fitting.initial_moments import DisplacementMoments, TransitionSample, moments_with_jumps
from nke.fitting.kinematics import kinematic_constraint
from nke.fitting.known_columns import as_recorded
from nke.fitting.rules import SelectionRules
from nke.fitting.smooth_regression import SmoothRegression
from nke.operators import monomial_degrees, monomials

UNIT_ROOT = -2.86  # statistic of Dickey and Fuller below which a column returns to a mean: a level of 5 %
USUAL_PERIODS = (2 * np.pi, 12.0, 24.0, 360.0)  # a turn in radians, months, hours, degrees


def choose_coordinates(
    data: Trajectories,
    known: Mapping[str, Transform],
    fixed: Sequence[str],
    seed: int,
    rules: SelectionRules,
    angles: bool = True,
) -> tuple[tuple[Transform, ...], list[Decision]]:
    """Decides which columns are learned as logarithms, of those that are positive in the data.

    First a quick look: the displacements of a column and of its logarithm are each regressed on powers of the state,
    with a variance that depends on it, and the densities of held-out transitions compared. Where the logarithm of a
    column predicts better, smooth regressions decide on it and on others that gain: noise in proportion to the state is
    constant only if all columns are logarithms. Where none does, on those that predict no worse, if the noise is then
    the same everywhere. A positive column that does not return to a mean, as a price, would be led below zero by plain
    coordinates sooner or later: its logarithm is taken unless smooth regressions show a lack of fit.

    Angles are columns that are wrapped beyond doubt (``wrapped_angles``), and columns that exceed several turns, if
    cosine and sine do not predict their motion worse, some motion depends on them, and a smooth regression gains
    evidence.

    Args:
        data: Recorded trajectories.
        known: Transforms of the columns that the user named.
        fixed: Columns that must stay as they are.
        seed: Of the parts that are held out.
        rules: Margin of the comparison.
        angles: Whether columns that the user did not name may be angles.

    Returns:
        A transform for each column, and the decisions with their evidence.
    """
    wrapped = wrapped_angles(data, known) if angles else {}
    known = {**known, **{name: as_recorded(data, name, Periodic(period)) for name, period in wrapped.items()}}
    chosen, gains = dict(known), {}
    evidence: dict[str, Any] = {name: {"wrapped at a period of": period} for name, period in wrapped.items()}
    lowest, moves = data.observed_states.min(axis=0), np.ptp(data.transitions().displacement, axis=0) > 0
    settled, errors = {*known, *fixed}, rules.coordinate_gain_errors
    open_columns = [i for i, name in enumerate(data.names) if lowest[i] > 0 and moves[i] and name not in settled]
    turning = _turning(data, known, fixed) if angles else []
    if not open_columns and not turning:
        rule = (
            "a column that is wrapped at a usual period is an angle; periodic=[] keeps it as it is" if wrapped else ""
        )
        rule = rule or "no further column is positive throughout or exceeds a turn"
        return _decided(data, chosen, evidence, known, rule)
    comparison, regressions = Comparison.of(data, seed, rules), _Regressions(data, seed, rules)
    for i in open_columns:
        gain = gains[data.names[i]] = comparison.gain(i)
        middle = float(np.median(data.observed_states[:, i]))
        evidence[data.names[i]] = {
            "gain of the logarithm in nats per transition": gain,
            "smallest value over the median": float(lowest[i]) / middle,
        }
    # Those that predict better, and those that do not clearly predict worse if they make the noise simpler.
    better = {name for name, gain in gains.items() if gain.value > errors * gain.error}
    likely = [name for name, gain in gains.items() if gain.value > (0.0 if better else -errors * gain.error)]
    # Jumps and noise in proportion to the state are the same everywhere only if all columns are logarithms.
    groups = [likely, list(gains)] if better and len(likely) < len(gains) else [likely]
    chosen, found = regressions.likelier(chosen, groups if likely else [], Log(), set() if better else set(likely))
    evidence |= found
    returns = {name: comparison.unit_root(data.names.index(name)) for name in gains if name not in chosen}
    for name, statistic in returns.items():
        evidence[name] |= {"Dickey–Fuller statistic": statistic}
    wandering = [name for name, statistic in returns.items() if statistic > UNIT_ROOT]
    if wandering:
        likelier, found = regressions.likelier(chosen, [wandering], Log(), set(), -rules.lack_of_fit_nats)
        chosen, evidence = likelier, found | evidence
    turns = {name: comparison.gain_of_angle(data.names.index(name)) for name in turning if name not in chosen}
    for name, gain in turns.items():
        evidence[name] = {**evidence.get(name, {}), "gain of cosine and sine in nats per transition": gain}
    turning = [
        name
        for name, gain in turns.items()
        if gain.value > -errors * gain.error and comparison.depends_on_angle(data.names.index(name), errors)
    ]
    groups = [turning, *([name] for name in turning if len(turning) > 1)] if turning else []
    chosen, found = regressions.likelier(chosen, groups, Periodic(), set())
    evidence |= found
    logarithms = (
        f"the logarithm of positive columns where smooth regressions gain {rules.evidence_gain:g} nats of evidence and "
        f"held-out transitions are predicted better by {errors:g} standard errors, or not worse with noise that is "
        f"the same everywhere or {rules.lack_of_fit_nats:g} nats; where the column returns to no mean (statistic above "
        f"{UNIT_ROOT:g}) also if they lose up to as many; positive=[] keeps all as they are"
    )
    rule = logarithms if open_columns else "no further column is positive throughout"
    rule += "; a column that exceeds several turns is an angle if motion depends on its cosine and sine, with evidence"
    return _decided(data, chosen, evidence, known, rule)


def _decided(
    data: Trajectories,
    chosen: Mapping[str, Transform],
    evidence: Mapping[str, object],
    known: Mapping[str, Transform],
    rule: str,
) -> tuple[tuple[Transform, ...], list[Decision]]:
    columns = tuple(chosen.get(name, Plain()) for name in data.names)
    return columns, [coordinate_decision(data, columns, evidence, rule), *angle_hints(data, known)]


def coordinate_decision(
    data: Trajectories, columns: Sequence[Transform], evidence: Mapping[str, object], rule: str
) -> Decision:
    """Says in which coordinates the law is learned.

    Args:
        data: Recorded trajectories.
        columns: The transform of each column.
        evidence: What the data said about each column.
        rule: How that leads to the answer.

    Returns:
        The decision.
    """
    words = [_words(transform, name) for transform, name in zip(columns, data.names, strict=True)]
    answer = ", ".join(filter(None, words)) or "those of the data"
    return Decision("In which coordinates is the law learned?", answer, evidence, rule, "coordinates")


def wrapped_angles(data: Trajectories, settled: Collection[str]) -> dict[str, float]:
    """Finds columns that are wrapped angles beyond doubt, with their periods.

    They fill an interval of a usual period that begins at zero or is centred there, all of it, and their motions are
    either short or miss a whole turn by no more than these are long: nothing in between.

    Args:
        data: Recorded trajectories.
        settled: Columns of which something is known already.

    Returns:
        The period of each such column.

    Example:
        >>> turning = np.cumsum(np.random.default_rng(0).normal(size=1000)) * 20 % 360
        >>> from nke.fitting.coordinate_choice import wrapped_angles
        >>> wrapped_angles(nke.Trajectories(turning, 0.1, names=["heading"]), set())
        {'heading': 360.0}
    """
    found = {}
    for i, name in enumerate(data.names):
        values, moved = data.observed_states[:, i], np.abs(data.transitions().displacement[:, i])
        period = next((p for p in USUAL_PERIODS if _fills(values, p)), None)
        if name in settled or period is None:
            continue
        over = moved > period / 2
        if over.sum() < 3 or over.mean() > 0.5:
            continue
        longest = moved[~over].max()
        if longest < period / 4 and (period - moved[over]).max() <= 1.5 * longest:
            found[name] = period
    return found


def _fills(values: Float[np.ndarray, " n"], period: float, most_missing: float = 0.01) -> bool:
    """Whether values lie in [0, period] or [−period/2, period/2], in every twelfth of it and near both ends."""
    if len(np.unique(np.floor(values / period * 12))) < 12:
        return False
    low, high = float(values.min()), float(values.max())
    near = most_missing * period if period > 100 or not np.all(values == np.round(values)) else 1.0  # hours, months
    return any(
        start - 1e-6 * period <= low < start + near and start + period - near <= high <= start + period * (1 + 1e-6)
        for start in (0.0, -period / 2)
    )


def angle_hints(data: Trajectories, known: Mapping[str, Transform]) -> list[Decision]:
    """Finds columns that jump by almost their whole range, as angles that are wrapped do.

    Args:
        data: Recorded trajectories.
        known: Columns that the user named, or that are angles beyond doubt.

    Returns:
        A decision that says what to say to the fit; none where no column does.
    """
    moved, found = np.abs(data.transitions().displacement), {}
    for i, name in enumerate(data.names):
        span = float(np.ptp(data.observed_states[:, i]))
        far = moved[:, i] > span / 2
        if name in known or far.sum() < 3 or far.mean() > 0.5:
            continue
        if moved[far, i].mean() > 0.8 * span and np.median(moved[~far, i]) < 0.1 * span:
            found[name] = _likely_period(span)
    if not found:
        return []
    return [
        Decision(
            "Are some columns angles?",
            f"{', '.join(found)} may be wrapped: if so, say periodic={found}",
            dict(found),
            "a column that moves little, or by almost its whole range",
            "angles",
        )
    ]


def _turning(data: Trajectories, known: Mapping[str, Transform], fixed: Sequence[str], turns: float = 1.5) -> list[str]:
    """Columns that may be angles in radians: they exceed several turns, and move by less than a quarter of one."""
    states, moved = data.observed_states, np.abs(data.transitions().displacement)
    return [
        name
        for i, name in enumerate(data.names)
        if name not in known
        and name not in fixed
        and np.ptp(states[:, i]) > 2 * np.pi * turns
        and np.median(moved[:, i]) < np.pi / 2
    ]


@dataclass(frozen=True)
class _Regressions:
    """Smooth regressions in several coordinates, each made once.

    Attributes:
        data: Recorded trajectories.
        seed: Of the choice of transitions and centres.
        rules: What evidence must be gained.
        transitions: How many are looked at.
        most: Nats that one transition may count for, so that no single one decides.
        made: The regressions by the transforms of the columns.
    """

    data: Trajectories
    seed: int
    rules: SelectionRules
    transitions: int = 8192
    most: float = 5.0
    made: dict[tuple[Transform, ...], "_Evidence"] = field(default_factory=dict)

    def likelier(
        self,
        chosen: Mapping[str, Transform],
        groups: Sequence[Sequence[str]],
        transform: Transform,
        unsure: set[str],
        least: float | None = None,
    ) -> tuple[dict[str, Transform], dict[str, object]]:
        """Tries another transform for groups of columns, one group after the other.

        Args:
            chosen: Transforms so far.
            groups: Names of columns that are transformed together.
            transform: The other transform.
            unsure: Columns for which it must also make the noise the same everywhere, or gain far more.
            least: Nats that it must gain; None: those of the rules.

        Returns:
            The transforms that gain evidence, and what was gained.
        """
        found, evidence = dict(chosen), {}
        for group in groups:
            rival = found | dict.fromkeys(group, transform)
            new, old = self._at(rival), self._at(found)
            if all(isinstance(found.get(name), type(transform)) for name in group) or not (new.noisy and old.noisy):
                continue
            gain = float(np.clip(new.densities - old.densities, -self.most, self.most).sum())
            gain = min(new.independent, old.independent) * gain - new.cost + old.cost
            evidence[", ".join(_words(transform, name) for name in group)] = {
                "nats of evidence gained": gain,
                "transitions": len(new.densities),
            }
            simpler = new.constant_noise and not old.constant_noise
            clear = simpler or not unsure & set(group) or gain > self.rules.lack_of_fit_nats
            if gain > (self.rules.evidence_gain if least is None else least) and clear:
                found = rival
        return found, evidence

    def _at(self, chosen: Mapping[str, Transform]) -> "_Evidence":
        columns = tuple(chosen.get(name, Plain()) for name in self.data.names)
        if columns not in self.made:
            self.made[columns] = _Evidence.of(self, columns)
        return self.made[columns]


class _Evidence(NamedTuple):
    """What a smooth regression says in some coordinates.

    Attributes:
        densities: Log densities of transitions in the user's units.
        cost: Nats that its parameters cost.
        constant_noise: Whether the noise is the same everywhere.
        noisy: Whether every coordinate has noise; densities are not comparable otherwise.
        independent: Share of the transitions that are independent as far as the size of the noise goes.
    """

    densities: Float[np.ndarray, " t"]
    cost: float
    constant_noise: bool
    noisy: bool
    independent: float = 1.0

    @classmethod
    def of(cls, asked: _Regressions, columns: tuple[Transform, ...]) -> "_Evidence":
        data, rules = asked.data, asked.rules
        coordinates, inner = Coordinates.zscore(data, columns), data.transformed(columns)
        some = some_transitions(inner.transitions(), asked.transitions, asked.seed)
        affine = coordinates.of_transformed()
        constraint = kinematic_constraint({}, (), inner.names, some, affine, rules)
        sample = TransitionSample(some, affine, constraint, rules.near_zero)
        if sample.without_noise(rules.noiseless).any():
            return cls(np.zeros(0), 0.0, True, False)
        of = partial(SmoothRegression.of, sample, degree=rules.most_degree, seed=asked.seed, rounds=1)
        regression = of(np.ones(len(sample.x)))
        left = regression.straightened(sample)
        if left.excess_kurtosis > rules.jump_kurtosis:  # jumps say nothing about drift and noise
            regression = of(1 - left.jumped)
        densities = affine.log_density_back(regression.log_densities_with_jumps(sample))
        ends = some_transitions(data.transitions(), asked.transitions, asked.seed).y
        slopes = [column.log_slope(ends[:, i]) for i, column in enumerate(columns)]
        constant = not regression.state_dependent_noise
        return cls(densities + np.sum(slopes, axis=0), regression.cost, constant, True, regression.independent)


@dataclass(frozen=True)
class Comparison:
    """Transitions in groups that are held out together, and powers of the states that explain the motion.

    Attributes:
        seen: The transitions.
        group: Trajectory of each, or part of a long one: serial correlation stays within.
        fold: Number of the fold in which each is held out.
        degree: Highest power of the state in the mean.
        jump_kurtosis: Excess kurtosis of what is left from which on there are jumps.
    """

    seen: Transitions
    group: Int[np.ndarray, " t"]
    fold: Int[np.ndarray, " t"]
    degree: int
    jump_kurtosis: float

    @classmethod
    def of(cls, data: Trajectories, seed: int, rules: SelectionRules, folds: int = 4, groups: int = 20):
        """Divides at most so many transitions that the comparison takes about a second."""
        inputs = data.dimension
        degree = max(k for k in (1, 2, 3) if k == 1 or len(monomial_degrees(inputs, k)) <= rules.most_coefficients)
        terms = len(monomial_degrees(inputs, degree)) + 1
        most = int(min(rules.coordinate_transitions, max(5e7 / terms**2, 20 * terms)))
        seen = some_transitions(data.transitions(), most, seed)
        trajectories, group = np.unique(seen.trajectory, return_inverse=True)
        if len(trajectories) < groups:
            group = np.arange(len(seen)) * groups // len(seen)
        order = np.random.default_rng(seed).permutation(group.max() + 1)
        return cls(seen, group, order[group] % folds, degree, rules.jump_kurtosis)

    def gain(self, column: int) -> Estimate:
        """Nats per transition by which the logarithm of a column predicts better, with a standard error over groups."""
        return self.gain_of(column, Log())

    def gain_of(self, column: int, transform: Transform) -> Estimate:
        """The same for any transform of a column."""
        return self._estimate(self._log_density(column, transform) - self._log_density(column, Plain()))

    def unit_root(self, column: int) -> float:
        """Dickey and Fuller's statistic: how many standard errors its own value pulls a column back."""
        root = np.sqrt(self.seen.step)
        columns = np.column_stack([root, root * self.seen.x[:, column]])
        moved = self.seen.displacement[:, column] / root
        inverse = np.linalg.pinv(columns.T @ columns)
        slope = inverse @ (columns.T @ moved)
        rest = moved - columns @ slope
        return float(slope[1] / np.sqrt(inverse[1, 1] * np.mean(rest**2)))

    def gain_of_angle(self, column: int) -> Estimate:
        """The same for cosine and sine of a column as what its motion depends on, instead of the column itself."""
        x, moved = self.seen.x, self.seen.displacement[:, column] / np.sqrt(self.seen.step)
        around = np.column_stack([np.delete(x, column, axis=1), np.cos(x[:, column]), np.sin(x[:, column])])
        return self._estimate(self._held_out(moved, around) - self._held_out(moved, x))

    def depends_on_angle(self, column: int, errors: float) -> bool:
        """Whether cosine and sine predict the motion of some column better than nothing at all does.

        Every column whose value does not matter is the same after a turn.
        """
        x, count = self.seen.x, self.seen.dimension
        rest = np.delete(x, column, axis=1) if count > 1 else np.zeros_like(x)
        around = np.column_stack([np.delete(x, column, axis=1), np.cos(x[:, column]), np.sin(x[:, column])])
        for target in np.roll(np.arange(count), -column):
            moved = self.seen.displacement[:, target] / np.sqrt(self.seen.step)
            gain = self._estimate(self._held_out(moved, around) - self._held_out(moved, rest))
            if gain.value > errors * gain.error:
                return True
        return False

    def _estimate(self, gain: Float[np.ndarray, " t"], most: float = 5.0) -> Estimate:
        """The mean, of which no transition counts for more than ``most``: far out, regressions miss by thousands."""
        gain = np.clip(gain, -most, most)
        sums, counts = (np.bincount(self.group, weights) for weights in (gain, None))
        mean, groups = float(gain.mean()), max(len(counts), 2)
        error = np.sqrt(np.sum((sums - counts * mean) ** 2) * groups / (groups - 1)) / len(gain)
        return Estimate(mean, float(error))

    def _log_density(self, column: int, transform: Transform) -> Float[np.ndarray, " t"]:
        """Log density of the column at the end of each transition, which its own fold did not see."""
        x, step = np.array(self.seen.x), self.seen.step
        x[:, column] = transform.to(x[:, column])
        moved = transform.displacement(self.seen.displacement[:, column], self.seen.x[:, column]) / np.sqrt(step)
        return self._held_out(moved, x) - np.log(step) / 2 + transform.log_slope(self.seen.y[:, column])

    def _held_out(self, moved: Float[np.ndarray, " t"], x: Float[np.ndarray, "t n"]) -> Float[np.ndarray, " t"]:
        """Log densities of displacements over √step, regressed on powers of what they may depend on."""
        deviation, step = x.std(axis=0), self.seen.step
        z = (x - x.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
        powers = _with_one(monomials(z, self.degree))
        squares = powers if self.degree < 2 else powers[:, : 1 + len(monomial_degrees(z.shape[1], 2))]
        powers = powers * np.sqrt(step / np.median(step))[:, None]
        found = np.empty(len(step))
        for train, held_out in self._folds():
            calm, known = np.ones(len(train)), (powers[train], squares[train], moved[train])
            mean, log_variance = _regression(*known, calm)
            noise, seen = self._noise(*known, mean, log_variance)
            if np.mean(seen**4) > 3 * (1 + self.jump_kurtosis) * np.mean(seen**2) ** 2:
                # Jumps to one side would move the mean of the calm motions.
                mean, log_variance = _regression(*known, 1 - noise.jumped)
                noise, _ = self._noise(*known, mean, log_variance)
            width = squares[held_out] @ log_variance
            width = np.clip(width, *_range(squares[train] @ log_variance))
            rest = moved[held_out] - powers[held_out] @ mean
            found[held_out] = noise.log_prob(_standardised(rest, width), np.ones(len(rest))) - width / 2
        return found

    @staticmethod
    def _noise(
        powers: Float[np.ndarray, "t n"],
        squares: Float[np.ndarray, "t m"],
        moved: Float[np.ndarray, " t"],
        mean: Float[np.ndarray, " n"],
        log_variance: Float[np.ndarray, " m"],
    ) -> tuple[DisplacementMoments, Float[np.ndarray, "t 1"]]:
        """Noise and jumps of what a regression leaves, in units of its deviation; and that."""
        left = _standardised(moved - powers @ mean, squares @ log_variance)
        return moments_with_jumps(left, np.ones(len(left))), left

    def _folds(self) -> Iterator[tuple[Int[np.ndarray, " n"], Int[np.ndarray, " m"]]]:
        for k in np.unique(self.fold):
            yield np.flatnonzero(self.fold != k), np.flatnonzero(self.fold == k)


def _regression(
    powers: Float[np.ndarray, "t n"],
    squares: Float[np.ndarray, "t m"],
    moved: Float[np.ndarray, " t"],
    calm: Float[np.ndarray, " t"],
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " m"]]:
    """Coefficients of the mean of a calm motion and of the logarithm of its variance, in turns."""
    weight, mean, log_variance = np.ones(len(moved)), np.zeros(powers.shape[1]), np.zeros(squares.shape[1])
    for _ in range(2):
        mean = _least_squares(powers, moved, weight * calm)
        rest = (moved - powers @ mean) ** 2
        log_variance = _least_squares(squares, np.log(rest + 1e-4 * rest.mean()), calm)
        width = squares @ log_variance
        # The logarithm of χ² is not zero on average.
        log_variance[0] += np.log(np.average(rest * np.exp(-width), weights=calm))
        weight = np.exp(width.mean() - np.clip(width, *_range(width)))
    return mean, log_variance


def _standardised(rest: Float[np.ndarray, " t"], log_variance: Float[np.ndarray, " t"]) -> Float[np.ndarray, "t 1"]:
    return (rest * np.exp(-log_variance / 2))[:, None]


def _least_squares(columns, target, weight, ridge: float = 1e-6) -> Float[np.ndarray, " n"]:
    normal = (columns.T * weight) @ columns
    normal += ridge * np.diag(np.diag(normal)) + np.finfo(float).tiny * np.eye(len(normal))
    return np.linalg.solve(normal, (columns.T * weight) @ target)


def _range(values: Float[np.ndarray, " t"]) -> tuple[float, float]:
    """Between which a variance is believed: not beyond what most of the data says."""
    low, high = np.quantile(values, [0.001, 0.999])
    return float(low), float(high)


def _with_one(columns: Float[np.ndarray, "t n"]) -> Float[np.ndarray, "t m"]:
    return np.concatenate([np.ones((len(columns), 1)), columns], axis=1)


def _likely_period(span: float) -> float:
    """A usual period that the range nearly fills, or the range itself, rounded."""
    usual = [period for period in (1.0, *USUAL_PERIODS) if 0.9 * period < span <= 1.0001 * period]
    rounded = 10.0 ** (np.floor(np.log10(span)) - 3)  # up, since a period holds all values
    return float(usual[0] if usual else f"{np.ceil(span / rounded) * rounded:.4g}")


def _words(transform: Transform, name: str) -> str:
    if isinstance(transform, Plain):
        return ""
    return f"{name} as an angle" if transform.affine else transform.name(name)
