"""Whatever holds recorded states becomes trajectories: arrays, frames, files."""

import os
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from nke.data import Trajectories
from nke.errors import InputError, InputTypeError
from nke.files.entry import read
from nke.files.frame import is_foreign


def recorded(data: Any, step: ArrayLike | None = None) -> Trajectories:
    """Makes trajectories of what ``nke.fit`` or ``nke.evaluate`` is given.

    Args:
        data: Trajectories, a path, a frame or series of pandas or polars, an xarray object, or an array.
        step: The time between rows, or the times, where the data has none.

    Returns:
        The trajectories.

    Raises:
        InputError: If a step is missing or too much, or an array has more coordinates than can be meant.
        InputTypeError: If data of this kind cannot be read.

    Example:
        >>> nke.files.recorded(np.zeros((3, 10, 1)), 0.1)
        Trajectories(3 trajectories × 10 rows, coordinates x1, times 0 to 0.9)
    """
    if isinstance(data, Trajectories):
        if step is not None:
            raise InputError("expected no step, since these trajectories have times; leave it out")
        return data
    package = type(data).__module__.split(".")[0]
    if isinstance(data, str | os.PathLike) or package in ("pandas", "xarray") or is_foreign(data):
        if step is not None and np.ndim(step) > 0:
            raise InputError(
                "expected one step with a file or frame, but got several times; put them in a column of their own"
            )
        return read(data, step=None if step is None else float(np.asarray(step)))
    if package == "polars":  # a series
        return recorded(import_module("pandas").Series(data.to_numpy(), name=data.name or None), step)
    if not isinstance(data, list | tuple) and not hasattr(data, "__array__"):
        raise InputTypeError(
            f"expected nke.Trajectories, an array, a frame, an xarray object or a path, but got {type(data).__name__}; "
            "wrap the arrays: nke.Trajectories(states, times)"
        )
    if step is None:
        raise InputError(
            f"expected a step with the states of a {type(data).__name__}, as in nke.fit(x, 0.1), or times, one a row"
        )
    return Trajectories(data, step)
