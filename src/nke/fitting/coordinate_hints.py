"""Coordinates that would keep states within their bounds: suggested where the learned law leads beyond them."""

from collections.abc import Collection, Mapping

import numpy as np
from jaxtyping import Float

from nke.data import Trajectories
from nke.data.transforms import Log, Logit, Transform
from nke.fitting.borders import is_often
from nke.fitting.coordinate_choice import Comparison
from nke.fitting.decisions import Decision
from nke.fitting.rules import SelectionRules
from nke.fitting.usual_bounds import usual_bounds


def coordinate_hints(
    data: Trajectories, crossings: Float[np.ndarray, "d 2"], fixed: Collection[str], seed: int, rules: SelectionRules
) -> list[Decision]:
    """Suggests logits and logarithms for columns that the law, learned in plain ones, leads out of their bounds.

    A column stays between two usual bounds if its values reach from near one to near the other and never beyond. It is
    suggested where the law would have crossed an end of the data, or often have crossed zero, and transitions are then
    predicted no worse: a walk that is reflected by walls has no better logit.

    Args:
        data: Recorded trajectories.
        crossings: Expected steps beyond the ends of each column, NaN for those that are not plain.
        fixed: Columns that must stay as they are.
        seed: Of the parts that are held out.
        rules: What is often, and margin of the comparison.

    Returns:
        A decision that says what to say to the fit; none where no column gains.
    """
    suited = {
        i: transform
        for i, name in enumerate(data.names)
        if name not in fixed and (transform := _suited(data, i, crossings[i], rules)) is not None
    }
    if not suited:
        return []
    comparison, evidence, chosen = Comparison.of(data, seed, rules), {}, {}
    for i, transform in suited.items():
        gain = comparison.gain_of(i, transform)
        if gain.value > -rules.coordinate_gain_errors * gain.error:
            chosen[data.names[i]] = transform
            evidence[data.names[i]] = {f"gain of the {transform.kind} in nats per transition": gain}
    if not chosen:
        return []
    rule = f"held-out transitions are predicted no worse by {rules.coordinate_gain_errors:g} standard errors"
    return [
        Decision("Do other coordinates keep states within bounds?", _in_words(chosen), evidence, rule, topic="bounds")
    ]


def _suited(
    data: Trajectories, column: int, crossings: Float[np.ndarray, "2"], rules: SelectionRules
) -> Transform | None:
    values = data.observed_states[:, column]
    if not (crossings > rules.border_nats).any():
        return None
    bounds = usual_bounds(values)
    if bounds is not None:
        return Logit(*bounds)
    return Log() if values.min() > 0 and is_often(crossings[0], data, rules) else None


def _in_words(chosen: Mapping[str, Transform]) -> str:
    bounds = {name: t for name, t in chosen.items() if isinstance(t, Logit)}
    positive = [name for name, t in chosen.items() if isinstance(t, Log)]
    parts = []
    if bounds:
        said = ", ".join(f"{name!r}: ({t.lower:g}, {t.upper:g})" for name, t in bounds.items())
        [first, *others] = bounds.values()
        where = "within bounds" if others else f"between {first.lower:g} and {first.upper:g}"
        parts.append(f"{_stay(list(bounds))} {where}: bounds={{{said}}} would keep simulated states there")
    if positive:
        parts.append(f"{_stay(positive)} positive: positive={positive} would keep simulated states so")
    return "; ".join(parts)


def _stay(names: list[str]) -> str:
    return f"{', '.join(names)} stay{'s' * (len(names) == 1)}"
