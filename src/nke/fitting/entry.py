"""The public entry: ``nke.fit``."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Protocol, runtime_checkable

from nke.data import Coordinates, Trajectories
from nke.errors import InputTypeError
from nke.fitting.checkpoint import Checkpoint, fingerprint
from nke.fitting.compilation import compilation_clock
from nke.fitting.likelihood import Likelihood
from nke.fitting.loop import FitRun
from nke.fitting.result import FitResult
from nke.progress import ProgressOption, progress_bar


@runtime_checkable
class Method(Protocol):
    """A way to learn: ``Likelihood``, ``MomentMatching``, or one of ``nke.baselines``."""

    def fit(self, data: Trajectories, coordinates: Coordinates, jumps: bool | None, run: FitRun) -> FitResult: ...


def fit(
    data: Trajectories,
    method: Method | None = None,
    *,
    jumps: bool | None = None,
    seed: int = 0,
    coordinates: Coordinates | None = None,
    checkpoint: str | Path | None = None,
    progress: ProgressOption = None,
) -> FitResult:
    """Learns drift, diffusion and jumps from trajectories.

    ``method`` says how (default: ``nke.Likelihood()``), ``jumps`` whether the law has jumps (None: decided
    from the data). Training runs in z-scored coordinates unless others are given. The same seed gives the
    same model. ``checkpoint`` names a folder that keeps the state of the fit: after an interruption the same
    call goes on where it stopped and gives the same model. A progress bar is shown on a terminal.
    """
    if not isinstance(data, Trajectories):
        raise InputTypeError(
            f"expected nke.Trajectories, but got {type(data).__name__}; "
            "wrap the arrays: nke.Trajectories(states, times)"
        )
    began = time.perf_counter()
    method = Likelihood() if method is None else method
    coordinates = Coordinates.zscore(data) if coordinates is None else coordinates
    store = None
    if checkpoint is not None:
        seen = data.transitions()
        scaling = (coordinates.shift, coordinates.scale, coordinates.time_unit)
        store = Checkpoint(checkpoint, fingerprint(seen.x, seen.y, seen.step, method, jumps, seed, *scaling))
    with progress_bar(progress) as stage, compilation_clock() as compilation:
        result = method.fit(data, coordinates, jumps, FitRun(seed, stage, store))
    result = replace(result, model=replace(result.model, unit_of_time=data.unit_of_time))
    result.timings["total"] = time.perf_counter() - began
    result.timings["compilation"] = compilation.seconds
    return result
