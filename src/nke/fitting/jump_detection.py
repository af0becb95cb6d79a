"""Are there jumps, and which increments are they? The first of the paper's four steps."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from nke.data import Coordinates, Transitions
from nke.fitting.decisions import Decision
from nke.fitting.initial_moments import TransitionSample, near_zero
from nke.fitting.kinematics import kinematic_constraint
from nke.fitting.rules import SelectionRules
from nke.fitting.smooth_basis import GroupSize, group_sizes
from nke.fitting.smooth_regression import SmoothRegression, Straightened
from nke.fitting.tails import Tails
from nke.operators import KinematicConstraint
from nke.packets import build_packets, excess_kurtosis, group_by_time, jump_flags_by_time

QUESTION = "Are there jumps?"
TOPIC = "jumps"
EXCESS, BEYOND = "local excess kurtosis", "beyond what a law without jumps shows"  # evidence
JUMPS, STUDENT = "nats gained by rare jumps", "nats gained by Student's t"
MOST_EXAMINED = 32_768  # transitions whose tails are looked at
BY_CHANCE = 5.0  # standard errors of the local excess kurtosis below which nobody looks for rare jumps


class LocalKurtosis:
    """Excess kurtosis of increments standardised within their own neighbourhood.

    Noise in proportion to the state makes increments log-normal rather than Gaussian, so those of asinh(x/c), a
    logarithm of the state that goes through zero, are tried too; in each coordinate the most Gaussian ones count.
    """

    def __init__(self, data: Transitions, coordinates: Coordinates, rng: np.random.Generator, rules: SelectionRules):
        """Finds the neighbourhoods.

        Args:
            data: Transitions.
            coordinates: Those of training.
            rng: Source of random numbers.
            rules: Size of the neighbourhood, and of states that count as zero.
        """
        self._x = coordinates.to(data.x)
        self._packets = build_packets(self._x, None, min(rules.kurtosis_neighbours, len(data)), rng)
        # Over √step, so that steps of different length do not pass for heavy tails.
        self._root = np.sqrt(coordinates.step_to(data.step))[:, None]
        self._origin, least = near_zero(self._x, coordinates, rules.near_zero)
        self._zeros = (least, 10 * least)

    def __call__(self, moved: Float[np.ndarray, "t d"]) -> Float[np.ndarray, " d"]:
        """Computes it for each coordinate.

        Args:
            moved: Displacements in the coordinates of training.
        """
        x, moved_to = self._x - self._origin, self._x + moved - self._origin
        tried = [moved] + [np.arcsinh(moved_to / c) - np.arcsinh(x / c) for c in self._zeros]
        return np.min([excess_kurtosis(increments / self._root, self._packets) for increments in tried], axis=0)


def detect_jumps(
    data: Transitions, coordinates: Coordinates, seed: int | np.random.Generator, rules: SelectionRules
) -> tuple[bool, Decision]:
    """Decides whether there are jumps: increments standardised within their neighbourhood are Gaussian without them.

    They are not where the noise changes within the neighbourhood, or on the way of a step. So where they are not, the
    best smooth law without jumps is simulated from the same states, and only what it does not show counts.

    A few rare jumps hardly show there. They do in what that law leaves of the motions: two Gaussians, one for calm
    steps and one for steps with a jump, then have more evidence than one, and than Student's t, which is what noise of
    unknown size looks like. Where the kurtosis is large and Student's t is ahead, the jumps stand for heavy tails.

    Args:
        data: Transitions.
        coordinates: Those of training.
        seed: Of what is drawn at random, or a source of random numbers.
        rules: The threshold.

    Returns:
        Whether there are jumps, and why.
    """
    rng = np.random.default_rng(seed)
    kurtosis = LocalKurtosis(data, coordinates, rng, rules)
    by_coordinate = kurtosis(coordinates.displacement_to(data.displacement))
    excess, evidence = float(by_coordinate.max()), {EXCESS: float(by_coordinate.max())}
    (low, high), rare, heavy = rules.unsure_kurtosis, False, 0.0
    if excess > BY_CHANCE * np.sqrt(24 / len(data)) / 3:
        if excess > rules.jump_kurtosis:
            without = _WithoutJumps.of(data, coordinates, rng, rules).simulated(rng)
            excess = float((by_coordinate - np.maximum(kurtosis(without), 0.0)).max())
            evidence[BEYOND] = excess
        some = data.take(np.linspace(0, len(data) - 1, min(MOST_EXAMINED, len(data))).astype(int))
        without = _WithoutJumps.of(some, coordinates, rng, rules)
        tails = without.tails(rng)
        rare = tails.jumps_ahead > rules.evidence_gain
        if excess > rules.jump_kurtosis and not rare:
            tails = without.tails_of_calm_steps()
            heavy = tails.freedom if -tails.jumps_ahead > rules.evidence_gain else 0.0
        evidence |= {JUMPS: tails.jumps, STUDENT: tails.student}
    found = excess > rules.jump_kurtosis or rare
    answer = "assumed" if found else "none"
    if found and heavy:
        answer += f", standing for heavy tails: those of Student's t with {heavy:g} degrees of freedom are likelier"
    elif low < excess < high and not rare:
        answer += ", but rare or small jumps cannot be told from noise: compare scores with jumps=True and jumps=False"
    rule = (
        f"assumed where the local excess kurtosis exceeds {rules.jump_kurtosis:g}, and that of a smooth law without "
        f"jumps by as much, or where rare jumps have {rules.evidence_gain:g} nats more evidence than a Gaussian and "
        "Student's t in what such a law leaves"
    )
    return found, Decision(QUESTION, answer, evidence, rule, TOPIC)


class _WithoutJumps(NamedTuple):
    """Drift and noise of a smooth regression, which takes jumps for noise.

    Attributes:
        law: The regression.
        sample: The transitions.
        again: The same regression where each transition held no jump with some probability.
    """

    law: SmoothRegression
    sample: TransitionSample
    again: Callable[[Float[np.ndarray, " t"]], SmoothRegression]

    @classmethod
    def of(
        cls,
        data: Transitions,
        coordinates: Coordinates,
        rng: np.random.Generator,
        rules: SelectionRules,
        most: int = 8192,
    ) -> "_WithoutJumps":
        """Regresses some of the transitions."""
        names = tuple(map(str, range(data.dimension)))
        angles = kinematic_constraint({}, (), names, data, coordinates, rules)
        sample = TransitionSample(data, coordinates, angles, rules.near_zero)
        seed, degree = int(rng.integers(2**31)), rules.most_degree if sample.x.shape[1] <= 3 else 1
        options = {"degree": degree, "seed": seed, "most": most, "rounds": 1, "sizes": _few_kernels}
        again = partial(SmoothRegression.of, sample, **options)
        return cls(again(np.ones(len(data))), sample, again)

    def simulated(self, rng: np.random.Generator, parts: int = 4) -> Float[np.ndarray, "t r"]:
        """Every transition once by Euler's method, in some parts."""
        return self.law.simulated(self.sample, rng, parts)

    def tails(self, rng: np.random.Generator) -> Tails:
        """What the law leaves of the motions of the coordinate that looks most like jumps, beyond simulated ones."""
        sample = self.sample
        most = 3 * np.abs(sample.displacement).max(axis=0)  # beyond that the law ran away
        drawn = sample.with_displacement(np.clip(self.simulated(rng), -most, most))
        return _likest_jumps(self.law.straightened(sample), self.law.straightened(drawn))

    def tails_of_calm_steps(self) -> Tails:
        """The same where steps that may hold a jump say nothing about the noise.

        Noise that depends on the state may stand for jumps of a rate that does.
        """
        left = self.again(1 - self.law.straightened(self.sample).jumped).straightened(self.sample)
        return _likest_jumps(left)


