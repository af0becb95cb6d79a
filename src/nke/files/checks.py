"""What every reader checks: that the library could read the file, and that its content makes trajectories."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from nke.data import Trajectories
from nke.errors import DamagedFileError, InputError, NkeError


@contextmanager
def opened_by_library(path: Path, kind: str) -> Iterator[None]:
    """Turns whatever a library raises while it reads ``path`` into a ``DamagedFileError``.

    Only calls of the library belong inside: what nke itself does with the content raises errors of its own.
    """
    try:
        yield
    except NkeError:
        raise
    except MemoryError as error:
        raise DamagedFileError(
            f"{path} asks for more memory than there is ({error}): it is damaged, or too large for this machine"
        ) from error
    except Exception as error:
        raise DamagedFileError(
            f"{path} is damaged or is not a valid {kind} file ({error}); get a fresh copy"
        ) from error


def as_trajectories(where: str, *arguments: Any) -> Trajectories:
    """Makes ``Trajectories`` of the content of ``where``, which an error then names."""
    try:
        return Trajectories(*arguments)
    except NkeError as error:
        raise InputError(f"{where}: {error}") from error


def as_lengths(where: str, lengths: Any, rows: int) -> list[int]:
    """The numbers of rows of the trajectories as integers, none of them more than ``rows``."""
    lengths = np.asarray(lengths)
    vector = lengths.ndim == 1 and len(lengths) > 0 and lengths.dtype.kind in "iu"
    if not vector or lengths.min() < 1 or lengths.max() > rows:
        raise InputError(
            f"{where}: expected the lengths of the trajectories as whole numbers from 1 to {rows}, but got {lengths}; "
            "correct them, or remove them for trajectories of equal length"
        )
    return lengths.tolist()
