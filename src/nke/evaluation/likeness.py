"""Paths of a model from the start states of recorded ones, over the same times."""

from typing import Any

import numpy as np
from jaxtyping import Float

from nke.data import Trajectories
from nke.evaluation.evaluate import ensemble_times, is_ensemble
from nke.model import as_model
from nke.progress import ProgressOption, progress_bar


def simulate_like(
    model: Any, data: Trajectories, seed: int = 0, progress: ProgressOption = False, most_times: int = 2000
) -> Trajectories:
    """Simulates as many paths as were recorded, each from the first state of its own.

    On the recorded times where all trajectories share them; otherwise on a regular grid of about the model's step,
    each path as long as its record.

    Args:
        model: The model, or the result of a fit.
        data: Trajectories whose start states, times, names and units are taken.
        seed: Of the simulated paths.
        progress: Whether to show a bar; None: on a terminal; or a callback (see ``nke.progress``).
        most_times: Times of the regular grid at most, for trajectories that have times of their own.

    Returns:
        The simulated trajectories.

    Example:
        >>> simulated = nke.evaluation.simulate_like(model, data)
        >>> np.shape(simulated.states) == np.shape(data.states)
        True
        >>> bool(np.allclose(simulated.initial, data.initial))
        True
    """
    model = as_model(model)
    labels = data.names, data.units, data.unit_of_time
    with progress_bar(progress) as begin:
        if is_ensemble(data):
            times = ensemble_times(data)
            return Trajectories(model.sample(data.initial, times, seed=seed, progress=begin), times, *labels)
        spans = np.array([_span(t, seen) for t, seen in zip(data.times, data.observed, strict=True)])
        usable = np.flatnonzero(spans[:, 1] > spans[:, 0])
        duration = spans[usable, 1] - spans[usable, 0]
        step = max(model.step, float(duration.max()) / most_times)
        grid = step * np.arange(max(int(np.ceil(duration.max() / step - 1e-6)), 1) + 1)
        paths = model.sample(data.initial[usable], grid, seed=seed, progress=begin)
    rows = [max(int(np.searchsorted(grid, length * (1 + 1e-9), side="right")), 2) for length in duration]
    states = [path[:n] for path, n in zip(paths, rows, strict=True)]
    times = [spans[m, 0] + grid[:n] for m, n in zip(usable, rows, strict=True)]
    return Trajectories(states, times, *labels)


def _span(times: Float[np.ndarray, " n"], observed: np.ndarray) -> tuple[float, float]:
    """First and last time at which a trajectory was observed."""
    seen = times[observed]
    return (float(seen[0]), float(seen[-1])) if len(seen) else (0.0, 0.0)
