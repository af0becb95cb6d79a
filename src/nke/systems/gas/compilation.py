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


def kernel(function: Callable, cache: bool = False) -> Any:
    """Compiles a function by Numba: without the interpreter's lock, divisions by zero giving infinity.

    The shape checks of the tests are stripped, which are no business of the compiler.
    """
    return numba.njit(nogil=True, error_model="numpy", cache=cache)(inspect.unwrap(function))


def entry(function: Callable) -> Any:
    """Compiles a kernel that Python calls and keeps it on disk together with all that it calls.

    Numba renews what it has on disk when the function's own file changes, not when a function that it calls does.
    So the place on disk is named after the source of all kernels. Where nothing can be written, each process compiles.
    """
    place = folder()
    if place is None:
        return kernel(function)
    before, settings.CACHE_DIR = settings.CACHE_DIR, str(place)
    try:
        return kernel(function, cache=True)
    finally:
        settings.CACHE_DIR = before


def folder() -> Path | None:
    """Finds the folder where compiled kernels are kept; None if it cannot be written."""
    sources = b"".join(file.read_bytes() for file in sorted(Path(__file__).parent.glob("*.py")))
    base = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    try:
        place = Path(base or Path.home() / ".cache") / "nke" / hashlib.sha256(sources).hexdigest()[:16]
        place.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # no permission, no home
        return None
    return place if os.access(place, os.W_OK) else None
