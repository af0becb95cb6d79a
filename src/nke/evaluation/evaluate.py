"""``nke.evaluate``: a model against trajectories that it has not seen."""

from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from jaxtyping import Float

from nke.data import Trajectories
from nke.evaluation.diagnosis import Diagnosis, diagnose
from nke.evaluation.ensemble import EnsembleMetrics, ensemble_metrics
from nke.files import recorded
from nke.model import as_model
from nke.progress import ProgressOption, progress_bar


@dataclass(frozen=True)
class Evaluation:
    """How good a model is on data.

    Attributes:
        score: Mean log transition density per transition, in the units of the data; higher is better.
        ensemble: Metrics between simulated and recorded paths, in units of the model's scale; None where the
            trajectories are not recorded at the same times without gaps.
        diagnosis: What speaks against the model in this data.
        error: Standard error of the score.
        transitions: How many were scored.

    Example:
        >>> evaluation = nke.evaluate(model, data)
        >>> isinstance(evaluation.score, float), evaluation.ensemble._fields
        (True, ('mean_mse', 'covariance_mse', 'wasserstein'))
    """

    score: float
    ensemble: EnsembleMetrics | None
    diagnosis: Diagnosis
    error: float = float("nan")
    transitions: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Gives the evaluation as plain values, ready for JSON.

        Example:
            >>> sorted(nke.evaluate(model, data).to_dict())[:3]
            ['covariance_mse', 'diagnosis', 'error']
        """
        metrics = {} if self.ensemble is None else self.ensemble._asdict()
        facts = {"score": self.score, "error": self.error, "transitions": self.transitions}
        return facts | metrics | {"diagnosis": self.diagnosis.to_dict()}

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    def __str__(self) -> str:
        error = f" ± {self.error:.4f}" if self.error > 0 else ""
        rows = [f"score         {self.score:.4f}{error} nats per transition, {self.transitions} of them"]
        if self.ensemble is None:
            rows.append("paths         not compared: not several trajectories at the same times without gaps")
        else:
            m = self.ensemble
            parts = f"Mean MSE {m.mean_mse:.4g}, Covariance MSE {m.covariance_mse:.4g}, Wasserstein {m.wasserstein:.4g}"
            rows.append(f"paths         {parts}")
            rows.append(
                "              simulated beside recorded, in standard deviations of the training data; 0 is best"
            )
        first, *rest = str(self.diagnosis).splitlines()
        return "\n".join([*rows, f"diagnosis     {first}", *(f"              - {line}" for line in rest)])


def evaluate(model: Any, data: Any, seed: int = 0, progress: ProgressOption = False) -> Evaluation:
    """Scores the transitions of data, and compares as many simulated paths from the same start states.

    Args:
        model: The model, or the result of a fit.
        data: Trajectories that the model has not seen, or what ``nke.fit`` takes that has times: a frame, a path.
        seed: Of the simulated paths.
        progress: Whether to show a bar; None: on a terminal; or a callback (see ``nke.progress``).

    Returns:
        The score and, for an ensemble on common times, the metrics of the paths.

    Raises:
        InputError: If the data has another number of coordinates than the model.
        InputTypeError: If either is something else.

    Example:
        >>> unseen = nke.systems.OrnsteinUhlenbeck().simulate(8, seed=1)
        >>> nke.evaluate(model, unseen).ensemble.wasserstein < 1
        True
    """
    model, data = as_model(model), recorded(data)
    diagnosis = diagnose(model, data, seed=seed)
    with progress_bar(progress) as begin:
        steps = data.transitions()
        densities = model.log_prob(steps.y, given=steps.x, step=steps.step, progress=begin)
        score, error = float(densities.mean()), float(densities.std() / np.sqrt(len(densities)))
        if not is_ensemble(data):
            return Evaluation(score, None, diagnosis, error, len(densities))
        times = ensemble_times(data)
        generated = model.sample(data.initial, times, seed=seed, progress=begin)
    scale = model.coordinates.size
    metrics = ensemble_metrics(generated / scale, np.asarray(data.states) / scale)
    return Evaluation(score, metrics, diagnosis, error, len(densities))


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
