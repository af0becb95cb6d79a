"""Models as files: safetensors with a JSON header. Nothing in a file is executed.

The header names the format and its version, the version of nke, and the configuration from which the
networks are rebuilt before their arrays are filled in. A digest over all of it guards every byte.
"""

import hashlib
import json
import struct
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as parse_tensors
from safetensors.numpy import save as pack_tensors

from nke.data import Coordinates, transforms
from nke.errors import DamagedFileError, InputError
from nke.files.atomic import write_atomically
from nke.model import format4
from nke.operators import Generator
from nke.operators.splitting import SPLITTINGS
from nke.operators.transition_rule import RULES

if TYPE_CHECKING:
    from nke.model.model import Borders, Model

FORMAT = "nke-model"
FORMAT_VERSION = 6  # 6: columns may be transformed; format 5 is the same without
VERSION = version("nke")


def write(model: "Model", path: str | Path, history: str | None = None) -> None:
    """Writes a model to a file, atomically: it appears whole, under its name, or not at all.

    ``history`` tells how the model came about and is kept as it is.
    """
    tensors = _tensors(model)
    header = {
        "format": FORMAT,
        "format_version": str(FORMAT_VERSION),
        "nke_version": VERSION,
        "config": json.dumps(_configuration(model), sort_keys=True),
    }
    if history is not None:
        header["history"] = history
    header["digest"] = digest(header, tensors)
    write_atomically(Path(path), pack_tensors(tensors, metadata=header))


def load(path: str | Path) -> "Model":
    """Reads a model from a file.

    Args:
        path: A file written by ``Model.save`` or ``FitResult.save``, of format 4, 5 or 6.

    Returns:
        The model; it computes the same bytes as the one that was saved.

    Raises:
        DamagedFileError: If the file is cut short, or its content was changed.
        InputError: If it is no model of nke, or of a format that this version does not read.
        OSError: If it cannot be read.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(f"{folder}/model.nke")
        ...     nke.load(f"{folder}/model.nke").names
        ('x',)
    """
    return load_with_history(path)[0]


def load_with_history(path: str | Path) -> tuple["Model", str | None]:
    """The model in a file, and how it came about where the file tells it."""
    path = Path(path)
    header, tensors = _parse(path.read_bytes(), path)
    if header.get("format") != FORMAT:
        raise InputError(f"{path} is a safetensors file but not a model of nke (no 'format: {FORMAT}' in its header)")
    if header.get("format_version") not in ("4", "5", str(FORMAT_VERSION)):
        raise InputError(
            f"{path} has model format {header.get('format_version')}, written by nke {header.get('nke_version')}; "
            f"this is nke {VERSION}, which reads formats 4, 5 and {FORMAT_VERSION}: install the other version of nke"
        )
    if header.pop("digest", None) != digest(header, tensors):
        raise DamagedFileError(f"{path} is damaged: its content does not match its digest; get a fresh copy")
    try:
        config = json.loads(header["config"])
        if header["format_version"] == "4":
            config, tensors = format4.translate(config), format4.translate_names(tensors)
        return _build(config, tensors), header.get("history")
    except InputError as error:
        raise type(error)(f"{path} cannot be read: {error}") from error
    except (KeyError, TypeError, ValueError) as error:
        raise DamagedFileError(f"{path} is damaged: its header is not valid ({error!r}); get a fresh copy") from error


def _parse(payload: bytes, path: Path) -> tuple[dict[str, str], dict[str, np.ndarray]]:
    """The header of a file and its arrays."""
    try:
        tensors = parse_tensors(payload)
        length = struct.unpack("<Q", payload[:8])[0]
        header = json.loads(payload[8 : 8 + length]).get("__metadata__") or {}
    except (SafetensorError, struct.error, ValueError, KeyError, TypeError) as error:
        raise DamagedFileError(
            f"{path} is not a model of nke, or it is cut short or damaged ({error}); get a fresh copy of the file"
        ) from error
    return header, tensors


def digest(header: dict[str, str], tensors: dict[str, np.ndarray]) -> str:
    """A hash over all that a file says."""
    hasher = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name in sorted(tensors):
        array = np.ascontiguousarray(tensors[name])
        hasher.update(f"{name}:{array.dtype.str}:{array.shape}".encode())
        hasher.update(array.tobytes())
    return hasher.hexdigest()


def _configuration(model: "Model") -> dict[str, Any]:
    """All of a model but its arrays, as JSON values."""
    return {
        "names": list(model.names),
        "units": list(model.units),
        "step": model.step,
        "time_unit": model.coordinates.time_unit,
        "transforms": [transform.configuration() for transform in model.coordinates.transforms],
        "unit_of_time": model.unit_of_time,
        "borders": _finite(model.borders),
        "quantiles": model.quantiles,
        "rule": RULES.describe(model.rule),
        "splitting": SPLITTINGS.describe(model.splitting),
        "generator": model.generator.configuration(),
    }


def _build(config: dict[str, Any], tensors: dict[str, np.ndarray]) -> "Model":
    """The model of a configuration and its arrays."""
    from nke.model.model import Model

    plain = [{"kind": "plain"}] * len(config["names"])  # of files before format 6
    columns = [transforms.from_configuration(each) for each in config.get("transforms", plain)]
    return Model(
        _fill(Generator.from_configuration(config["generator"], len(config["names"])), tensors),
        Coordinates(tensors["coordinates.shift"], tensors["coordinates.scale"], config["time_unit"], columns),
        config["step"],
        tuple(config["names"]),
        tuple(config["units"]),
        RULES.build(config["rule"]),
        SPLITTINGS.build(config["splitting"]),
        config["unit_of_time"],
        _with_infinite(config.get("borders")),  # missing in files before there were borders
        _as_tuples(config.get("quantiles")),  # likewise
    )


def _finite(borders: "Borders | None") -> list[list[float | None]] | None:
    """Borders as JSON, which knows no infinity."""
    return None if borders is None else [[end if np.isfinite(end) else None for end in pair] for pair in borders]


def _with_infinite(borders: list[list[float | None]] | None) -> "Borders | None":
    if borders is None:
        return None
    return tuple((-np.inf if low is None else low, np.inf if high is None else high) for low, high in borders)


def _as_tuples(rows: list[list[float]] | None) -> "Borders | None":
    return None if rows is None else tuple(tuple(row) for row in rows)


def _tensors(model: "Model") -> dict[str, np.ndarray]:
    """The arrays of a model by the place where they are in it."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(model.generator)
    tensors = {_name(path): np.asarray(leaf) for path, leaf in leaves if isinstance(leaf, jax.Array)}
    return tensors | {
        "coordinates.shift": model.coordinates.shift,
        "coordinates.scale": model.coordinates.scale,
    }


def _fill(skeleton: Generator, tensors: dict[str, np.ndarray]) -> Generator:
    """The generator with the arrays of a file in their places."""
    leaves, structure = jax.tree_util.tree_flatten_with_path(skeleton)
    filled = [_array(tensors, _name(path), leaf) if isinstance(leaf, jax.Array) else leaf for path, leaf in leaves]
    return jax.tree_util.tree_unflatten(structure, filled)


def _array(tensors: dict[str, np.ndarray], name: str, place: jax.Array) -> jax.Array:
    """The array of a name, refused if it does not fit its place."""
    array = tensors[name]
    if array.shape != place.shape:
        raise DamagedFileError(f"expected an array of shape {place.shape} for {name}, but got {array.shape}")
    return jnp.asarray(array)


def _name(path: Any) -> str:
    """The place of an array in words, such as ``advection.drift.body.skip.weight``."""
    return jax.tree_util.keystr(path).lstrip(".")
