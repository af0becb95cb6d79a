"""The oracle floor: the score that the true law itself gets."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from nke.data import Trajectories
from nke.errors import InputError
from nke.evaluation.ensemble import EnsembleMetrics, ensemble_metrics
from nke.evaluation.evaluate import ensemble_times, is_ensemble
from nke.progress import ProgressOption
from nke.systems import System


@dataclass(frozen=True)
class OracleFloor:
    """Mean and standard deviation over the replicates.

    This is the expected score of the true law, not a bound: a model with too little noise can be below
    it in the mean, so a ratio under 0.9 is a reason to look, not to praise.
    """

    mean: EnsembleMetrics
    spread: EnsembleMetrics
    replicates: int


def oracle_floor(
    system: System,
    data: Trajectories,
    scale: Float[np.ndarray, " d"] | None = None,
    replicates: int = 50,
    seed: int = 0,
    progress: ProgressOption = False,
) -> OracleFloor:
    """Simulates the true system with fresh noise from the start states of ``data``, many times.

    ``scale`` are the units of the metrics (``model.coordinates.scale``; default: those of the data).
    ``progress`` shows a bar (True; None: on a terminal), or is a callback as in ``nke.progress``.
    """
    if not is_ensemble(data):
        raise InputError("expected two or more trajectories observed at the same times without gaps")
    if replicates < 2:
        raise InputError(f"expected at least 2 replicates, but got {replicates}")
    scale = np.ones(data.dimension) if scale is None else scale
    times, initial = ensemble_times(data), np.tile(data.initial, (replicates, 1))
    truth = system.simulate(len(initial), seed, times=times, initial=initial, progress=progress)
    runs = np.asarray(truth.states).reshape(replicates, len(data), -1, data.dimension)
    reference = np.asarray(data.states) / scale
    rows = np.array([ensemble_metrics(run / scale, reference) for run in runs])
    return OracleFloor(EnsembleMetrics(*rows.mean(axis=0)), EnsembleMetrics(*rows.std(axis=0, ddof=1)), replicates)
