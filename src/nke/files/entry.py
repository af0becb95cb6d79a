"""``nke.read`` and ``nke.write``: trajectories from and to files of every kind, told apart by content and ending."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from nke.data import Trajectories
from nke.errors import InputError, InputTypeError
from nke.files.atomic import whole_file
from nke.files.columns import Choice

# Where each format is read and written, and what must be installed for it beyond pandas.
FORMATS = {
    "text": ("text", None),
    "npz": ("arrays", None),
    "npy": ("arrays", None),
    "parquet": ("parquet", "pyarrow"),
    "hdf5": ("arrays", "h5py"),
    "netcdf": ("dataset", "h5netcdf"),
    "zarr": ("dataset", "zarr"),
}
ENDINGS = {
    ".csv": "text", ".tsv": "text", ".txt": "text", ".dat": "text", ".npz": "npz", ".npy": "npy", ".parquet": "parquet",
    ".pq": "parquet", ".h5": "hdf5", ".hdf5": "hdf5", ".nc": "netcdf", ".nc4": "netcdf", ".zarr": "zarr",
}  # fmt: skip
MAGIC = {b"PAR1": "parquet", b"\x93NUMPY": "npy", b"PK\x03\x04": "npz", b"\x89HDF\r\n\x1a\n": "hdf5", b"CDF": "netcdf"}


def read(
    source: Any,
    *,
    trajectory: str | None = None,
    time: str | None = None,
    states: Sequence[str] | None = None,
    step: float | None = None,
    wide: bool | None = None,
    delimiter: str | None = None,
    decimal: str = ".",
    report: Callable[[int], None] = lambda read: None,
) -> Trajectories:
    """Trajectories from a file, a pandas frame or an xarray object.

    A long table has a row for each time of each trajectory: a column of trajectories, one of times, then the states;
    a wide one a column for each trajectory. Columns are found by their names unless ``trajectory``, ``time`` and
    ``states`` name them; ``step`` is the time between rows where no times were recorded. A heading ``height [mm]``
    carries a unit. Files of arrays hold states and times; xarray objects have dimensions trajectory, time, state.
    ``report`` hears of the bytes of a text file that have been read.
    """
    chosen = [states] if isinstance(states, str) else states
    choice = Choice(trajectory, time, chosen, step, wide, delimiter, decimal, report)
    if isinstance(source, str | os.PathLike):
        return _read_file(Path(source), choice)
    kind = type(source).__module__.split(".")[0]
    if kind == "pandas" and hasattr(source, "columns"):
        return import_module("nke.files.frame").from_pandas(source, choice)
    if kind == "xarray":
        return import_module("nke.files.dataset").from_xarray(source, choice)
    raise InputTypeError(
        f"expected a path, a pandas DataFrame or an xarray object, but got {type(source).__name__}; "
        "wrap arrays with nke.Trajectories(states, times)"
    )


def write(
    data: Trajectories,
    path: str | os.PathLike,
    *,
    wide: bool = False,
    report: Callable[[int], None] = lambda rows: None,
) -> None:
    """Writes a file whose ending tells the format; it appears whole or not at all.

    ``wide`` is for text tables; ``report`` hears of the rows of one that have been written.
    """
    path = Path(path)
    kind, writer = writer_for(path)
    if wide and kind != "text":
        raise InputError(f"expected a text table (.csv) with wide=True, but got {str(path)!r}")
    with (whole_folder if kind == "zarr" else whole_file)(path) as temporary:
        if kind == "text":
            writer(data, temporary, wide, "\t" if path.suffix.lower() == ".tsv" else ",", report)
        else:
            writer(data, temporary)


def writer_for(path: Path) -> tuple[str, Callable[..., None]]:
    """The format that the ending asks for and its writer; refuses what could not be written."""
    kind = ENDINGS.get(path.suffix.lower())
    if kind is None:
        raise InputError(f"expected a path that ends in one of {', '.join(ENDINGS)}, but got {str(path)!r}")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"expected an existing folder for {path}, but {path.parent} is none; create it first")
    return kind, _function("write", kind, path)


def _read_file(path: Path, choice: Choice) -> Trajectories:
    kind = _kind(path)
    reader = _function("read", kind, path)
    try:
        return reader(path, choice)
    except MemoryError:
        raise
    except Exception as error:  # our own words, or whatever a library raises on a damaged file
        words = str(error)
        if isinstance(error, ValueError | TypeError) and words.startswith(("expected", str(path))):
            raise InputError(words if words.startswith(str(path)) else f"{path}: {words}") from error
        raise InputError(f"{path} is damaged or is no {kind} file ({words}); get a fresh copy") from error


def _kind(path: Path) -> str:
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such file; check the spelling and the folder")
    if path.is_dir():
        if _is_store(path):
            return "zarr"
        raise IsADirectoryError(f"{path} is a folder and not a zarr store; name a file in it")
    with path.open("rb") as file:
        head = file.read(4096)
    if not head.strip():
        raise InputError(f"{path} is empty; expected a table with a header, or another file of trajectories")
    by_ending = ENDINGS.get(path.suffix.lower())
    found = next((kind for magic, kind in MAGIC.items() if head.startswith(magic)), None)
    if found == "hdf5" and by_ending == "netcdf":
        return "netcdf"
    if found is not None:
        return found
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"{path} is text in UTF-16; expected UTF-8; save the file as UTF-8")
    if b"\0" in head:
        raise InputError(f"{path} is a binary file of no known kind; get a fresh copy, or one of {', '.join(ENDINGS)}")
    if by_ending not in (None, "text"):
        raise InputError(
            f"{path} is damaged or is no {by_ending} file; get a fresh copy, or rename a text table to .csv"
        )
    return "text"


def _is_store(path: Path) -> bool:
    return any((path / name).exists() for name in ("zarr.json", ".zgroup", ".zarray"))


def _function(verb: str, kind: str, path: Path) -> Callable[..., Any]:
    module, needed = FORMATS[kind]
    if needed is not None:
        try:
            import_module(needed)
        except ModuleNotFoundError as error:
            raise ImportError(
                f"{path}: {kind} files need {needed}; install it with: pip install 'nke[files]'"
            ) from error
    return getattr(import_module(f"nke.files.{module}"), f"{verb}_{kind}")


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """As ``whole_file``, for a folder; refuses to replace one that is no zarr store."""
    if path.exists() and not _is_store(path):
        raise FileExistsError(f"{path} is there and is no zarr store; choose another name")
    parent = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}."))
    try:
        yield parent / "new"
        if path.exists():
            os.replace(path, parent / "old")
        os.replace(parent / "new", path)
    finally:
        shutil.rmtree(parent, ignore_errors=True)
