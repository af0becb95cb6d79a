"""xarray datasets, and netcdf and zarr through them: dimensions trajectory, time and state."""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nke.data import Trajectories
from nke.errors import InputError
from nke.files.arrays import require_own_data
from nke.files.checks import as_lengths, as_trajectories, opened_by_library
from nke.files.clock import array_times
from nke.files.columns import TIME_NAMES, TRAJECTORY_NAMES, Choice
from nke.files.probe import require_readable
from nke.files.sizes import require_plausible
from nke.files.table import Clock

if TYPE_CHECKING:
    import xarray as xr


def to_xarray(data: Trajectories) -> "xr.Dataset":
    """Converts trajectories to an xarray dataset, from which ``nke.read`` gives them back.

    Args:
        data: The trajectories.

    Returns:
        A dataset with ``states`` of dimensions (trajectory, time, state). Times are the coordinate ``time`` where all
        trajectories share them, otherwise ``times`` (trajectory, time); shorter trajectories are then filled up with
        NaN, and ``length`` keeps their numbers of rows.

    Example:
        >>> nke.files.to_xarray(nke.Trajectories([[1.0], [1.5], [1.2]], 0.5)).sizes
        Frozen({'trajectory': 1, 'time': 3, 'state': 1})
    """
    import xarray as xr

    lengths = np.array([len(times) for times in data.times])
    states = np.full((len(data), lengths.max(), data.dimension), np.nan)
    times = np.full(states.shape[:2], np.nan)
    for m, length in enumerate(lengths):
        states[m, :length], times[m, :length] = data.states[m], data.times[m]
    coordinates: dict[str, Any] = {
        "state": np.array(data.names, dtype=object),
        "unit": ("state", np.array(data.units, dtype=object)),
    }
    unit, shared = {"unit_of_time": data.unit_of_time}, not np.isnan(times).any() and (times == times[0]).all()
    times = times if data.calendar is None else data.calendar.dates(times)
    if shared:
        coordinates["time"] = ("time", times[0], unit)
    else:
        coordinates |= {"times": (("trajectory", "time"), times, unit), "length": ("trajectory", lengths)}
    return xr.Dataset({"states": (("trajectory", "time", "state"), states)}, coordinates)


def from_xarray(source: "xr.Dataset | xr.DataArray", choice: Choice, where: str = "the dataset") -> Trajectories:
    """Takes a variable of dimensions (trajectory, time, state), or one of (trajectory, time) for each coordinate."""
    import xarray as xr

    if isinstance(source, xr.DataArray):
        source = source.to_dataset(name=source.name or "states")
    trajectory = _dimension(source, choice.trajectory, TRAJECTORY_NAMES)
    time = _dimension(source, choice.time, TIME_NAMES)
    if time is None:
        raise InputError(
            f"{where}: expected a dimension 'time', but the dimensions are {', '.join(map(str, source.sizes))}; "
            "name it with time= (--time)"
        )
    array, names, units = _states(source, choice, trajectory, time, where)
    axes = [time, array.dims[-1]] if trajectory is None else [trajectory, time, array.dims[-1]]
    states = array.transpose(*axes).to_numpy()
    times, clock = _times(source, choice, trajectory, time, where)
    if "length" in source and trajectory is not None:
        kept = as_lengths(where, source["length"], source.sizes[time])
        if len(kept) != len(states):
            raise InputError(f"{where}: expected a length for each of {len(states)} trajectories, but got {len(kept)}")
        states = [part[:rows] for part, rows in zip(states, kept, strict=True)]
        times = [part[:rows] for part, rows in zip(times, kept, strict=True)] if np.ndim(times) == 2 else times
    data = as_trajectories(where, states, times, names, units, clock.unit, clock.calendar)
    data.notes = clock.notes + data.notes
    return data


def _dimension(source: "xr.Dataset", told: str | None, usual: list[str]) -> str | None:
    plain = {str(name).lower(): str(name) for name in source.sizes}
    return plain.get(told.lower()) if told else next((plain[name] for name in usual if name in plain), None)


