"""Writing files so that they appear whole or not at all."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yields a name beside the target to write to, and renames it at the end.

    An interruption leaves the old file as it was.
    """
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(descriptor)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.chmod(0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_atomically(path: Path, payload: bytes) -> None:
    """Writes bytes to a file, which appears whole or not at all."""
    with whole_file(path) as temporary:
        temporary.write_bytes(payload)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
