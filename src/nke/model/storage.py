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

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as parse_tensors
from safetensors.numpy import save as pack_tensors

from nke.data import Coordinates
from nke.errors import InputError, InputTypeError
from nke.files.atomic import write_atomically
from nke.operators import (
    Advection,
    ConstantFactor,
    DiagonalFactor,
    Diffusion,
    DriftNetwork,
    Euler,
    EulerMaruyamaRule,
    FiniteTimeJump,
    ForwardPacket,
    FullFactor,
    Generator,
    JumpNetwork,
    KinematicConstraint,
    KineticDrift,
    KineticFactor,
    KineticJump,
    LieTrotter,
    MixtureDensityNetwork,
    PoissonJump,
    RelativeFactor,
    ScalarFactor,
    Strang,
    TransitionRule,
)
from nke.operators.networks import Fixed, PolynomialPlusMLP

if TYPE_CHECKING:
    from nke.model.model import Model

FORMAT = "nke-model"
FORMAT_VERSION = 4
VERSION = version("nke")
RULES = {cls.__name__: cls for cls in (ForwardPacket, EulerMaruyamaRule)}
FACTORS = {cls.__name__: cls for cls in (FullFactor, DiagonalFactor, ScalarFactor, ConstantFactor, RelativeFactor)}
CONSTRAINT = ("positions", "velocities", "invariant")
SPLITTINGS = {cls.__name__: cls for cls in (Strang, LieTrotter, Euler)}


def write(model: "Model", path: str | Path, history: str | None = None) -> None:
    """Atomic: the file appears whole, under its name, or not at all. ``history`` tells how the model came about."""
    path = Path(path)
    tensors = _tensors(model)
    config = json.dumps(_describe(model), sort_keys=True)
    header = {
        "format": FORMAT,
        "format_version": str(FORMAT_VERSION),
        "nke_version": VERSION,
        "config": config,
    }
    if history is not None:
        header["history"] = history
    header["digest"] = _digest(header, tensors)
    write_atomically(path, pack_tensors(tensors, metadata=header))


def load(path: str | Path) -> "Model":
    """Reads a model written by ``Model.save`` or ``FitResult.save``; refuses anything else with a reason."""
    return load_with_history(path)[0]


def load_with_history(path: str | Path) -> tuple["Model", str | None]:
    """The model, and how it came about where the file tells it."""
    from nke.model.model import Model

    path = Path(path)
    payload = path.read_bytes()
    header, tensors = _parse(payload, path)
    if header.get("format") != FORMAT:
        raise InputError(f"{path} is a safetensors file but not a model of nke (no 'format: {FORMAT}' in its header)")
    if header.get("format_version") != str(FORMAT_VERSION):
        raise InputError(
            f"{path} has model format {header.get('format_version')}, written by nke {header.get('nke_version')}; "
            f"this is nke {VERSION}, which reads format {FORMAT_VERSION}: install the other version of nke"
        )
    if header.pop("digest", None) != _digest(header, tensors):
        raise InputError(f"{path} is damaged: its content does not match its digest; get a fresh copy")
    config = json.loads(header["config"])
    generator = _fill(_skeleton(config), tensors)
    coordinates = Coordinates(tensors["coordinates.shift"], tensors["coordinates.scale"], config["time_unit"])
    labels = tuple(config["names"]), tuple(config["units"])
    splitting = SPLITTINGS[config.get("splitting", Strang.__name__)]()
    rule, unit_of_time = _rule(config["rule"]), config.get("unit_of_time", "")
    model = Model(generator, coordinates, config["step"], *labels, rule, splitting, unit_of_time)
    return model, header.get("history")


def _parse(payload: bytes, path: Path) -> tuple[dict[str, str], dict[str, np.ndarray]]:
    try:
        tensors = parse_tensors(payload)
        length = struct.unpack("<Q", payload[:8])[0]
        header = json.loads(payload[8 : 8 + length]).get("__metadata__") or {}
    except (SafetensorError, struct.error, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path} is not a model of nke, or it is cut short or damaged ({error}); get a fresh copy of the file"
        ) from error
    return header, tensors


def _digest(header: dict[str, str], tensors: dict[str, np.ndarray]) -> str:
    hasher = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name in sorted(tensors):
        array = np.ascontiguousarray(tensors[name])
        hasher.update(f"{name}:{array.dtype.str}:{array.shape}".encode())
        hasher.update(array.tobytes())
    return hasher.hexdigest()


