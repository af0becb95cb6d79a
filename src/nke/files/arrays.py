"""Files of arrays: npz, npy and hdf5. Ragged trajectories lie end to end, with their lengths beside them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from nke.data import Trajectories
from nke.errors import InputError
from nke.files.columns import TIME, Choice
from nke.files.frame import from_table
from nke.files.labels import split_time_heading
from nke.files.long import long_table
from nke.files.table import Table

STATES = "states state x data trajectories arr_0"


def to_arrays(data: Trajectories) -> dict[str, np.ndarray]:
    """states (M, N, d) and times (M, N), or (R, d) and (R,) with the lengths of M trajectories; names and units."""
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
    """The arrays called states and times, or as told."""
    told = None if choice.states is None else ",".join(choice.states)
    states = arrays[_key(arrays, told, STATES, "states", where)]
    times, unit = choice.step, ""
    if times is None:
        clock = _key(arrays, choice.time, TIME, "time", where)
        times, unit = arrays[clock], split_time_heading(clock)[1]
    if "lengths" in arrays:
        ends = np.cumsum(arrays["lengths"])[:-1]
        states, times = np.split(states, ends), np.split(times, ends) if np.ndim(times) else times
    names, units = ([str(word) for word in arrays[key]] if key in arrays else None for key in ("names", "units"))
    return Trajectories(states, times, names, units, str(arrays.get("unit_of_time", unit)))


def _key(arrays: Mapping[str, Any], told: str | None, usual: str, role: str, where: str) -> str:
    keys = {key.lower(): key for key in arrays}
    found = told if told in arrays else None if told else next((keys[k] for k in usual.split() if k in keys), None)
    if found is None and told is None and role == "states" and len(keys) == 1:
        return next(iter(arrays))
    if found is None:
        advice = ", or give the time between rows with step= (--step)" if role == "time" else ""
        raise InputError(
            f"{where}: expected an array {told or usual.split()[0]!r} among {', '.join(arrays) or 'none'}; "
            f"name it with {role}= (--{role}){advice}"
        )
    return found


def read_npz(path: Path, choice: Choice) -> Trajectories:
    with np.load(path, allow_pickle=False) as file:
        arrays = {key: file[key] for key in file.files}
    return from_arrays(arrays, choice, str(path))


def write_npz(data: Trajectories, path: Path) -> None:
    with path.open("wb") as file:
        np.savez(file, allow_pickle=False, **to_arrays(data))


def read_npy(path: Path, choice: Choice) -> Trajectories:
    """A table with named fields, or the bare states with a step."""
    array = np.load(path, allow_pickle=False)
    if array.dtype.names is None:
        return from_arrays({"states": array}, choice, str(path))
    return from_table(Table(str(path), array.dtype.names, [array[name] for name in array.dtype.names]), choice)


def write_npy(data: Trajectories, path: Path) -> None:
    """A long table whose fields have names: a bare array would lose times, names and units."""
    table = long_table(data)
    array = np.empty(len(table["trajectory"]), [(heading, column.dtype) for heading, column in table.items()])
    for heading, column in table.items():
        array[heading] = column
    with path.open("wb") as file:
        np.save(file, array)


def read_hdf5(path: Path, choice: Choice) -> Trajectories:
    import h5py

    with h5py.File(path) as file:
        arrays = {}
        for key, item in file.items():
            if isinstance(item, h5py.Dataset):
                arrays[key] = item.asstr()[()] if h5py.check_string_dtype(item.dtype) else item[()]
    return from_arrays(arrays, choice, str(path))


def write_hdf5(data: Trajectories, path: Path) -> None:
    import h5py

    with h5py.File(path, "w") as file:
        for key, array in to_arrays(data).items():
            text = array.dtype.kind == "U"
            file.create_dataset(
                key, data=array.astype(object) if text else array, dtype=h5py.string_dtype() if text else None
            )
