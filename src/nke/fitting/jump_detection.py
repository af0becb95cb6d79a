"""Are there jumps, and which increments are they? The first of the paper's four steps."""

import warnings
from dataclasses import replace

import numpy as np
from jaxtyping import Bool, Float

from nke.data import Coordinates, Transitions
from nke.fitting.decisions import Decision
from nke.fitting.initial_moments import near_zero
from nke.fitting.rules import SelectionRules
from nke.operators import KinematicConstraint
from nke.packets import build_packets, excess_kurtosis, group_by_time, jump_flags_by_time

QUESTION = "Are there jumps?"
TOPIC = "jumps"


def local_excess_kurtosis(
    data: Transitions, coordinates: Coordinates, rng: np.random.Generator, rules: SelectionRules
) -> float:
    """Computes the excess kurtosis of increments standardised within their own neighbourhood.

    Noise in proportion to the state makes increments log-normal rather than Gaussian, so those of asinh(x/c), a
    logarithm of the state that goes through zero, are tried too; in each coordinate the most Gaussian ones count.

    Args:
        data: Transitions.
        coordinates: Those of training.
        rng: Source of random numbers.
        rules: Size of the neighbourhood, and of states that count as zero.

    Returns:
        That of the coordinate where it is largest.
    """
    x = coordinates.to(data.x)
    packets = build_packets(x, None, min(rules.kurtosis_neighbours, len(data)), rng)
    # Over √step, so that steps of different length do not pass for heavy tails.
    root = np.sqrt(coordinates.step_to(data.step))[:, None]
    moved = coordinates.displacement_to(data.displacement)
    origin, least = near_zero(x, coordinates, rules.near_zero)
    tried = [moved] + [np.arcsinh((x + moved - origin) / c) - np.arcsinh((x - origin) / c) for c in (least, 10 * least)]
    return float(np.min([excess_kurtosis(increments / root, packets) for increments in tried], axis=0).max())


def detect_jumps(
    data: Transitions, coordinates: Coordinates, seed: int | np.random.Generator, rules: SelectionRules
) -> tuple[bool, Decision]:
    """Decides whether there are jumps: increments standardised within their neighbourhood are Gaussian without them.

    Args:
        data: Transitions.
        coordinates: Those of training.
        seed: Of what is drawn at random, or a source of random numbers.
        rules: The threshold.

    Returns:
        Whether there are jumps, and why.
    """
    excess = local_excess_kurtosis(data, coordinates, np.random.default_rng(seed), rules)
    found, (low, high) = excess > rules.jump_kurtosis, rules.unsure_kurtosis
    answer = "assumed" if found else "none"
    if low < excess < high:
        answer += ", but rare or small jumps cannot be told from noise: compare scores with jumps=True and jumps=False"
    rule = f"assumed where the local excess kurtosis exceeds {rules.jump_kurtosis:g}"
    return found, Decision(QUESTION, answer, {"local excess kurtosis": excess}, rule, TOPIC)


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
            f"{decision.evidence['local excess kurtosis']:.2f}, threshold {rules.jump_kurtosis:g}): they will pass for "
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
