"""Compilation of the kernels, kept on disk where a folder can be written."""

import functools
import hashlib
import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core import config

FOLDER = Path(__file__).parent
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
    before, settings.CACHE_DIR = settings.CACHE_DIR, _cache()
    try:
        return numba.njit(**OPTIONS, cache=True)(_bare(function))
    except RuntimeError:  # no place on disk
        return kernel(function)
    finally:
        settings.CACHE_DIR = before


def _bare(function: Callable) -> Callable:
    """Without the shape checks of the tests, which are no business of the compiler."""
    return inspect.unwrap(function)


@functools.cache
def _cache() -> str:
    sources = b"".join(file.read_bytes() for file in sorted(FOLDER.glob("*.py")))
    home = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return str(Path(home) / "nke" / hashlib.sha256(sources).hexdigest()[:16])
