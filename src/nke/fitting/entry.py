"""The public entry: ``nke.fit``."""

import time

from nke.data import Coordinates, Trajectories
from nke.fitting.moments import MomentMatching
from nke.fitting.progress import progress_bar
from nke.fitting.result import FitResult


def fit(
    data: Trajectories,
    method: MomentMatching | None = None,
    *,
    jumps: bool | None = None,
    seed: int = 0,
    coordinates: Coordinates | None = None,
    progress: bool | None = None,
) -> FitResult:
    """Learns drift, diffusion and jumps from trajectories.

    ``method`` says how (default: ``nke.MomentMatching()``), ``jumps`` whether the law has jumps (None:
    decided from the data). Training runs in z-scored coordinates unless others are given. The same seed
    gives the same model. A progress bar is shown on a terminal.
    """
    if not isinstance(data, Trajectories):
        raise TypeError(
            f"expected nke.Trajectories, but got {type(data).__name__}; "
            "wrap the arrays: nke.Trajectories(states, times)"
        )
    began = time.perf_counter()
    coordinates = Coordinates.zscore(data) if coordinates is None else coordinates
    with progress_bar(progress) as stage:
        result = (method or MomentMatching()).fit(data, coordinates, jumps, seed, stage)
    result.timings["total"] = time.perf_counter() - began
    return result
