"""Files of arrays: npz, npy and hdf5. Ragged trajectories lie end to end, with their lengths beside them."""

import io
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from nke.data import Trajectories
from nke.errors import DamagedFileError, InputError
from nke.files.checks import as_lengths, as_trajectories, opened_by_library
from nke.files.clock import array_times
from nke.files.columns import TIME_NAMES, Choice
from nke.files.frame import from_table
from nke.files.labels import split_time_heading
from nke.files.long import long_table
from nke.files.probe import require_readable
from nke.files.sizes import require_plausible
from nke.files.table import Clock, Table

STATE_NAMES = ["states", "state", "x", "data", "trajectories", "arr_0"]


def to_arrays(data: Trajectories) -> dict[str, np.ndarray]:
    """Lays out states (M, N, d) and times (M, N), or (R, d) and (R,) with the lengths of M trajectories.

    Names and units stand beside them. Times that were dates are dates again.
    """
    arrays = (
        {"states": np.asarray(data.states), "times": np.asarray(data.times)}
        if not data.is_ragged
        else {
            "states": np.concatenate(list(data.states)),
            "times": np.concatenate(list(data.times)),
            "lengths": np.array([len(times) for times in data.times]),
        }
    )
    words = {"names": data.names, "units": data.units, "unit_of_time": data.unit_of_time}
    if data.calendar is not None:
        arrays["times"] = data.calendar.dates(arrays["times"])
    return arrays | {key: np.array(value, dtype=np.str_) for key, value in words.items()}


def from_arrays(arrays: Mapping[str, Any], choice: Choice, where: str) -> Trajectories:
    """Makes trajectories of the arrays called states and times, or of those that the choice names."""
    told = None if choice.states is None else ",".join(choice.states)
    states = arrays[_key(arrays, told, STATE_NAMES, "states", where)]
    times, clock = choice.step, Clock(choice.time_unit or str(arrays.get("unit_of_time", "")))
    if times is None:
        key = _key(arrays, choice.time, TIME_NAMES, "time", where)
        times, clock = array_times(arrays[key], key, choice, where, clock.unit)
    if "lengths" in arrays:
        states, times = np.atleast_1d(states), np.asarray(times)
        ends = np.cumsum(as_lengths(where, arrays["lengths"], len(states)))
        if ends[-1] != len(states):
            raise InputError(
                f"{where}: expected {ends[-1]} rows by the lengths of the trajectories, but got {len(states)}"
            )
        states, times = np.split(states, ends[:-1]), np.split(times, ends[:-1]) if times.ndim else times
    names, units = (
        [str(word) for word in np.ravel(arrays[key])] if key in arrays else None for key in ("names", "units")
    )
    data = as_trajectories(where, states, times, names, units, clock.unit, clock.calendar)
    data.notes = clock.notes + data.notes
    return data


def _is_something_else(key: str) -> bool:
    """Whether an array is known by its name to hold no states: times are never read as states."""
    name = split_time_heading(key)[0].lower()
    return name in TIME_NAMES or key.lower() in (*TIME_NAMES, "lengths", "names", "units", "unit_of_time")


def _key(arrays: Mapping[str, Any], told: str | None, usual: list[str], role: str, where: str) -> str:
    """Finds the name of an array: as told, by its usual names, or because it is the only one."""
    keys = {key.lower(): key for key in arrays}
    found = told if told in arrays else None if told else next((keys[k] for k in usual if k in keys), None)
    if found is None and told is None and role == "states":
        others = [key for key in arrays if not _is_something_else(key)]
        if len(others) == 1:
            return others[0]
    if found is None:
        advice = ", or give the time between rows with step= (--step)" if role == "time" else ""
        raise InputError(
            f"{where}: expected an array {told or usual[0]!r} among {', '.join(arrays) or 'none'}; "
            f"name it with {role}= (--{role}){advice}"
        )
    return found


class LazyArrays(Mapping[str, Any]):
    """Arrays in a file by name, each read when it is asked for: what nobody needs is not unpacked.

    Args:
        names: Of the arrays.
        read: Reads the array of a name.
    """

    def __init__(self, names: Iterable[str], read: Callable[[str], Any]):
        self._names, self._read = list(names), read

    def __getitem__(self, name: str) -> Any:
        if name not in self._names:
            raise KeyError(name)
        return self._read(name)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def read_npz(path: Path, choice: Choice) -> Trajectories:
    """Reads an archive of arrays."""

    def read(name: str) -> Any:
        with opened_by_library(path, "npz"):
            _require_honest_member(path, file, name)
            return file[name]

    with opened_by_library(path, "npz"):
        file = np.load(path, allow_pickle=False)
    with file:
        return from_arrays(LazyArrays(file.files, read), choice, str(path))


