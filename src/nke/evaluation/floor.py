"""The oracle floor: the score that the true law itself gets."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from nke.data import Trajectories
from nke.errors import InputError
from nke.evaluation.ensemble import EnsembleMetrics, ensemble_metrics
from nke.evaluation.evaluate import ensemble_times, is_ensemble
from nke.progress import ProgressOption
from nke.systems import System


@dataclass(frozen=True)
class OracleFloor:
    """Metrics of the true law against data, over replicates.

    This is the expected score of the true law, not a bound: a model with too little noise can be below
    it in the mean, so a ratio under 0.9 is a reason to look, not to praise.

    Attributes:
        mean: Mean over the replicates.
        spread: Standard deviation over the replicates.
        replicates: Their number.

    Example:
        >>> system = nke.systems.OrnsteinUhlenbeck()
        >>> floor = nke.oracle_floor(system, system.simulate(16, seed=0), replicates=4)
        >>> floor.replicates
        4
    """

    mean: EnsembleMetrics
    spread: EnsembleMetrics
    replicates: int


def oracle_floor(
    system: System,
    data: Trajectories,
    scale: ArrayLike | None = None,
    replicates: int = 50,
    seed: int = 0,
    progress: ProgressOption = False,
) -> OracleFloor:
    """Simulates the true system with fresh noise from the start states of data, many times.

    Args:
        system: The truth.
        data: Two or more of its trajectories, recorded at the same times without gaps.
        scale: Units of the metrics, shape (d,), such as ``model.coordinates.size``; those of the data by default.
        replicates: How many ensembles of the size of the data to simulate, 2 or more.
        seed: Of the simulated paths.
        progress: Whether to show a bar; None: on a terminal; or a callback (see ``nke.progress``).

    Returns:
        Mean and standard deviation of each metric over the replicates.

    Raises:
        InputError: If the trajectories are not recorded at the same times, or there are fewer than 2 replicates.

    Example:
        >>> system = nke.systems.OrnsteinUhlenbeck()
        >>> floor = nke.oracle_floor(system, system.simulate(16, seed=0), replicates=4)
        >>> 0 < floor.mean.wasserstein < 1
        True
    """
    if not is_ensemble(data):
        raise InputError("expected two or more trajectories observed at the same times without gaps")
    if replicates < 2:
        raise InputError(f"expected at least 2 replicates, but got {replicates}")
    scale = np.ones(data.dimension) if scale is None else np.asarray(scale)
    times, initial = ensemble_times(data), np.tile(data.initial, (replicates, 1))
    truth = system.simulate(len(initial), seed, times=times, initial=initial, progress=progress)
    runs = np.asarray(truth.states).reshape(replicates, len(data), -1, data.dimension)
    reference = np.asarray(data.states) / scale
    rows = np.array([ensemble_metrics(run / scale, reference) for run in runs])
    return OracleFloor(
        EnsembleMetrics(*rows.mean(axis=0).tolist()), EnsembleMetrics(*rows.std(axis=0, ddof=1).tolist()), replicates
    )
