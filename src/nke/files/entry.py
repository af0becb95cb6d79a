"""``nke.read`` and ``nke.write``: trajectories from and to files of every kind, told apart by content and ending."""

import gzip
import os
import shutil
import tempfile
import zlib
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from nke.data import Trajectories
from nke.errors import DamagedFileError, InputError, InputTypeError, MissingPackageError, NkeError
from nke.files.atomic import require_writable, whole_file, whole_folder
from nke.files.columns import Choice
from nke.files.frame import is_foreign
from nke.files.regular import require_regular
from nke.progress import ProgressOption, progress_bar

# The module that reads and writes each format, and the package that must be installed for it beyond pandas.
FORMATS = {
    "text": ("text", None),
    "npz": ("arrays", None),
    "npy": ("arrays", None),
    "parquet": ("parquet", "pyarrow"),
    "hdf5": ("arrays", "h5py"),
    "netcdf": ("dataset", "h5netcdf"),
    "zarr": ("dataset", "zarr"),
    "excel": ("excel", "openpyxl"),
}
ENDINGS = {
    ".csv": "text", ".tsv": "text", ".txt": "text", ".dat": "text", ".npz": "npz", ".npy": "npy", ".parquet": "parquet",
    ".pq": "parquet", ".h5": "hdf5", ".hdf5": "hdf5", ".nc": "netcdf", ".nc4": "netcdf", ".zarr": "zarr",
    ".xlsx": "excel",
}  # fmt: skip
SIGNATURES = {  # the first bytes of a file
    b"PAR1": "parquet", b"\x93NUMPY": "npy", b"PK\x03\x04": "npz", b"\x89HDF\r\n\x1a\n": "hdf5", b"CDF": "netcdf",
    b"\x1f\x8b": "gzip",
}  # fmt: skip


def read(
    source: Any,
    *,
    trajectory: str | None = None,
    time: str | None = None,
    states: str | Sequence[str] | None = None,
    step: float | None = None,
    wide: bool | None = None,
    delimiter: str | None = None,
    decimal: str = ".",
    time_unit: str | None = None,
    calendar: str = "all",
    dates: str | None = None,
    progress: ProgressOption = False,
) -> Trajectories:
    r"""Reads trajectories from a file, a frame or an xarray object.

    A long table has a row for each time of each trajectory: a column of trajectories, one of times, then the states;
    a wide one has a column for each trajectory. A heading ``height [mm]`` carries a unit. Files of arrays hold states
    and times; xarray objects have the dimensions trajectory, time and state. What had to be done to the rows is said in
    ``notes`` of the result.

    Args:
        source: A path (csv, tsv, txt, dat, also compressed by gzip, xlsx, parquet, npz, npy, hdf5, netcdf or zarr), a
            ``pandas.DataFrame`` or ``Series``, a frame of polars or another library that has columns,
            or an ``xarray.Dataset`` or ``DataArray``.
        trajectory: The column that tells trajectories apart; by default it is found by its name.
        time: The column (or array) of times; by default it is found by its name.
        states: The columns (or the array) of states; by default all columns that are left.
        step: The time between rows, where no times were recorded.
        wide: Whether the table is wide; by default the headings tell.
        delimiter: What separates the columns of a text file; by default the ending or the first line tells.
        decimal: The decimal sign of a text file.
        time_unit: What dates are counted in ("s", "min", "h", "d", "week", "y", or "days"); by default the longest of
            these that the typical step is about as long as. Of times that are numbers, their unit.
        calendar: "all" counts all time between dates, "trading" the observations, so that a weekend is one step.
        dates: Order of dates such as 3/4/2024: "dmy" or "mdy"; by default the dates themselves tell.
        progress: True for a progress bar, None for one on a terminal only, or a callback; counts the bytes of a text
            file so long that reading it takes seconds.

    Returns:
        The trajectories, with names and units.

    Raises:
        InputError: If the content is not understood; the message names the line and the column.
        DamagedFileError: If the file is cut short or of another format than its ending says.
        InputTypeError: If ``source`` is neither a path nor a frame nor an object of xarray.
        MissingPackageError: If the package that reads the format is not installed.
        OSError: If the file does not exist or cannot be opened.

    Example:
        >>> path = getfixture("tmp_path") / "cells.csv"
        >>> _ = path.write_text("cell,hours,size [µm]\na,0,3.1\na,1,3.3\nb,0,2.8\nb,2,3.4\n")
        >>> nke.read(path)
        Trajectories(2 trajectories × 2 rows, coordinates size [µm], times 0 to 2 h)
    """
    with progress_bar(progress, transient=True) as begin:
        chosen = [states] if isinstance(states, str) else states
        choice = Choice(
            trajectory, time, chosen, step, wide, delimiter, decimal, time_unit, calendar, dates, progress=begin
        )
        if isinstance(source, str | os.PathLike):
            return _read_file(Path(source), choice)
        package = type(source).__module__.split(".")[0]
        if package == "pandas" and hasattr(source, "columns"):
            return import_module("nke.files.frame").from_pandas(source, choice)
        if package == "pandas" and hasattr(source, "to_frame"):
            return import_module("nke.files.frame").from_pandas(source.to_frame(source.name or "x1"), choice)
        if is_foreign(source):
            return import_module("nke.files.frame").from_foreign(source, choice)
        if package == "xarray":
            return import_module("nke.files.dataset").from_xarray(source, choice)
    raise InputTypeError(
        f"expected a path, a frame of pandas or polars or an xarray object, but got {type(source).__name__}; "
        "wrap arrays with nke.Trajectories(states, times)"
    )


