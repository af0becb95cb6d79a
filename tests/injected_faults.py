"""What is on disk after a fault at every step of every writer; prints a table.

Each call of the system that Python makes for a write fails in turn (input/output error, full disk, no permission), or
is the moment at which the process is killed; and the disk is full after so many bytes, whoever writes them. Every case
runs in a process of its own, forked from this one.

    python tests/injected_faults.py [WRITER …] [FAULT …] [N]

A number N takes every Nth call only.
"""

import errno
import os
import resource
import shutil
import signal
import sys
import tempfile
from collections import Counter
from importlib import import_module
from pathlib import Path

import numpy as np

import nke
from nke.files.atomic import PREFIX
from nke.files.sealed import Sealed, pack

KINDS = ["csv", "npz", "npy", "parquet", "h5", "nc", "zarr", "nke"]
CALLS = [
    "open",
    "close",
    "fsync",
    "replace",
    "rename",
    "mkdir",
    "stat",
    "chmod",
    "unlink",
    "rmdir",
    "scandir",
    "readlink",
]
PACKAGES = {"parquet": "pyarrow.parquet", "h5": "h5py", "nc": "h5netcdf", "zarr": "zarr"}
FAULTS = {"kill": None, "I/O error": errno.EIO, "full disk": errno.ENOSPC, "permission": errno.EACCES}
OLD, NEW = (nke.Trajectories(np.arange(n) / 7, 0.5, names=["x"]) for n in (40, 60))
FULL_AFTER = [0, 1, 100, 400, 1000, 2000]  # bytes


def write(path: Path, data: nke.Trajectories) -> None:
    """A table by its writer; a model's file by what every model and checkpoint is written with."""
    if path.suffix == ".nke":
        nke.files.atomic.write_atomically(path, pack({"format": "test"}, {"x": data.states[0]}))
    else:
        nke.write(data, path)


def rows(path: Path) -> int | None:
    """How many rows there are; None where there is no file."""
    if not path.exists():
        return None
    if path.suffix == ".nke":
        file = Sealed(path.read_bytes(), path)
        file.require_digest()
        return len(file.arrays()["x"])
    return len(nke.read(path).times[0])


def in_child(work) -> int:
    """Runs work in a forked process and gives how it ended: 0, 1 after an error that is meant, 2 after another."""
    process = os.fork()
    if process == 0:
        code = 2
        try:
            work()
            code = 0
        except (OSError, nke.errors.NkeError, MemoryError):
            code = 1
        except BaseException as error:  # a defect: told, and counted as broken
            print(type(error), error, file=sys.stderr)
        os._exit(code)
    status = os.waitpid(process, 0)[1]
    return os.waitstatus_to_exitcode(status)


def failing(at: int, fault: str, seen: list[str]):
    """Lets the calls of the system through until the one that fails."""

    def wrap(name, original):
        def call(*arguments, **options):
            seen.append(name)
            if len(seen) == at:
                if FAULTS[fault] is None:
                    os.kill(os.getpid(), signal.SIGKILL)
                raise OSError(FAULTS[fault], os.strerror(FAULTS[fault]))
            return original(*arguments, **options)

        return call

    for name in CALLS:
        setattr(os, name, wrap(name, getattr(os, name)))


def outcome(folder: Path, kind: str, old: Path | None, work) -> str:
    """What is there after a write that a fault hit; broken also where the next write leaves litter."""
    path = folder / f"data.{kind}"
    if old is not None:
        (shutil.copytree if old.is_dir() else shutil.copy)(old, path)
    ended = in_child(lambda: work(path))
    reading, writing = os.pipe()
    in_child(lambda: os.write(writing, str(rows(path)).encode()))
    os.close(writing)
    found = os.read(reading, 100).decode()
    os.close(reading)
    words = {"None": "nothing", "40": "old", "60": "new"}.get(found, "broken")
    if (words == "nothing" and old is not None) or ended == 2 or (ended == 0 and words != "new"):
        words = "broken"
    nke.files.atomic.write_atomically(folder / "next", b"")
    if any(entry.name.startswith(PREFIX) for entry in folder.iterdir()):
        words = "broken"
    return words


def full_disk(limit: int):
    """A disk that takes so many bytes of a file."""

    def work(path: Path) -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        write(path, NEW)

    return work


def cases(fault: str, stride: int):
    """What is done to a writer, one after the other: until a fault comes after the last call."""
    if fault == "bytes":
        yield from ((full_disk(limit), lambda: False) for limit in FULL_AFTER)
        return
    folder = Path(tempfile.mkdtemp(prefix="nke-faults-"))
    at, through = 0, folder / "through"
    while not through.exists():
        at += stride

        def work(path: Path, at=at) -> None:
            seen: list[str] = []
            failing(at, fault, seen)
            try:
                write(path, NEW)
            finally:
                if len(seen) < at:
                    through.touch()

        yield work, through.exists
    shutil.rmtree(folder)


def main(kinds: list[str], faults: list[str], stride: int = 1) -> int:
    print(f"{'writer':8} {'fault':12} {'there was':10} {'cases':>6}  what is on disk afterwards")
    total: Counter = Counter()
    for kind in kinds:
        for package in ("pandas", "xarray", PACKAGES.get(kind, "pandas")):
            import_module(package)
        start = Path(tempfile.mkdtemp(prefix="nke-faults-"))
        assert in_child(lambda kind=kind, start=start: write(start / f"old.{kind}", OLD)) == 0
        for old in (None, start / f"old.{kind}"):
            for fault in faults:
                counts: Counter = Counter()
                for work, all_done in cases(fault, stride):
                    folder = Path(tempfile.mkdtemp(prefix="nke-faults-"))
                    words = outcome(folder, kind, old, work)
                    shutil.rmtree(folder)
                    if not all_done():
                        counts[words] += 1
                total += counts
                found = ", ".join(f"{words}: {number}" for words, number in sorted(counts.items()))
                there = "old" if old else "nothing"
                print(f"{kind:8} {fault:12} {there:10} {counts.total():6}  {found}", flush=True)
        shutil.rmtree(start)
    print(f"{total.total()} cases, {total['broken']} broken")
    return int(total["broken"] > 0)


if __name__ == "__main__":
    asked = sys.argv[1:]
    strides = [int(each) for each in asked if each.isdigit()]
    some_faults = [each for each in asked if each not in KINDS and not each.isdigit()]
    sys.exit(main([each for each in asked if each in KINDS] or KINDS, some_faults or [*FAULTS, "bytes"], *strides))
