"""Whether an HDF5 file can be read at all: tried by another process, which may hang or crash in its stead.

Run as a script it reads all arrays at the top of a file, and their attributes, and ends. It imports nothing of nke.
"""

import sys
from typing import Any

SECONDS, BYTES_A_SECOND = 10.0, 10e6  # a sound file takes a tenth of that


def require_readable(path: Any) -> None:
    """Refuses a damaged file at which the HDF5 library hangs or crashes, which cannot be caught in this process.

    Args:
        path: The file.

    Raises:
        DamagedFileError: If reading it did not end in time, or ended the process.
    """
    import subprocess

    from nke.errors import DamagedFileError

    if not sys.executable:  # an interpreter within another program
        return
    limit = SECONDS + path.stat().st_size / BYTES_A_SECOND
    try:
        command = [sys.executable, "-I", __file__, str(path)]
        ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired as error:
        raise DamagedFileError(
            f"{path} is damaged: the HDF5 library did not end reading it within {limit:.0f} s; get a fresh copy"
        ) from error
    if ended.returncode < 0:
        raise DamagedFileError(f"{path} is damaged: it crashes the HDF5 library; get a fresh copy")


def read_everything(path: str) -> None:
    """Reads what stands at the top of a file, but for links to other files and claims beyond its size."""
    import os

    import h5py

    most = max(1 << 26, 1100 * os.path.getsize(path))
    with h5py.File(path) as file:
        for holder in (file, *(_items(file))):
            for name in list(holder.attrs):
                _try(lambda holder=holder, name=name: holder.attrs[name])
        for item in _items(file):
            own = not item.is_virtual and not item.external
            if own and item.size is not None and item.size * max(item.dtype.itemsize, 1) <= most:
                _try(lambda item=item: item[()])


def _items(file: Any) -> list[Any]:
    import h5py

    found = []
    for name in list(file):
        link = _try(lambda name=name: file.get(name, getlink=True))
        item = None if isinstance(link, h5py.ExternalLink) else _try(lambda name=name: file.get(name))
        found += [item] if isinstance(item, h5py.Dataset) else []
    return found


def _try(read: Any) -> Any:
    """An error is no hang: whoever reads the file gets the same one."""
    try:
        return read()
    except Exception:
        return None


if __name__ == "__main__":
    read_everything(sys.argv[1])
