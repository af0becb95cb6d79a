"""Opening what a user names: only files that end. A FIFO or a device would keep a reader waiting for ever."""

import stat
from pathlib import Path

from nke.errors import InputError


def require_regular(path: str | Path) -> None:
    """Refuses a FIFO, a device, a socket, a folder, and a file that is not there.

    Args:
        path: What is to be read.

    Raises:
        InputError: If it is no file whose content ends.
        OSError: If it is a folder, or is not there.

    Example:
        >>> from nke.files.regular import require_regular
        >>> require_regular("/dev/null")
        Traceback (most recent call last):
        nke.errors.InputError: expected a file, but /dev/null is a FIFO, a device or a socket; copy ...
    """
    try:
        mode = Path(path).stat().st_mode
    except FileNotFoundError:
        raise FileNotFoundError(f"{path}: no such file; check the spelling and the folder") from None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(f"expected a file, but {path} is a folder; name a file in it")
    if not stat.S_ISREG(mode):
        raise InputError(
            f"expected a file, but {path} is a FIFO, a device or a socket; copy what it gives to a file first"
        )


def read_bytes(path: Path) -> bytes:
    """Reads a whole file.

    Args:
        path: The file.

    Returns:
        Its content.

    Raises:
        InputError: If it is no file whose content ends.
        OSError: If it cannot be read.
    """
    require_regular(path)
    return path.read_bytes()
