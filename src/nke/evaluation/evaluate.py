"""``nke.evaluate``: a model against trajectories that it has not seen."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from nke.data import Trajectories
from nke.errors import InputError
from nke.evaluation.diagnosis import Diagnosis, diagnose
from nke.evaluation.ensemble import EnsembleMetrics, ensemble_metrics
from nke.model import Model
from nke.progress import ProgressOption, progress_bar


@dataclass(frozen=True)
class Evaluation:
    """How good a model is on data.

    Attributes:
        score: Mean log transition density per transition, in the units of the data; higher is better.
        ensemble: Metrics between simulated and recorded paths, in units of the model's scale; None where the
            trajectories are not recorded at the same times without gaps.
        diagnosis: What speaks against the model in this data.

    Example:
        >>> evaluation = nke.evaluate(model, data)
        >>> isinstance(evaluation.score, float), evaluation.ensemble._fields
        (True, ('mean_mse', 'covariance_mse', 'wasserstein'))
    """

    score: float
    ensemble: EnsembleMetrics | None
    diagnosis: Diagnosis


def evaluate(model: Model, data: Trajectories, seed: int = 0, progress: ProgressOption = False) -> Evaluation:
    """Scores the transitions of data, and compares as many simulated paths from the same start states.

    Args:
        model: The model.
        data: Trajectories that the model has not seen.
        seed: Of the simulated paths.
        progress: Whether to show a bar; None: on a terminal; or a callback (see ``nke.progress``).

    Returns:
        The score and, for an ensemble on common times, the metrics of the paths.

    Raises:
        InputError: If the data has another number of coordinates than the model.

    Example:
        >>> unseen = nke.systems.OrnsteinUhlenbeck().simulate(8, seed=1)
        >>> nke.evaluate(model, unseen).ensemble.wasserstein < 1
        True
    """
    if data.dimension != model.dimension:
        raise InputError(
            f"expected data with {model.dimension} coordinates ({', '.join(model.names)}), but got {data.dimension}"
        )
    diagnosis = diagnose(model, data, seed=seed)
    with progress_bar(progress) as begin:
        score = model.score(data, progress=begin)
        if not is_ensemble(data):
            return Evaluation(score, None, diagnosis)
        times = ensemble_times(data)
        generated = model.sample(data.initial, times, seed=seed, progress=begin)
    scale = model.coordinates.size
    return Evaluation(score, ensemble_metrics(generated / scale, np.asarray(data.states) / scale), diagnosis)


def is_ensemble(data: Trajectories) -> bool:
    """Tells whether two or more trajectories are observed without gaps at the same times."""
    if data.is_ragged or len(data) < 2 or not np.all(data.observed):
        return False
    times = np.asarray(data.times)
    steps = np.diff(times[0])
    return bool(np.all(np.abs(times - times[0]) <= 1e-6 * steps.min()))


def ensemble_times(data: Trajectories) -> Float[np.ndarray, " t"]:
    """The common times of an ensemble."""
    return np.asarray(data.times)[0]
