"""Writing files so that they appear whole or not at all, also when the writer is killed or the disk is full.

What is written goes to a temporary name in the folder of the target, reaches the disk, and takes the target's name in
one step. A temporary name tells its writer, so that the next writer removes what a killed one left.
"""

import ctypes
import errno
import hashlib
import os
import secrets
import shutil
import socket
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PREFIX = ".nke-"
UNSUPPORTED = {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EBADF, errno.EACCES, errno.EPERM}


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yields a name beside the target to write to, and gives it the target's name at the end.

    A failure or an interruption leaves the old file as it was. The target of a symlink is replaced, not the link.

    Args:
        path: The target.

    Raises:
        OSError: If it cannot be written, or is no file.
    """
    with _errors_that_name(path):
        target = _target(path)
        temporary = _temporary(target.parent)
        try:
            os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
            yield temporary
            _keep_mode(target, temporary)
            _sync(temporary)
            os.replace(temporary, target)
        except BaseException:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise
        _sync_folder(target.parent)


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """Does for a folder what ``whole_file`` does; the name to write to is that of a folder which is not there yet.

    Args:
        path: The target: a folder, which is replaced, or nothing.

    Raises:
        OSError: If it cannot be written.
    """
    with _errors_that_name(path):
        target = _resolved(path)
        temporary = _temporary(target.parent)
        try:
            temporary.mkdir()
            new = temporary / "new"
            yield new
            _sync_all(new)
            if not target.exists():
                os.rename(new, target)
            elif not _exchange(new, target):
                _replace_in_two_steps(new, target, temporary)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
        _sync_folder(target.parent)


def write_atomically(path: Path, payload: bytes) -> None:
    """Writes bytes to a file, which appears whole or not at all."""
    with whole_file(path) as temporary:
        temporary.write_bytes(payload)


def require_writable(path: Path, is_folder: bool = False) -> None:
    """Tries whether a file can be written beside a target, and leaves no trace: to be asked before long work.

    Args:
        path: The target.
        is_folder: Whether it will be a folder.

    Raises:
        OSError: If the folder is not there, or nothing can be written to it.

    Example:
        >>> from pathlib import Path
        >>> from nke.files.atomic import require_writable
        >>> require_writable(Path("/proc/law.nke"))
        Traceback (most recent call last):
        FileNotFoundError: /proc/law.nke cannot be written (No such file or directory); choose another place, ...
    """
    with _errors_that_name(path):
        target = _resolved(path) if is_folder else _target(path)
        temporary = _temporary(target.parent)
        try:
            temporary.write_bytes(b"tried")
        finally:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)


@contextmanager
def _errors_that_name(path: Path) -> Iterator[None]:
    """Errors of the system name the file that the user named, not the temporary one."""
    try:
        yield
    except OSError as error:
        words = error.strerror or str(error)
        kind = type(error) if type(error).__module__ == "builtins" else OSError
        told = kind(f"{path} cannot be written ({words}); choose another place, or make room there")
        told.errno = error.errno
        raise told from error


def _target(path: Path) -> Path:
    """Where a file is really written; refuses what is no file, such as a device, which would be replaced by one."""
    target = _resolved(path)
    with suppress(FileNotFoundError, NotADirectoryError):
        mode = target.stat().st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, "it is a folder")
        if not stat.S_ISREG(mode):
            raise FileExistsError(errno.EEXIST, "it is a FIFO, a device or a socket")
    return target


def _resolved(path: Path) -> Path:
    """The path behind a symlink, or the path itself."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path


# Temporary names: .nke-HOST-PROCESS-RANDOM


def _temporary(folder: Path) -> Path:
    """A name in a folder that nobody has, after what killed writers left there is removed."""
    _remove_litter(folder)
    return folder / f"{PREFIX}{_host()}-{os.getpid()}-{secrets.token_hex(4)}"


def _host() -> str:
    """A short name of this machine: the processes of another one cannot be asked whether they live."""
    return hashlib.sha256(socket.gethostname().encode()).hexdigest()[:8]


def _remove_litter(folder: Path) -> None:
    """Removes the temporary files of writers on this machine that no longer run."""
    mine = f"{PREFIX}{_host()}-"
    with suppress(OSError), os.scandir(folder) as entries:
        left = [entry.path for entry in entries if entry.name.startswith(mine)]
        for path in left:
            if not _is_running(Path(path).name.removeprefix(mine).split("-")[0]):
                _put_back(Path(path), folder)
                shutil.rmtree(path, ignore_errors=True)
                with suppress(OSError):
                    os.unlink(path)


def _is_running(process: str) -> bool:
    """Whether a process lives; whoever may not be asked is taken to."""
    if not process.isdigit():
        return True
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


# Syncing


def _keep_mode(target: Path, temporary: Path) -> None:
    """A file that is replaced keeps its permissions; a new one has those of the umask."""
    with suppress(FileNotFoundError):
        temporary.chmod(stat.S_IMODE(target.stat().st_mode))


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync_folder(folder: Path) -> None:
    """Makes a new name last; some file systems and Windows know no syncing of folders."""
    try:
        _sync(folder)
    except OSError as error:
        if error.errno not in UNSUPPORTED:
            raise


def _sync_all(folder: Path) -> None:
    for where, _, names in os.walk(folder):
        for name in names:
            _sync(Path(where) / name)
        _sync_folder(Path(where))


# Replacing one folder by another


def _exchange(one: Path, other: Path) -> bool:
    """Exchanges the names of two folders in one step; False where the system cannot."""
    try:
        library = ctypes.CDLL(None, use_errno=True)
        if sys.platform == "darwin":
            failed = library.renamex_np(os.fsencode(one), os.fsencode(other), 2)
        else:
            at_current = -100
            failed = library.renameat2(at_current, os.fsencode(one), at_current, os.fsencode(other), 2)
    except (OSError, AttributeError, TypeError):
        return False
    if failed and ctypes.get_errno() not in UNSUPPORTED:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return not failed


def _replace_in_two_steps(new: Path, target: Path, temporary: Path) -> None:
    """Where folders cannot be exchanged: the old one is put back if the new one cannot take its name."""
    old = temporary / "old" / target.name
    old.parent.mkdir()
    os.rename(target, old)
    try:
        os.rename(new, target)
    except BaseException:
        os.rename(old, target)
        raise


def _put_back(litter: Path, folder: Path) -> None:
    """A folder that a killed writer had moved away, and nothing had taken its name."""
    with suppress(OSError):
        for old in (litter / "old").iterdir():
            if not (folder / old.name).exists():
                os.rename(old, folder / old.name)
