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
from nke.fitting.result import FitResult
from nke.fitting.training import FitRun
from nke.progress import ProgressOption, progress_bar


@runtime_checkable
class Method(Protocol):
    """A way to learn: ``Likelihood``, ``MomentMatching``, or one of ``nke.baselines``.

    Example:
        >>> isinstance(nke.Likelihood(), nke.fitting.Method), isinstance(nke.Schedule(), nke.fitting.Method)
        (True, False)
    """

    def fit(self, data: Trajectories, coordinates: Coordinates, jumps: bool | None, run: FitRun) -> FitResult:
        """Learns a law.

        Args:
            data: Recorded trajectories.
            coordinates: Those of training.
            jumps: Whether the law has jumps; None: decided from the data.
            run: Seed, progress and checkpoint.

        Returns:
            The law and how it was found.

        Example:
            >>> class Known:  # a method of your own, here one that knows the law
            ...     def fit(self, data, coordinates, jumps, run):
            ...         return nke.FitResult(model, {}, {})
            >>> nke.fit(data, Known(), progress=False).model.names
            ('x',)
        """
        ...


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

    Args:
        data: Recorded trajectories.
        method: How to learn; None: ``nke.Likelihood()``.
        jumps: Whether the law has jumps; None: decided from the data.
        seed: The same seed gives the same model.
        coordinates: In which training runs; None: z-scored ones.
        checkpoint: A folder that keeps the state of the fit: after an interruption the same call goes on where it
            stopped and gives the same model.
        progress: Whether to show a bar; None: on a terminal; or a callback, see ``nke.progress``.

    Returns:
        The model, and how it was found.

    Raises:
        InputTypeError: If ``data`` is no ``nke.Trajectories``.
        InputError: If data, options and checkpoint do not go together.
        DivergenceError: If training became NaN or infinite.

    Example:
        >>> recorded = nke.systems.OrnsteinUhlenbeck().simulate(32, seed=0)
        >>> learned = nke.fit(recorded, nke.Likelihood(networks=False), jumps=False, progress=False)
        >>> learned.model.drift([[1.0]]).shape
        (1, 1)
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
        store = Checkpoint(
            checkpoint,
            fingerprint(seen.x, seen.y, seen.step, method, getattr(method, "rules", None), jumps, seed, *scaling),
        )
    with progress_bar(progress) as begin, compilation_clock() as compilation:
        result = method.fit(data, coordinates, jumps, FitRun(seed, begin, store))
    result = replace(result, model=replace(result.model, unit_of_time=data.unit_of_time))
    result.timings["total"] = time.perf_counter() - began
    result.timings["compilation"] = compilation.seconds
    return result