def _likest_jumps(recorded: Straightened, simulated: Straightened | None = None) -> Tails:
    found = [Tails.of(column) for column in recorded.white.T]
    if simulated is not None:
        found = [tails.beyond(Tails.of(drawn)) for tails, drawn in zip(found, simulated.white.T, strict=True)]
    return max(found, key=lambda tails: tails.jumps_ahead)


def _few_kernels(dimension: int) -> list[GroupSize]:
    """Kernels over single coordinates, and over pairs of up to three: this much of the noise is enough to know."""
    return group_sizes(dimension)[: 2 if dimension <= 3 else 1]


def decide_jumps(
    asked: bool | None,
    data: Transitions,
    coordinates: Coordinates,
    seed: int | np.random.Generator,
    rules: SelectionRules,
) -> tuple[bool, Decision]:
    """Decides as asked, otherwise from the data; warns where the data disagrees with ``asked=False``.

    Args:
        asked: What the user said; None: nothing.
        data: Transitions.
        coordinates: Those of training.
        seed: Of what is drawn at random, or a source of random numbers.
        rules: The threshold.

    Returns:
        Whether the law has jumps, and why.
    """
    if asked is True:
        return True, Decision(QUESTION, "yes, as asked", topic=TOPIC)
    found, decision = detect_jumps(data, coordinates, seed, rules)
    if asked is None:
        return found, decision
    if found:
        warnings.warn(
            "jumps=False, but there seem to be jumps (local excess kurtosis "
            f"{decision.evidence[EXCESS]:.2f}, threshold {rules.jump_kurtosis:g}): they will pass for "
            "noise; fit with jumps=None or True",
            UserWarning,
            stacklevel=2,
        )
    return False, replace(decision, answer="none, as asked")


def find_jumps(
    data: Transitions, sensitivity: float, rules: SelectionRules, constraint: KinematicConstraint | None = None
) -> Bool[np.ndarray, " t"]:
    """Finds the increments that are jumps: the paper's flags χ, each compared with its peers of the same time step.

    Args:
        data: Transitions.
        sensitivity: κ_sens, the number of median deviations.
        rules: How many peers there must be at one time.
        constraint: What is known of positions: they do not jump, and how far they move says nothing.

    Returns:
        A flag for each transition.
    """
    group = group_by_time(data.time, data.step)
    if np.median(np.bincount(group)) < rules.peers_at_one_time:
        group = np.zeros_like(group)
    jumping = slice(None) if constraint is None else list(constraint.free)
    return jump_flags_by_time(_noise_units(data.displacement[:, jumping]), group, sensitivity)


def _noise_units(displacement: Float[np.ndarray, "t d"]) -> Float[np.ndarray, "t d"]:
    """Displacements in units of their median size, coordinate by coordinate.

    The norm in χ is then not ruled by whichever coordinate is noisiest: on the paper's double well it
    flags 3.9 % of the increments instead of 2.9 % with z-scored ones (κ_sens = 3; 4.9 % hold a jump).
    A coordinate that mostly rests has a median of zero and is taken in units of its root mean square.
    """
    size = np.median(np.abs(displacement - np.median(displacement, axis=0)), axis=0)
    size = np.where(size > 0, size, np.sqrt(np.mean(displacement**2, axis=0)))
    return displacement / np.where(size > 0, size, 1.0)
