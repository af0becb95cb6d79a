"""xarray datasets, and netcdf and zarr through them: dimensions trajectory, time and state."""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nke.data import Trajectories
from nke.errors import InputError
from nke.files.columns import TIME, TRAJECTORY, Choice

if TYPE_CHECKING:
    import xarray as xr

DIMENSIONS = ("trajectory", "time", "state")


def to_xarray(data: Trajectories) -> "xr.Dataset":
    """``states`` (trajectory, time, state); times as the coordinate ``time`` where all trajectories share them.

    Otherwise as ``times`` (trajectory, time); shorter trajectories are filled up with NaN and ``length`` is kept.
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
    unit = {"unit_of_time": data.unit_of_time}
    if not np.isnan(times).any() and (times == times[0]).all():
        coordinates["time"] = ("time", times[0], unit)
    else:
        coordinates |= {"times": (DIMENSIONS[:2], times, unit), "length": ("trajectory", lengths)}
    return xr.Dataset({"states": (DIMENSIONS, states)}, coordinates)


def from_xarray(source: "xr.Dataset | xr.DataArray", choice: Choice, where: str = "the dataset") -> Trajectories:
    """A variable of dimensions (trajectory, time, state), or one variable of (trajectory, time) per coordinate."""
    import xarray as xr

    if isinstance(source, xr.DataArray):
        source = source.to_dataset(name=source.name or "states")
    trajectory, time = _dimension(source, choice.trajectory, TRAJECTORY), _dimension(source, choice.time, TIME)
    if time is None:
        raise InputError(
            f"{where}: expected a dimension 'time', but the dimensions are {', '.join(map(str, source.sizes))}; "
            "name it with time= (--time)"
        )
    array, names, units = _states(source, choice, trajectory, time, where)
    axes = [time, array.dims[-1]] if trajectory is None else [trajectory, time, array.dims[-1]]
    states = array.transpose(*axes).to_numpy()
    times, unit = _times(source, choice, trajectory, time, where)
    if "length" in source and trajectory is not None:
        kept = [slice(int(n)) for n in source["length"].to_numpy()]
        states = [states[m, rows] for m, rows in enumerate(kept)]
        times = [times[m, rows] for m, rows in enumerate(kept)] if np.ndim(times) == 2 else times
    return Trajectories(states, times, names, units, unit)


def _dimension(source: "xr.Dataset", told: str | None, usual: str) -> str | None:
    plain = {str(name).lower(): str(name) for name in source.sizes}
    return plain.get(told.lower()) if told else next((plain[name] for name in usual.split() if name in plain), None)


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


def _times(source: "xr.Dataset", choice: Choice, trajectory: str | None, time: str, where: str) -> tuple[Any, str]:
    if choice.step is not None:
        return choice.step, ""
    name = "times" if "times" in source else time
    if name not in source.coords and name not in source:
        raise InputError(f"{where}: expected times along {time!r}; give the time between rows with step= (--step)")
    times = source[name]
    unit = str(times.attrs.get("unit_of_time", times.attrs.get("units", "")))
    values = times.transpose(..., time).to_numpy()
    if values.dtype.kind == "M":
        return (values - values.min()) / np.timedelta64(1, "s"), "s"
    if values.dtype.kind == "m":
        return values / np.timedelta64(1, "s"), "s"
    return values, unit


def read_netcdf(path: Path, choice: Choice) -> Trajectories:
    import xarray as xr

    with xr.open_dataset(path) as source:
        return from_xarray(source.load(), choice, str(path))


def write_netcdf(data: Trajectories, path: Path) -> None:
    to_xarray(data).to_netcdf(path, engine="h5netcdf")


def read_zarr(path: Path, choice: Choice) -> Trajectories:
    import xarray as xr

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on consolidated metadata and the type of text
        with xr.open_zarr(path, chunks=None) as source:
            return from_xarray(source.load(), choice, str(path))


def write_zarr(data: Trajectories, path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        to_xarray(data).to_zarr(path, mode="w", consolidated=False)
