"""``nke.evaluate``: a model against trajectories that it has not seen."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from nke.data import Trajectories
from nke.errors import InputError
from nke.evaluation.ensemble import EnsembleMetrics, ensemble_metrics
from nke.model import Model
from nke.progress import ProgressOption, progress_bar


@dataclass(frozen=True)
class Evaluation:
    """``ensemble`` is None where the data is no ensemble on common times; ``score`` is always there."""

    score: float  # mean log transition density per transition, in physical units
    ensemble: EnsembleMetrics | None  # in units of the model's scale


def evaluate(model: Model, data: Trajectories, seed: int = 0, progress: ProgressOption = False) -> Evaluation:
    """Scores the transitions, and compares as many simulated paths from the same start states.

    ``progress`` shows a bar (True; None: on a terminal), or is a callback as in ``nke.progress``.
    """
    if data.dimension != model.dimension:
        raise InputError(
            f"expected data with {model.dimension} coordinates ({', '.join(model.names)}), but got {data.dimension}"
        )
    with progress_bar(progress) as begin:
        score = model.score(data, progress=begin)
        if not is_ensemble(data):
            return Evaluation(score, None)
        generated = model.sample(data.initial, ensemble_times(data), seed=seed, progress=begin)
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