def write(data: Trajectories, path: str | os.PathLike, *, wide: bool = False, progress: ProgressOption = False) -> None:
    """Writes trajectories to a file, which appears whole or not at all; ``nke.read`` gives them back unchanged.

    Args:
        data: The trajectories.
        path: The file; its ending (.csv, .tsv, .txt, .dat, .npz, .npy, .parquet, .pq, .h5, .hdf5, .nc, .nc4 or .zarr)
            tells the format.
        wide: Whether a text table has a column for each coordinate of each trajectory instead of a row for each time of
            each trajectory.
        progress: True for a progress bar, None for one on a terminal only, or a callback; counts the rows of a text
            table.

    Raises:
        InputError: If the ending is not known, or the trajectories of a wide table have different times.
        MissingPackageError: If the package that writes the format is not installed.
        OSError: If the folder does not exist or the file cannot be written.

    Example:
        >>> path = getfixture("tmp_path") / "heights.csv"
        >>> nke.write(nke.Trajectories([1.0, 1.5, 1.2], 0.5, names=["height"], units=["mm"]), path)
        >>> print(path.read_text())
        trajectory,time,height [mm]
        0,0.0,1.0
        0,0.5,1.5
        0,1.0,1.2
    """
    path = Path(path)
    kind, writer = writer_for(path)
    if wide and kind != "text":
        raise InputError(f"expected a text table (.csv) with wide=True, but got {str(path)!r}")
    with (whole_folder if kind == "zarr" else whole_file)(path) as temporary:
        if kind == "text":
            with progress_bar(progress) as begin:
                writer(data, temporary, wide, "\t" if path.suffix.lower() == ".tsv" else ",", begin)
        else:
            writer(data, temporary)


def writer_for(path: Path) -> tuple[str, Callable[..., None]]:
    """Returns the format that the ending asks for and its writer; refuses, and tries, what could not be written."""
    kind = ENDINGS.get(path.suffix.lower())
    if kind is None:
        raise InputError(f"expected a path that ends in one of {', '.join(ENDINGS)}, but got {str(path)!r}")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"expected an existing folder for {path}, but {path.parent} is none; create it first")
    if kind == "zarr" and path.exists() and not _is_store(path):
        raise FileExistsError(f"{path} is there and is no zarr store; choose another name")
    require_writable(path, is_folder=kind == "zarr")
    return kind, _function("write", kind, path)


def _read_file(path: Path, choice: Choice) -> Trajectories:
    kind = _kind(path)
    if kind == "gzip":
        return _read_compressed(path, choice)
    return _function("read", kind, path)(path, choice)


def _read_compressed(path: Path, choice: Choice) -> Trajectories:
    """Reads what is inside of a file compressed by gzip; errors name the file itself."""
    with tempfile.TemporaryDirectory() as folder:
        inside = Path(folder) / (path.name.removesuffix(".gz") or "data")
        try:
            with gzip.open(path) as packed, inside.open("wb") as unpacked:
                shutil.copyfileobj(packed, unpacked)
        except (OSError, EOFError, zlib.error) as error:
            raise DamagedFileError(f"{path} is damaged or is no valid gzip file ({error}); get a fresh copy") from error
        try:
            return _read_file(inside, choice)
        except NkeError as error:
            raise type(error)(str(error).replace(str(inside), str(path))) from error


def _kind(path: Path) -> str:
    """Tells the format by the first bytes and, where they say nothing, by the ending."""
    if path.is_dir():
        if _is_store(path):
            return "zarr"
        raise IsADirectoryError(f"{path} is a folder and not a zarr store; name a file in it")
    require_regular(path)
    with path.open("rb") as file:
        head = file.read(4096)
    if not head.strip():
        raise InputError(f"{path} is empty; expected a table with a header, or another file of trajectories")
    by_ending = ENDINGS.get(path.suffix.lower())
    found = next((kind for signature, kind in SIGNATURES.items() if head.startswith(signature)), None)
    if (found, by_ending) in (("hdf5", "netcdf"), ("npz", "excel")):
        return str(by_ending)
    if found is not None:
        return found
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"{path} is text in UTF-16; expected UTF-8; save the file as UTF-8")
    if b"\0" in head:
        raise DamagedFileError(
            f"{path} is a binary file of no known kind; get a fresh copy, or one of {', '.join(ENDINGS)}"
        )
    if by_ending not in (None, "text"):
        raise DamagedFileError(
            f"{path} is damaged or is not a valid {by_ending} file; get a fresh copy, or rename a text table to .csv"
        )
    return "text"


def _is_store(path: Path) -> bool:
    return any((path / name).exists() for name in ("zarr.json", ".zgroup", ".zarray"))


def _function(verb: str, kind: str, path: Path) -> Callable[..., Any]:
    """Returns the function that reads or writes a format; refuses where its package is missing."""
    module, needed = FORMATS[kind]
    if needed is not None:
        try:
            import_module(needed)
        except ModuleNotFoundError as error:
            extra = "excel" if kind == "excel" else "files"
            raise MissingPackageError(
                f"{path}: {kind} files need {needed}; install it with: pip install 'nke[{extra}]'"
            ) from error
    return getattr(import_module(f"nke.files.{module}"), f"{verb}_{kind}")
