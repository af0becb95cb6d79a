"""Borders that states do not cross: zero for what is positive, the ends of the data for what the law would leave."""

from functools import cached_property

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr

from nke.data import Trajectories, Transitions
from nke.data.transforms import Plain
from nke.fitting.decisions import Decision
from nke.fitting.rules import SelectionRules
from nke.model import Borders, Model

QUESTION = "Are there borders that states do not cross?"


def find_borders(
    model: Model, data: Trajectories, some: Transitions, rules: SelectionRules
) -> tuple[Borders | None, list[Decision]]:
    """Finds borders by the crossings that the law expects and the data does not have.

    The chance that none of n steps leads beyond a border is about e^{−K}, K = Σ P(beyond the border | state). Beyond
    the lowest or highest of all states K is of order one under a law that is right.

    Args:
        model: The law.
        data: All recorded trajectories.
        some: Some of their transitions, from which K is taken.
        rules: How unlikely it must be that no step leads beyond.

    Returns:
        The borders, None where there are none; and a decision where there are some.
    """
    crossings, states = Crossings(model, some, len(data.transitions()) / len(some)), data.observed_states
    lowest, highest = states.min(axis=0), states.max(axis=0)
    borders, evidence = [], {}
    for i, (name, column) in enumerate(zip(model.names, model.coordinates.transforms, strict=True)):
        found = {-1: -np.inf, 1: np.inf}
        for side, border in ((-1, min(lowest[i], 0.0)), (1, highest[i])) if isinstance(column, Plain) else ():
            expected = crossings.expected(i, border, side, rules.border_nats)
            if expected > rules.border_nats:
                found[side] = float(border)
                words = f"{name} {'≤' if side > 0 else '≥'} {border:.4g}"
                evidence[words] = {"crossings that the law would have made": expected}
        borders.append((found[-1], found[1]))
    if not evidence:
        return None, []
    rule = (
        f"zero or the end of the data, where the law would have crossed it more than {rules.border_nats:g} times; "
        "simulated states are reflected there"
    )
    return tuple(borders), [Decision(QUESTION, ", ".join(evidence), evidence, rule, "borders")]


class Crossings:
    """How often a law would lead beyond a border, from the states of the data.

    Attributes:
        model: The law.
        some: Transitions that start at these states.
        times: How many transitions of the data each of them stands for.
    """

    def __init__(self, model: Model, some: Transitions, times: float):
        """Prepares the estimate."""
        self.model, self.some, self.times = model, some, times

    def expected(self, column: int, border: float, side: int, enough: float) -> float:
        """Computes the expected number of steps beyond a border.

        Args:
            column: Of the state.
            border: Where it is.
            side: 1 where states beyond it are larger, −1 where they are smaller.
            enough: A number up to which a rough estimate does.

        Returns:
            The number: by Euler's rule, and where that exceeds ``enough`` by the transition density.
        """
        mean, deviation = self._by_euler
        rough = self._sum(np.ones(1), mean[:, None, column], deviation[:, None, column], border, side)
        if not rough > enough:
            return rough
        law = self._transitions
        deviations = np.sqrt(law.covariances[..., column, column])
        return self._sum(law.weights, law.means[..., column], deviations, border, side)

    def _sum(
        self, weights: Float[np.ndarray, "*t k"], means: Float[np.ndarray, "t k"], deviations, border: float, side: int
    ) -> float:
        beyond = weights * ndtr(side * (means - border) / np.maximum(deviations, np.finfo(float).tiny))
        return self.times * float(np.nansum(beyond))

    @cached_property
    def _by_euler(self) -> tuple[Float[np.ndarray, "t d"], Float[np.ndarray, "t d"]]:
        x, step = self.some.x, self.some.step[:, None]
        variance = np.diagonal(self.model.diffusion(x), axis1=-2, axis2=-1)
        return x + step * self.model.drift(x), np.sqrt(step * variance)

    @cached_property
    def _transitions(self):
        return self.model.transition(self.some.x, self.some.step)
