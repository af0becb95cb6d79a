"""Compilation of the kernels, kept on disk where a folder can be written."""

import hashlib
import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core import config

settings: Any = config
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


def kernel(function: Callable) -> Any:
    """The function compiled by Numba: without the interpreter's lock, divisions by zero giving infinity."""
    return numba.njit(**OPTIONS)(_bare(function))


def entry(function: Callable) -> Any:
    """A kernel that Python calls: kept on disk together with all that it calls.

    Numba renews what it has on disk when the function's own file changes, not when a function that it calls does.
    So the place on disk is named after the source of all kernels. Where nothing can be written, each process compiles.
    """
    place = folder()
    if place is None:
        return kernel(function)
    before, settings.CACHE_DIR = settings.CACHE_DIR, str(place)
    try:
        return numba.njit(**OPTIONS, cache=True)(_bare(function))
    finally:
        settings.CACHE_DIR = before


def _bare(function: Callable) -> Callable:
    """Without the shape checks of the tests, which are no business of the compiler."""
    return inspect.unwrap(function)


def folder() -> Path | None:
    """Where compiled kernels are kept; None if it cannot be written."""
    sources = b"".join(file.read_bytes() for file in sorted(Path(__file__).parent.glob("*.py")))
    base = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    try:
        place = Path(base or Path.home() / ".cache") / "nke" / hashlib.sha256(sources).hexdigest()[:16]
        place.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # no permission, no home
        return None
    return place if os.access(place, os.W_OK) else None
