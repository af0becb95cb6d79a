"""Histograms of recorded and simulated numbers in the same bins."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from nke.data import Trajectories
from nke.evaluation.evaluate import is_ensemble
from nke.model import Model

ENSEMBLE = 50  # trajectories, fewer of which make no histogram at a single time


class Histogram(NamedTuple):
    """Densities of two samples.

    Attributes:
        edges: Of the bins.
        recorded: Density of the recorded numbers in each bin.
        simulated: That of the simulated ones.

    Example:
        >>> found = nke.plots.numbers.Histogram.of(np.array([0.1, 0.2, 0.9]), np.array([0.5]), (0.0, 1.0))
        >>> float((found.recorded * np.diff(found.edges)).sum().round(6))
        1.0
    """

    edges: Float[np.ndarray, " b1"]
    recorded: Float[np.ndarray, " b"]
    simulated: Float[np.ndarray, " b"]

    @classmethod
    def of(
        cls, recorded: Float[np.ndarray, " n"], simulated: Float[np.ndarray, " m"], span: tuple[float, float]
    ) -> "Histogram":
        """Counts both in 12 to 50 bins, the more the more recorded numbers there are.

        Args:
            recorded: The recorded numbers.
            simulated: The simulated numbers.
            span: Lowest and highest edge.

        Returns:
            The densities; zeros where there is nothing within the edges.
        """
        edges = np.linspace(*span, int(np.clip(2 * len(recorded) ** (1 / 3), 12, 50)) + 1)
        return cls(edges, _density(recorded, edges), _density(simulated, edges))


def _density(values: np.ndarray, edges: np.ndarray) -> Float[np.ndarray, " b"]:
    counts = np.histogram(values[np.isfinite(values)], edges)[0]
    return counts / (max(counts.sum(), 1) * np.diff(edges))


def usual_range(values: Float[np.ndarray, " n"]) -> tuple[float, float]:
    """Where nearly all of the values are, with a margin."""
    low, high = np.percentile(values, (0.1, 99.9))
    margin = 0.08 * (high - low) or 1.0
    return float(low - margin), float(high + margin)


def shared_range(recorded: Float[np.ndarray, " n"], drawn: Float[np.ndarray, " m"]) -> tuple[float, float]:
    """Where the data is, and simulated paths too unless they go more than as far again beyond it."""
    low, high = usual_range(recorded)
    reach = high - low
    wide = usual_range(drawn[np.isfinite(drawn)])
    return max(min(low, wide[0]), low - reach), min(max(high, wide[1]), high + reach)


def increments(
    model: Model, data: Trajectories, seed: int = 0, most: int = 20_000
) -> tuple[Float[np.ndarray, "t d"], Float[np.ndarray, "t d"]]:
    """Takes recorded increments, and draws as many of the model from the same states over the same steps.

    Args:
        model: The model.
        data: Recorded trajectories.
        seed: Of the model's increments.
        most: Transitions at most; of more a random part is taken.

    Returns:
        Recorded and drawn increments.
    """
    rng, steps = np.random.default_rng(seed), data.transitions()
    if len(steps) > most:
        steps = steps.take(rng.choice(len(steps), most, replace=False))
    return steps.displacement, model.transition(steps.x, steps.step).sample(1, rng)[0] - steps.x


def few_times(
    data: Trajectories, simulated: Trajectories, unit: str, count: int = 3
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Recorded and simulated states at a few times of an ensemble, or otherwise over all times.

    Args:
        data: Recorded trajectories.
        simulated: Simulated ones from the same start states over the same times.
        unit: Of the times.
        count: How many times.

    Returns:
        Both, by the words above them.
    """
    if not is_ensemble(data) or len(data) < ENSEMBLE:
        return {"all times": (data.observed_states, simulated.observed_states)}
    times, (recorded, drawn) = data.times[0], (np.asarray(source.states) for source in (data, simulated))
    rows = np.unique(np.linspace(0, len(times) - 1, count + 1).round().astype(int)[1:])
    return {f"time {times[n]:g} {unit}".rstrip(): (recorded[:, n], drawn[:, n]) for n in rows}
