"""Models as files: safetensors with a JSON header. Nothing in a file is executed.

The header names the format and its version, the version of nke, and the configuration from which the networks are
rebuilt before their arrays are filled in. A digest guards every byte (``files/sealed.py``), and the configuration is
compared with the arrays before anything is built (``model/schema.py``).
"""

import hashlib
import json
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from nke.data import Coordinates, transforms
from nke.errors import DamagedFileError, InputError
from nke.files.atomic import write_atomically
from nke.files.regular import read_bytes
from nke.files.sealed import Sealed, pack
from nke.model import format4, schema
from nke.model.region import DataRegion
from nke.model.uncertainty import Uncertainty
from nke.operators import Generator
from nke.operators.splitting import SPLITTINGS
from nke.operators.transition_rule import RULES

if TYPE_CHECKING:
    from nke.model.model import Borders, Model

FORMAT = "nke-model"
FORMAT_VERSION = 8  # 8: bases may have curves; 7: the digest covers all of the file; 6: columns may be transformed
OLDER = ("4", "5", "6", "7")
DIGEST_OF_ARRAYS = ("4", "5", "6")  # before the digest covered all of the file
VERSION = version("nke")


def write(model: "Model", path: str | Path, history: str | None = None) -> None:
    """Writes a model to a file, atomically: it appears whole, under its name, or not at all.

    ``history`` tells how the model came about and is kept as it is. What could not be read back is not written.
    """
    tensors, config = _tensors(model), _configuration(model)
    try:
        schema.check(json.loads(json.dumps(config)), tensors)
    except InputError as error:
        raise InputError(f"this model cannot be saved in {path}, since it could not be read back: {error}") from error
    header = {
        "format": FORMAT,
        "format_version": str(FORMAT_VERSION),
        "nke_version": VERSION,
        "config": json.dumps(config, sort_keys=True),
    }
    if history is not None:
        header["history"] = history
    write_atomically(Path(path), pack(header, tensors))


def load(path: str | Path) -> "Model":
    """Reads a model from a file.

    Args:
        path: A file written by ``Model.save`` or ``FitResult.save``, of format 4 or later.

    Returns:
        The model; it computes the same bytes as the one that was saved.

    Raises:
        DamagedFileError: If the file is cut short, or its content was changed.
        InputError: If it is no model of nke, or of a format that this version does not read, or its configuration and
            its arrays do not go together.
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
    file = Sealed(read_bytes(path), path, "a model of nke")
    header = file.texts
    if header.get("format") != FORMAT:
        raise InputError(f"{path} is a safetensors file but not a model of nke (no 'format: {FORMAT}' in its header)")
    if header.get("format_version") not in (*OLDER, str(FORMAT_VERSION)):
        raise InputError(
            f"{path} has model format {header.get('format_version')}, written by nke {header.get('nke_version')}; "
            f"this is nke {VERSION}, which reads formats {', '.join(OLDER)} and {FORMAT_VERSION}: install the other "
            "version of nke"
        )
    tensors = _intact(file, path)
    try:
        config = _today(_json(header.get("config", "")), header["format_version"])
        tensors = format4.translate_names(tensors) if header["format_version"] == "4" else tensors
        schema.check(config, tensors)
    except InputError as error:
        raise type(error)(f"{path} cannot be read: {error}") from error
    return _build(config, tensors), header.get("history")


def _intact(file: Sealed, path: Path) -> dict[str, np.ndarray]:
    """The arrays of a file that is as it was written."""
    if file.texts["format_version"] not in DIGEST_OF_ARRAYS:
        file.require_digest()
        return file.arrays()
    tensors, header = file.arrays(), dict(file.texts)
    if header.pop("digest", None) != digest_before_7(header, tensors):
        raise DamagedFileError(f"{path} is damaged: its content does not match its digest; get a fresh copy")
    return tensors


def digest_before_7(header: dict[str, str], tensors: dict[str, np.ndarray]) -> str:
    """The hash of files of formats 4 to 6, which takes numbers for arrays of one number."""
    hasher = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name in sorted(tensors):
        array = np.ascontiguousarray(tensors[name])
        hasher.update(f"{name}:{array.dtype.str}:{array.shape}".encode())
        hasher.update(array.tobytes())
    return hasher.hexdigest()


def _json(text: str) -> Any:
    """JSON values, without those that JSON does not know."""

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is no number")

    try:
        return json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise DamagedFileError(f"its configuration is no JSON ({str(error)[:80]})") from error


def _today(config: Any, format_version: str) -> Any:
    """The configuration of a file of any format in today's words."""
    try:
        if format_version == "4":
            config = format4.translate(config)
        if format_version in ("4", "5"):
            config = {**config, "transforms": [{"kind": "plain"}] * len(config["names"])}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DamagedFileError(f"its configuration is not one of format {format_version} ({error!r})") from error
    return config


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
    """The model of a configuration and its arrays, which have been checked."""
    from nke.model.model import Model

    columns = [transforms.from_configuration(each) for each in config["transforms"]]
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
        Uncertainty.from_tensors(tensors),
        DataRegion.from_tensors(tensors),
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
    for known in (model.uncertainty, model.region):
        tensors |= {} if known is None else known.tensors()
    return tensors | {
        "coordinates.shift": model.coordinates.shift,
        "coordinates.scale": model.coordinates.scale,
    }


def _fill(skeleton: Generator, tensors: dict[str, np.ndarray]) -> Generator:
    """The generator with the arrays of a file in their places."""
    leaves, structure = jax.tree_util.tree_flatten_with_path(skeleton)
    filled = [jnp.asarray(tensors[_name(path)]) if isinstance(leaf, jax.Array) else leaf for path, leaf in leaves]
    return jax.tree_util.tree_unflatten(structure, filled)


def _name(path: Any) -> str:
    """The place of an array in words, such as ``advection.drift.body.skip.weight``."""
    return jax.tree_util.keystr(path).lstrip(".")
