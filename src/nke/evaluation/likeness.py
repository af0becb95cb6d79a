"""Paths of a model from the start states of recorded ones, over the same times."""

from typing import Any

import numpy as np
from jaxtyping import Float

from nke.data import Trajectories
from nke.evaluation.evaluate import ensemble_times, is_ensemble
from nke.model import Model, as_model
from nke.progress import Progress, ProgressOption, progress_bar

MOST_GROUPS = 20  # of trajectories with the same times, each of which is simulated as one


def simulate_like(
    model: Any,
    data: Trajectories,
    seed: int = 0,
    progress: ProgressOption = False,
    *,
    most_times: int | None = None,
) -> Trajectories:
    """Simulates recorded data anew: the same trajectories, start states, times and gaps, and dates if it has any.

    Args:
        model: The model, or the result of a fit.
        data: Trajectories whose start states, times, names and units are taken.
        seed: Of the simulated paths.
        progress: Whether to show a bar; None: on a terminal; or a callback (see ``nke.progress``).
        most_times: For pictures of trajectories that have times of their own: they are simulated on a regular grid of
            about the model's step instead, with so many times at most.

    Returns:
        The simulated trajectories; rows that were not observed are NaN in them too.

    Example:
        >>> simulated = nke.evaluation.simulate_like(model, data)
        >>> np.shape(simulated.states) == np.shape(data.states)
        True
        >>> bool(np.allclose(simulated.initial, data.initial))
        True
    """
    model = as_model(model)
    labels = data.names, data.units, data.unit_of_time, data.calendar
    with progress_bar(progress) as begin:
        if is_ensemble(data):
            times = ensemble_times(data)
            return Trajectories(model.sample(data.initial, times, seed=seed, progress=begin), times, *labels)
        if most_times is None:
            return Trajectories(_at_own_times(model, data, seed, begin), list(data.times), *labels)
        return _on_a_grid(model, data, seed, begin, most_times)


def _at_own_times(model: Model, data: Trajectories, seed: int, progress: Progress) -> list[np.ndarray]:
    """States at every observed time of every trajectory; those with the same times are simulated together."""
    states = [np.full((len(times), data.dimension), np.nan) for times in data.times]
    groups: dict[bytes, list[int]] = {}
    for m, (times, seen) in enumerate(zip(data.times, data.observed, strict=True)):
        if seen.any():
            groups.setdefault(np.round(times[seen] - times[seen][0], 12).tobytes(), []).append(m)
    together = {key: members for key, members in groups.items() if len(groups) <= MOST_GROUPS or len(members) > 1}
    alone = [m for key, members in groups.items() if key not in together for m in members]
    for k, members in enumerate(together.values()):
        times = data.times[members[0]][data.observed[members[0]]]
        start = data.initial[members]
        found = start[:, None] if len(times) == 1 else model.sample(start, times, seed=seed + k, progress=progress)
        for m, path in zip(members, found, strict=True):
            states[m][data.observed[m]] = path
    if alone:
        _row_by_row(model, data, alone, states, seed + len(together), progress)
    return states


def _row_by_row(
    model: Model, data: Trajectories, members: list[int], states: list[np.ndarray], seed: int, progress: Progress
) -> None:
    """Carries trajectories with times of their own from row to row, all at once, no step longer than the model's."""
    times = [data.times[m][data.observed[m]] for m in members]
    rows = [np.flatnonzero(data.observed[m]) for m in members]
    x = data.initial[members]
    for m, at, start in zip(members, rows, x, strict=True):
        states[m][at[0]] = start
    longest = max(map(len, times))
    advance = progress("simulating", longest)
    for n in range(1, longest):
        moving = np.array([k for k, t in enumerate(times) if len(t) > n])
        steps = np.array([times[k][n] - times[k][n - 1] for k in moving])
        parts = max(int(np.ceil(steps.max() / model.step - 1e-6)), 1)
        for part in range(parts):
            x[moving] = model.sample_next(x[moving], steps / parts, seed=seed + 7919 * n + part)
        for k in moving:
            states[members[k]][rows[k][n]] = x[k]
        advance(1)


def _on_a_grid(model: Model, data: Trajectories, seed: int, progress: Progress, most_times: int) -> Trajectories:
    """Simulates on a regular grid of about the model's step, each path as long as its record."""
    spans = np.array([_span(t, seen) for t, seen in zip(data.times, data.observed, strict=True)])
    usable = np.flatnonzero(spans[:, 1] > spans[:, 0])
    duration = spans[usable, 1] - spans[usable, 0]
    step = max(model.step, float(duration.max()) / most_times)
    grid = step * np.arange(max(int(np.ceil(duration.max() / step - 1e-6)), 1) + 1)
    paths = model.sample(data.initial[usable], grid, seed=seed, progress=progress)
    rows = [max(int(np.searchsorted(grid, length * (1 + 1e-9), side="right")), 2) for length in duration]
    states = [path[:n] for path, n in zip(paths, rows, strict=True)]
    times = [spans[m, 0] + grid[:n] for m, n in zip(usable, rows, strict=True)]
    return Trajectories(states, times, data.names, data.units, data.unit_of_time, data.calendar)


def _span(times: Float[np.ndarray, " n"], observed: np.ndarray) -> tuple[float, float]:
    """First and last time at which a trajectory was observed."""
    seen = times[observed]
    return (float(seen[0]), float(seen[-1])) if len(seen) else (0.0, 0.0)