def _states(
    source: "xr.Dataset", choice: Choice, trajectory: str | None, time: str, where: str
) -> tuple[Any, Any, Any]:
    chosen = [str(v) for v in source.data_vars if time in source[v].dims and v != "times"]
    if choice.states is not None:
        missing = [name for name in choice.states if name not in source]
        if missing:
            raise InputError(f"{where}: expected a variable {missing[0]!r} among {', '.join(map(str, source))}")
        chosen = list(choice.states)
    if not chosen:
        raise InputError(f"{where}: expected a variable along {time!r}; there is none; name it with states= (--states)")
    first = source[chosen[0]]
    if time not in first.dims:
        raise InputError(
            f"{where}: expected {chosen[0]!r} along {time!r}, but it has ({', '.join(map(str, first.dims))}); "
            "choose another variable with states= (--states)"
        )
    [*rest] = [dim for dim in first.dims if dim not in (trajectory, time)]
    if len(chosen) == 1 and len(rest) == 1:
        names = [str(name) for name in first[rest[0]].to_numpy()] if rest[0] in first.coords else None
        units = [str(unit) for unit in first["unit"].to_numpy()] if "unit" in first.coords else None
        return first.transpose(..., rest[0]), names, units
    if any(set(source[name].dims) - {trajectory, time} for name in chosen):
        raise InputError(
            f"{where}: expected one variable with dimensions (trajectory, time, state), or several with (trajectory, "
            f"time), but {chosen[0]!r} has ({', '.join(map(str, first.dims))}); choose with states= (--states)"
        )
    joined = source[chosen].to_dataarray("state").transpose(..., "state")
    return joined, chosen, [str(source[name].attrs.get("units", "")) for name in chosen]


def _times(source: "xr.Dataset", choice: Choice, trajectory: str | None, time: str, where: str) -> tuple[Any, Clock]:
    if choice.step is not None:
        return choice.step, Clock(choice.time_unit or "")
    name = "times" if "times" in source else time
    if name not in source.coords and name not in source:
        raise InputError(f"{where}: expected times along {time!r}; give the time between rows with step= (--step)")
    times = source[name]
    if time not in times.dims:
        raise InputError(
            f"{where}: expected {name!r} along {time!r}, but it has ({', '.join(map(str, times.dims))}); "
            "give the time between rows with step= (--step)"
        )
    unit = str(times.attrs.get("unit_of_time", times.attrs.get("units", "")))
    return array_times(times.transpose(..., time).to_numpy(), name, choice, where, unit)


def read_netcdf(path: Path, choice: Choice) -> Trajectories:
    """Reads a netCDF file."""
    import xarray as xr

    with path.open("rb") as file:
        if file.read(4) == b"\x89HDF":
            _require_own_data(path)
    with opened_by_library(path, "netcdf"), xr.open_dataset(path) as source:
        loaded = _needed(path, source, choice).load()
    return from_xarray(loaded, choice, str(path))


def _require_own_data(path: Path) -> None:
    """Refuses a netCDF file whose arrays lie in other files."""
    import h5py

    require_readable(path)
    with opened_by_library(path, "netcdf"):
        file = h5py.File(path)
    with file:
        with opened_by_library(path, "netcdf"):
            names = list(file)
        for name in names:
            require_own_data(path, file, name)


def _needed(path: Path, source: "xr.Dataset", choice: Choice) -> "xr.Dataset":
    """The variables that trajectories are made of, none larger than the file can hold."""
    time = _dimension(source, choice.time, TIME_NAMES)
    states = [str(name) for name in choice.states or ()]
    unused = [
        name
        for name, array in source.data_vars.items()
        if name not in ("times", "length") and (time not in array.dims or (states and name not in states))
    ]
    kept = source.drop_vars(unused)
    for name, array in kept.variables.items():
        require_plausible(path, array.nbytes, f"the variable {name!r}")
    return kept


def write_netcdf(data: Trajectories, path: Path) -> None:
    """Writes a netCDF file."""
    to_xarray(data).to_netcdf(path, engine="h5netcdf")


def read_zarr(path: Path, choice: Choice) -> Trajectories:
    """Reads a zarr store."""
    import xarray as xr

    _require_no_pickles(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on consolidated metadata and the type of text
        with opened_by_library(path, "zarr"), xr.open_zarr(path, chunks=None) as source:
            loaded = _needed(path, source, choice).load()
    return from_xarray(loaded, choice, str(path))


def _require_no_pickles(path: Path) -> None:
    """Refuses a store whose arrays are pickled: reading these would run what is in them."""
    for name in ("zarr.json", ".zarray", ".zmetadata"):
        for part in path.rglob(name):
            if b"pickle" in part.read_bytes():
                raise InputError(f"{path}: expected arrays of numbers, but {part} tells of pickles, which are not read")


def write_zarr(data: Trajectories, path: Path) -> None:
    """Writes a zarr store."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        to_xarray(data).to_zarr(path, mode="w", consolidated=False)
