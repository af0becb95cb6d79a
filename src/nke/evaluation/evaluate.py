"""``nke.evaluate``: a model against trajectories that it has not seen."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from nke.data import Trajectories
from nke.errors import InputError
from nke.evaluation.ensemble import EnsembleMetrics, ensemble_metrics
from nke.model import Model
from nke.progress import Progress, silent


@dataclass(frozen=True)
class Evaluation:
    """``ensemble`` is None where the data is no ensemble on common times; ``score`` is always there."""

    score: float  # mean log transition density per transition, in physical units
    ensemble: EnsembleMetrics | None  # in units of the model's scale


def evaluate(model: Model, data: Trajectories, seed: int = 0, stage: Progress = silent) -> Evaluation:
    """Scores the transitions, and compares as many simulated paths from the same start states.

    ``stage`` shows progress, as ``nke.progress.progress_bar`` yields it.
    """
    if data.dimension != model.dimension:
        raise InputError(
            f"expected data with {model.dimension} coordinates ({', '.join(model.names)}), but got {data.dimension}"
        )
    score = model.score(data, progress=stage)
    if not is_ensemble(data):
        return Evaluation(score, None)
    times = ensemble_times(data)
    generated = model.sample(data.initial, times, seed=seed, progress=stage)
    scale = model.coordinates.scale
    return Evaluation(score, ensemble_metrics(generated / scale, np.asarray(data.states) / scale))


def is_ensemble(data: Trajectories) -> bool:
    """Whether two or more trajectories are observed without gaps at the same times."""
    if data.is_ragged or len(data) < 2 or not np.all(data.observed):
        return False
    times = np.asarray(data.times)
    steps = np.diff(times[0])
    return bool(np.all(np.abs(times - times[0]) <= 1e-6 * steps.min()))


def ensemble_times(data: Trajectories) -> Float[np.ndarray, " t"]:
    return np.asarray(data.times)[0]
