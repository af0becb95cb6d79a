"""Paths of a model from the start states of recorded ones, over the same times."""

import numpy as np
from jaxtyping import Float

from nke.data import Trajectories
from nke.evaluation.evaluate import ensemble_times, is_ensemble
from nke.model import Model
from nke.progress import ProgressOption

MOST_TIMES = 2000  # of the common grid for trajectories that have times of their own


def simulate_like(model: Model, data: Trajectories, seed: int = 0, progress: ProgressOption = False) -> Trajectories:
    """As many simulated paths as recorded ones, each from the first state of its own.

    On the recorded times where all trajectories share them; otherwise on a regular grid of about the model's step,
    each path as long as its record. ``progress`` shows a bar (True; None: on a terminal), or is a
    callback as in ``nke.progress``.
    """
    labels = data.names, data.units, data.unit_of_time
    if is_ensemble(data):
        times = ensemble_times(data)
        return Trajectories(model.sample(data.initial, times, seed=seed, progress=progress), times, *labels)
    spans = np.array([_span(t, seen) for t, seen in zip(data.times, data.observed, strict=True)])
    usable = np.flatnonzero(spans[:, 1] > spans[:, 0])
    duration = spans[usable, 1] - spans[usable, 0]
    step = max(model.step, float(duration.max()) / MOST_TIMES)
    grid = step * np.arange(max(int(np.ceil(duration.max() / step - 1e-6)), 1) + 1)
    paths = model.sample(data.initial[usable], grid, seed=seed, progress=progress)
    rows = [max(int(np.searchsorted(grid, length * (1 + 1e-9), side="right")), 2) for length in duration]
    states = [path[:n] for path, n in zip(paths, rows, strict=True)]
    times = [spans[m, 0] + grid[:n] for m, n in zip(usable, rows, strict=True)]
    return Trajectories(states, times, *labels)


def _span(times: Float[np.ndarray, " n"], observed: np.ndarray) -> tuple[float, float]:
    seen = times[observed]
    return (float(seen[0]), float(seen[-1])) if len(seen) else (0.0, 0.0)
