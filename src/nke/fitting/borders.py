"""Borders that states do not cross: zero for what is positive, the ends of the data for what the law would leave."""

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr

from nke.data import Trajectories, Transitions
from nke.data.transforms import Plain
from nke.fitting.decisions import Decision
from nke.fitting.rules import SelectionRules
from nke.fitting.usual_bounds import usual_bounds
from nke.model import Borders, Model, batched

QUESTION = "Are there borders that states do not cross?"


def find_borders(
    model: Model, data: Trajectories, crossings: Float[np.ndarray, "d 2"], rules: SelectionRules
) -> tuple[Borders | None, list[Decision]]:
    """Finds borders by the crossings that the law expects and the data does not have.

    The chance that none of n steps leads beyond a border is about e^{−K}, K = Σ P(beyond the border | state). Beyond
    the lowest or highest of all states K is of order one under a law that is right. What is never negative in the data
    is taken to be positive by nature, whatever K is, and what comes near two usual bounds and never beyond to stay
    between them: a law says nothing about states that far beyond its data.

    Args:
        model: The law.
        data: All recorded trajectories.
        crossings: K of the lower and the upper end of each column, as ``expected_crossings`` gives it.
        rules: How unlikely it must be that no step leads beyond.

    Returns:
        The borders, None where there are none; and a decision where there are some, with a warning where states reach
        one so often that its push passes for drift and noise.
    """
    borders, evidence, walls = [], {}, []
    for name, ends, beyond in zip(model.names, _ends(data), crossings, strict=True):
        found, by_nature = [-np.inf, np.inf], (0.0, *(usual_bounds(data.observed_states[:, len(borders)]) or ()))
        for side, (border, expected) in enumerate(zip(ends, beyond, strict=True)):
            # A position would be reflected without its velocity.
            if (border in by_nature and not np.isnan(expected)) or expected > rules.border_nats:
                found[side] = float(border)
                words = f"{name} {'≤' if side else '≥'} {border:.4g}"
                evidence[words] = {"crossings that the law would have made": float(expected)}
                walls += [f"{name} = {border:.4g}"] * is_often(expected, data, rules)
        borders.append(tuple(found))
    if not evidence:
        return None, []
    rule = (
        f"the end of the data, where the law would have crossed it more than {rules.border_nats:g} times, and zero for "
        "what is never negative; simulated states are reflected there"
    )
    warning = (
        f"states are often reflected at {', '.join(walls)}: within one step of there the learned drift and noise "
        "contain the push of the border and are not to be trusted, unlike simulated paths; record with a shorter step"
    )
    answer = ", ".join(evidence)
    return tuple(borders), [Decision(QUESTION, answer, evidence, rule, "borders", warning if walls else "")]


def expected_crossings(
    model: Model, data: Trajectories, some: Transitions, rules: SelectionRules
) -> Float[np.ndarray, "d 2"]:
    """Counts how often the law would have led beyond the ends of the data.

    Args:
        model: The law.
        data: All recorded trajectories.
        some: Some of their transitions, from which the number for all is taken.
        rules: What noise counts as none.

    Returns:
        Expected steps beyond the lower end, which is zero where the data is never negative, and the upper end of each
        column; NaN for columns that are transformed or move without noise.
    """
    (mean, deviation), states = _moved(model, some), data.observed_states
    deviation = np.where(deviation > rules.noiseless * states.std(axis=0), deviation, np.nan)  # no noise, no crossing
    beyond = np.full((len(model.names), 2), np.nan)
    for i, (ends, column) in enumerate(zip(_ends(data), model.coordinates.transforms, strict=True)):
        if isinstance(column, Plain) and np.isfinite(deviation[:, i]).any():
            far = [side * (mean[:, i] - end) / deviation[:, i] for side, end in zip((-1, 1), ends, strict=True)]
            beyond[i] = [np.nansum(ndtr(each)) for each in far]
    return beyond * len(data.transitions()) / len(some)


def is_often(expected: float, data: Trajectories, rules: SelectionRules) -> bool:
    """Tells whether so many crossings mean that the push of the border passes for drift and noise.

    Args:
        expected: Number of crossings.
        data: All recorded trajectories.
        rules: The share of the transitions that is many.

    Returns:
        Whether it is; False for NaN.
    """
    return bool(expected > rules.coarse_share * len(data.transitions()))


def _ends(data: Trajectories) -> Float[np.ndarray, "d 2"]:
    states = data.observed_states
    ends = np.stack([np.minimum(states.min(axis=0), 0.0), states.max(axis=0)], axis=1)
    for i, column in enumerate(states.T):
        ends[i] = usual_bounds(column) or ends[i]
    return ends


def _moved(model: Model, some: Transitions) -> tuple[Float[np.ndarray, "t d"], Float[np.ndarray, "t d"]]:
    """Mean and standard deviation of the state after each step in the user's units, as far as columns are plain.

    The drift is that halfway through the step: at its start a steep wall would seem to be crossed.
    """
    to, law = model.coordinates, model.generator
    z, step = to.to(some.x), np.asarray(to.step_to(some.step))[:, None]
    drift, tensor = (
        lambda z, of=of: batched.in_blocks(lambda z: of(law, z), z) for of in (batched.drift, batched.diffusion)
    )
    mean = z + step * drift(z + step / 2 * drift(z))
    deviation = np.sqrt(step * np.diagonal(tensor(z), axis1=-2, axis2=-1))
    return to.shift + to.scale * mean, to.scale * deviation
