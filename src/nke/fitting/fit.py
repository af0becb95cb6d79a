"""The public entry: ``nke.fit``."""

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from threadpoolctl import threadpool_limits

from nke.caching import folder_in_use
from nke.data import Coordinates
from nke.errors import InputTypeError
from nke.evaluation import diagnose
from nke.files import recorded
from nke.fitting.checkpoint import Checkpoint, fingerprint
from nke.fitting.compilation import compilation_clock, forget_programs
from nke.fitting.likelihood import Likelihood
from nke.fitting.method import Method
from nke.fitting.result import FitResult
from nke.fitting.sufficiency import require_a_law, require_finite_units
from nke.fitting.suited_coordinates import SuitedCoordinates
from nke.fitting.summary import SAVED
from nke.fitting.training import FitRun
from nke.model import DataRegion
from nke.model.coefficients import QUANTILES
from nke.progress import ProgressOption, progress_bar

WORTH_KEEPING = 10.0  # seconds of compilation from which on the summary tells of ``nke.cache``


def fit(
    data: Any,
    *given: Any,
    method: Method | None = None,
    step: ArrayLike | None = None,
    jumps: bool | None = None,
    seed: int = 0,
    coordinates: Coordinates | None = None,
    positive: Sequence[str] | None = None,
    periodic: Sequence[str] | Mapping[str, float] | None = None,
    bounds: Mapping[str, Sequence[float]] | None = None,
    checkpoint: str | Path | None = None,
    diagnosis: bool = True,
    progress: ProgressOption = None,
) -> FitResult:
    """Learns drift, diffusion and jumps from trajectories.

    A column that is positive may be learned as its logarithm, one between two bounds as its logit, and of an angle the
    law sees cosine and sine, so that it is the same after a turn. The model always speaks of the columns as they are in
    the data; only ``FitResult.equation`` is written for the transformed ones, "log x".

    Args:
        data: Recorded trajectories; or a path, a pandas frame or series, a polars frame or an xarray object, as
            ``nke.read`` takes them; or an array as ``nke.Trajectories`` takes it, with its step.
        *given: Method and step by their kind, without names: ``nke.fit(x, 0.1)``, ``nke.fit(data, method)``.
        method: How to learn; None: ``nke.Likelihood()``.
        step: The time between rows, or the times, where ``data`` has none.
        jumps: Whether the law has jumps; None: decided from the data.
        seed: The same seed gives the same model.
        coordinates: In which training runs; None: z-scored ones. With None, and with ``nke.Likelihood``, columns that
            are positive in the data are learned as logarithms where that predicts held-out transitions better.
        positive: Names of columns that are positive, to be learned as logarithms. With a list, also an empty one,
            nothing is decided from the data.
        periodic: Names of columns that are angles, wrapped or not; a mapping of names to periods where these are not
            2π. With None, columns that are wrapped at 2π, 360, 24 or 12 beyond doubt are taken for angles; with a list,
            also an empty one, no others are.
        bounds: Columns that stay between two bounds, ``{"share": (0, 1)}``.
        checkpoint: A folder that keeps the state of the fit: after an interruption the same call goes on where it
            stopped and gives the same model.
        diagnosis: Whether the law is held against the data in the end (``nke.diagnose``): what speaks against it is in
            ``FitResult.diagnosis`` and the summary, and a law that cannot be right is warned of.
        progress: Whether to show a bar; None: on a terminal; or a callback, see ``nke.progress``.

    Returns:
        The model, and how it was found.

    Raises:
        InputTypeError: If ``data`` is of a kind that cannot be read, or an argument without name is no method or step.
        InputError: If data, options and checkpoint do not go together.
        DivergenceError: If training became NaN or infinite.

    Example:
        >>> recorded = nke.systems.OrnsteinUhlenbeck().simulate(32, seed=0)
        >>> learned = nke.fit(recorded, nke.Likelihood(networks=False), jumps=False, progress=False)
        >>> learned.model.drift([[1.0]]).shape
        (1, 1)
        >>> states = np.cumsum(np.random.default_rng(0).normal(size=400))
        >>> nke.fit(states, 0.1, nke.Likelihood(networks=False), jumps=False, progress=False).model.names
        ('x1',)
        >>> prices = nke.systems.GeometricBrownianMotion().simulate(32, seed=0)
        >>> learned = nke.fit(prices, nke.Likelihood(networks=False), positive=["price"], jumps=False, progress=False)
        >>> learned.equation.names, learned.model.names
        (('log price',), ('price',))
    """
    began = time.perf_counter()
    forget_programs()
    method, step = _by_kind(given, method, step)
    data = recorded(data, step)
    method = Likelihood() if method is None else method
    if isinstance(method, Likelihood):
        require_a_law(data)
    # Factors of small matrices by several threads take ten times as long where other programs run beside.
    with threadpool_limits(1, "blas"):
        suited = SuitedCoordinates.of(data, method, coordinates, positive, periodic, bounds, seed)
    coordinates = suited.coordinates
    require_finite_units(coordinates, data)
    store = None
    if checkpoint is not None:
        seen = data.transitions()
        scaling = (coordinates.shift, coordinates.scale, coordinates.time_unit, coordinates.transforms)
        store = Checkpoint(
            checkpoint,
            fingerprint(seen.x, seen.y, seen.step, method, getattr(method, "rules", None), jumps, seed, *scaling),
        )
    with progress_bar(progress) as begin, compilation_clock() as compilation, threadpool_limits(1, "blas"):
        result = suited.fit(data, method, jumps, FitRun(seed, begin, store))
        model = replace(result.model, unit_of_time=data.unit_of_time)
        z = model.coordinates.to(data.observed_states)
        region = DataRegion.of(np.asarray(model.generator.visible(z)), seed)
        seen = np.quantile(data.observed_states, QUANTILES, axis=0).T
        model = replace(model, region=region, quantiles=tuple(map(tuple, seen.tolist())))
        result = replace(result, model=model)
        if diagnosis:
            clock = time.perf_counter()
            result = replace(result, diagnosis=diagnose(result.model, data, seed=seed))
            result.timings["diagnosis"] = time.perf_counter() - clock
    for words in result.warnings:
        warnings.warn(words, UserWarning, stacklevel=2)
    result.timings["total"] = time.perf_counter() - began
    result.timings["compilation"] = compilation.seconds
    if compilation.compiling > WORTH_KEEPING and folder_in_use() is None:
        result.timings[SAVED] = compilation.compiling
    return result


def _by_kind(
    given: tuple[Any, ...], method: Method | None, step: ArrayLike | None
) -> tuple[Method | None, ArrayLike | None]:
    """Method and step, of which each may come without its name."""
    for one in given:
        if hasattr(one, "fit") and not isinstance(one, type) and method is None:
            method = one
        elif isinstance(one, int | float | np.number | np.ndarray | list | tuple) and step is None:
            step = one
        elif one is not None:
            raise InputTypeError(
                f"expected a method such as nke.Likelihood() and a step behind the data, but got {one!r} of type "
                f"{type(one).__name__}; give other options by their names"
            )
    return method, step