def _require_honest_member(path: Path, file: Any, name: str) -> None:
    """Refuses an array of an archive that claims more numbers than there are."""
    member = file.zip.getinfo(f"{name}.npy" if f"{name}.npy" in file.zip.namelist() else name)
    require_plausible(path, member.file_size, f"the array {name!r}")
    with file.zip.open(member) as stream:
        version = np.lib.format.read_magic(stream)
        header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = header(stream)
    if math.prod(shape) * max(dtype.itemsize, 1) > member.file_size:
        raise DamagedFileError(
            f"{path} is damaged: the array {name!r} claims more numbers than there are; get a fresh copy"
        )


def write_npz(data: Trajectories, path: Path) -> None:
    """Writes an archive of arrays."""
    with path.open("wb") as file:
        np.savez(file, allow_pickle=False, **to_arrays(data))


def read_npy(path: Path, choice: Choice) -> Trajectories:
    """Reads a table with named fields, or the bare states with a step."""
    with opened_by_library(path, "npy"):
        # Mapped first: a file shorter than its header claims is found before memory is taken.
        array = np.array(np.load(path, mmap_mode="r", allow_pickle=False))
    if array.dtype.names is None:
        return from_arrays({"states": array}, choice, str(path))
    columns = [array[name] for name in array.dtype.names]
    if any(column.ndim != 1 for column in columns):
        raise InputError(f"{path}: expected fields with one number in a row, but got {array.dtype} of {array.shape}")
    return from_table(Table(str(path), array.dtype.names, columns), choice)


def write_npy(data: Trajectories, path: Path) -> None:
    """Writes a long table whose fields have names: a bare array would lose times, names and units."""
    table = long_table(data)
    array = np.empty(len(table["trajectory"]), [(heading, column.dtype) for heading, column in table.items()])
    for heading, column in table.items():
        array[heading] = column
    content = io.BytesIO()  # to a file itself NumPy writes without hearing of a full disk
    np.save(content, array)
    path.write_bytes(content.getbuffer())


def read_hdf5(path: Path, choice: Choice) -> Trajectories:
    """Reads the arrays at the top of an HDF5 file."""
    import h5py

    require_readable(path)
    with opened_by_library(path, "hdf5"):
        file = h5py.File(path)
    with file:
        with opened_by_library(path, "hdf5"):
            names = [name for name in map(str, file) if _is_array(file, name)]
        return from_arrays(LazyArrays(names, lambda name: _hdf5_array(path, file, name)), choice, str(path))


def _is_array(file: Any, name: str) -> bool:
    """Whether a name stands for an array; a link that leads nowhere does, so that whoever needs it is told."""
    import h5py

    try:
        return file.get(name, getclass=True) is h5py.Dataset
    except (KeyError, RuntimeError, OSError):  # as the version of HDF5 has it
        return True


def _hdf5_array(path: Path, file: Any, name: str) -> Any:
    import h5py

    require_own_data(path, file, name)
    with opened_by_library(path, "hdf5"):
        item = file[name]
        require_plausible(path, item.size * max(item.dtype.itemsize, 1), f"the array {name!r}")
        return item.asstr()[()] if h5py.check_string_dtype(item.dtype) else item[()]


def require_own_data(path: Path, file: Any, name: str) -> None:
    """Refuses data of an HDF5 file that lie in other files, which may be any file of the user.

    Args:
        path: The file.
        file: The open file.
        name: Of an array in it.

    Raises:
        InputError: If the array is a link to nothing or to another file, or its numbers are in other files.
    """
    import h5py

    with opened_by_library(path, "hdf5"):
        link = file.get(name, getlink=True)
        item = None if isinstance(link, h5py.ExternalLink) else file.get(name)
        elsewhere = isinstance(link, h5py.ExternalLink)
        if isinstance(item, h5py.Dataset):
            virtual = item.is_virtual and any(source.file_name != "." for source in item.virtual_sources())
            elsewhere = bool(item.external) or virtual
    if elsewhere:
        raise InputError(
            f"{path}: expected the numbers of {name!r} in the file, but they are in another one; copy them into it"
        )
    if item is None:
        raise InputError(f"{path}: expected an array {name!r}, but it is a link to nothing; get a fresh copy")


def write_hdf5(data: Trajectories, path: Path) -> None:
    """Writes the arrays at the top of an HDF5 file."""
    import h5py

    with h5py.File(path, "w") as file:
        for key, array in to_arrays(data).items():
            array = np.datetime_as_string(array) if array.dtype.kind == "M" else array  # HDF5 has no dates
            text = array.dtype.kind == "U"
            file.create_dataset(
                key, data=array.astype(object) if text else array, dtype=h5py.string_dtype() if text else None
            )
