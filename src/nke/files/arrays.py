"""Files of arrays: npz, npy and hdf5. Ragged trajectories lie end to end, with their lengths beside them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from nke.data import Trajectories
from nke.errors import InputError
from nke.files.checks import as_lengths, as_trajectories, opened_by_library
from nke.files.columns import TIME_NAMES, Choice
from nke.files.frame import from_table
from nke.files.labels import split_time_heading
from nke.files.long import long_table
from nke.files.table import Table

STATE_NAMES = ["states", "state", "x", "data", "trajectories", "arr_0"]


def to_arrays(data: Trajectories) -> dict[str, np.ndarray]:
    """Lays out states (M, N, d) and times (M, N), or (R, d) and (R,) with the lengths of M trajectories.

    Names and units stand beside them.
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
    return arrays | {key: np.array(value, dtype=np.str_) for key, value in words.items()}


def from_arrays(arrays: Mapping[str, Any], choice: Choice, where: str) -> Trajectories:
    """Makes trajectories of the arrays called states and times, or of those that the choice names."""
    told = None if choice.states is None else ",".join(choice.states)
    states = arrays[_key(arrays, told, STATE_NAMES, "states", where)]
    times, unit = choice.step, ""
    if times is None:
        clock = _key(arrays, choice.time, TIME_NAMES, "time", where)
        times, unit = arrays[clock], split_time_heading(clock)[1]
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
    return as_trajectories(where, states, times, names, units, str(arrays.get("unit_of_time", unit)))


def _key(arrays: Mapping[str, Any], told: str | None, usual: list[str], role: str, where: str) -> str:
    """Finds the name of an array: as told, by its usual names, or because it is the only one."""
    keys = {key.lower(): key for key in arrays}
    found = told if told in arrays else None if told else next((keys[k] for k in usual if k in keys), None)
    if found is None and told is None and role == "states" and len(keys) == 1:
        return next(iter(arrays))
    if found is None:
        advice = ", or give the time between rows with step= (--step)" if role == "time" else ""
        raise InputError(
            f"{where}: expected an array {told or usual[0]!r} among {', '.join(arrays) or 'none'}; "
            f"name it with {role}= (--{role}){advice}"
        )
    return found


def read_npz(path: Path, choice: Choice) -> Trajectories:
    """Reads an archive of arrays."""
    with opened_by_library(path, "npz"), np.load(path, allow_pickle=False) as file:
        arrays = {key: file[key] for key in file.files}
    return from_arrays(arrays, choice, str(path))


def write_npz(data: Trajectories, path: Path) -> None:
    """Writes an archive of arrays."""
    with path.open("wb") as file:
        np.savez(file, allow_pickle=False, **to_arrays(data))


def read_npy(path: Path, choice: Choice) -> Trajectories:
    """Reads a table with named fields, or the bare states with a step."""
    with opened_by_library(path, "npy"):
        array = np.load(path, allow_pickle=False)
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
    with path.open("wb") as file:
        np.save(file, array)


def read_hdf5(path: Path, choice: Choice) -> Trajectories:
    """Reads the arrays at the top of an HDF5 file."""
    import h5py

    arrays = {}
    with opened_by_library(path, "hdf5"), h5py.File(path) as file:
        for key, item in file.items():
            if isinstance(item, h5py.Dataset):
                arrays[key] = item.asstr()[()] if h5py.check_string_dtype(item.dtype) else item[()]
    return from_arrays(arrays, choice, str(path))


def write_hdf5(data: Trajectories, path: Path) -> None:
    """Writes the arrays at the top of an HDF5 file."""
    import h5py

    with h5py.File(path, "w") as file:
        for key, array in to_arrays(data).items():
            text = array.dtype.kind == "U"
            file.create_dataset(
                key, data=array.astype(object) if text else array, dtype=h5py.string_dtype() if text else None
            )