def _describe(model: "Model") -> dict[str, Any]:
    """The configuration that rebuilds the model's structure."""
    generator = model.generator
    drift, factor, jump = generator.advection.drift, generator.diffusion.factor, generator.jump
    if isinstance(drift, KineticDrift) and isinstance(factor, KineticFactor):
        drift, factor = drift.free, factor.free
    if not isinstance(drift, DriftNetwork) or type(factor).__name__ not in FACTORS:
        raise InputTypeError("only models whose coefficients are networks of nke can be saved")
    config: dict[str, Any] = {
        "names": list(model.names),
        "units": list(model.units),
        "step": model.step,
        "time_unit": model.coordinates.time_unit,
        "rule": {"kind": type(model.rule).__name__},
        "drift": _sizes(drift.body) | {"degree": drift.body.degree},
        "flow_steps": generator.advection.flow_steps,
        "diffusion": {"kind": type(factor).__name__},
        "jump": None,
    }
    if model.unit_of_time:
        config["unit_of_time"] = model.unit_of_time
    if not isinstance(model.splitting, Strang):
        config["splitting"] = type(model.splitting).__name__
    if isinstance(model.rule, ForwardPacket):
        config["rule"]["substeps"] = model.rule.substeps
        if model.rule.resolution is not None:
            config["rule"]["resolution"] = model.rule.resolution
    if generator.constraint is not None:
        config["constraint"] = {name: getattr(generator.constraint, name) for name in CONSTRAINT}
    if isinstance(factor, FullFactor | DiagonalFactor | ScalarFactor | RelativeFactor):
        config["diffusion"] |= _sizes(factor.body)
    if isinstance(jump, FiniteTimeJump):
        config["jump"] = {
            "kind": "FiniteTimeJump",
            "step": jump.step,
            "components": jump.network.components,
            **_sizes(jump.network.mlp),
        }
    elif isinstance(jump, PoissonJump) and isinstance(jump.measure, JumpNetwork | KineticJump):
        config["jump"] = {
            "kind": "PoissonJump",
            "order": jump.order,
            "components": jump.network.components,
            "state_dependent_shapes": jump.network.state_dependent_shapes,
            **_sizes(jump.network.mlp),
        }
    elif jump is not None:
        raise InputTypeError(f"a jump of type {type(jump).__name__} cannot be saved")
    return config


def _sizes(network: eqx.nn.MLP | PolynomialPlusMLP) -> dict[str, int]:
    """Depth 0 where there is a polynomial only."""
    mlp = network.mlp if isinstance(network, PolynomialPlusMLP) else network
    return {"width": 0, "depth": 0} if mlp is None else {"width": mlp.width_size, "depth": mlp.depth}


def _rule(config: dict[str, Any]) -> TransitionRule:
    options = dict(config)
    if "resolution" in options:
        options["resolution"] = tuple(options["resolution"])
    return RULES[options.pop("kind")](**options)


def _skeleton(config: dict[str, Any]) -> Generator:
    """A generator of the right structure, its arrays still to be filled."""
    d, key, constraint = len(config["names"]), jax.random.key(0), _constraint(config)
    r = d if constraint is None else len(constraint.free)
    diffusion, inputs = dict(config["diffusion"]), {} if constraint is None else {"inputs": d}
    if diffusion["kind"] == RelativeFactor.__name__:
        diffusion |= {"origin": jnp.zeros(d), "size": jnp.ones(d), "noisy": constraint and constraint.free}
    else:
        diffusion |= inputs
    factor = FACTORS[diffusion.pop("kind")](jnp.eye(r), **diffusion, key=key)
    jump = config["jump"]
    if jump is not None:
        sizes = (jump["components"], jump["width"], jump["depth"])
        if jump["kind"] == "FiniteTimeJump":
            jump = FiniteTimeJump(MixtureDensityNetwork(jnp.ones(d), 0.5, *sizes, key=key), jump["step"])
        else:
            network = JumpNetwork(
                jnp.ones(r), jnp.eye(r), 1.0, *sizes, jump["state_dependent_shapes"], **inputs, key=key
            )
            jump = PoissonJump(network if constraint is None else KineticJump(network, constraint), jump["order"])
    drift = DriftNetwork(jnp.ones(r), **config["drift"], **inputs, key=key)
    if constraint is not None:
        drift, factor = KineticDrift(drift, constraint), KineticFactor(factor, constraint)
    return Generator(Advection(drift, config["flow_steps"]), Diffusion(factor), jump, constraint)


def _constraint(config: dict[str, Any]) -> KinematicConstraint | None:
    if "constraint" not in config:
        return None
    positions, velocities, invariant = (tuple(config["constraint"][name]) for name in CONSTRAINT)
    slope, offset = (Fixed(jnp.zeros(len(positions))) for _ in range(2))
    return KinematicConstraint(positions, velocities, invariant, len(config["names"]), slope, offset)


def _tensors(model: "Model") -> dict[str, np.ndarray]:
    leaves, _ = jax.tree_util.tree_flatten_with_path(model.generator)
    tensors = {_name(path): np.asarray(leaf) for path, leaf in leaves if isinstance(leaf, jax.Array)}
    return tensors | {
        "coordinates.shift": model.coordinates.shift,
        "coordinates.scale": model.coordinates.scale,
    }


def _fill(skeleton: Generator, tensors: dict[str, np.ndarray]) -> Generator:
    leaves, structure = jax.tree_util.tree_flatten_with_path(skeleton)
    filled = [jnp.asarray(tensors[_name(path)]) if isinstance(leaf, jax.Array) else leaf for path, leaf in leaves]
    return jax.tree_util.tree_unflatten(structure, filled)


def _name(path: Any) -> str:
    return jax.tree_util.keystr(path).lstrip(".")
