"""Model files of format 4, as nke wrote them before format 5: their headers and names of arrays in today's words."""

from typing import Any

import numpy as np

RULES = {"ForwardPacket": "forward-packet", "EulerMaruyama": "euler-maruyama"}
SPLITTINGS = {"Strang": "strang", "LieTrotter": "lie-trotter", "Euler": "euler"}
FACTORS = {
    "FullFactor": "full",
    "DiagonalFactor": "diagonal",
    "ScalarFactor": "scalar",
    "ConstantFactor": "constant",
    "RelativeFactor": "relative",
}
NETWORK = ("components", "width", "depth")


def translate(config: dict[str, Any]) -> dict[str, Any]:
    """The configuration of format 5 that means the same; kinds that are not known stay as they are."""
    constraint = config.get("frame")
    return {
        **{name: config[name] for name in ("names", "units", "step", "time_unit")},
        "unit_of_time": config.get("unit_of_time", ""),
        "rule": _rule(config["rule"]),
        "splitting": {"kind": _word(config.get("splitting", "Strang"), SPLITTINGS)},
        "generator": {
            "drift": {"kind": "polynomial-plus-mlp", **config["drift"]},
            "flow_steps": config["flow_steps"],
            "diffusion": _factor(config["diffusion"], constraint, len(config["names"])),
            "jump": None if config["jump"] is None else _jump(config["jump"]),
            "constraint": constraint,
        },
    }


def translate_name(name: str) -> str:
    """The name of an array in format 5."""
    return ".".join("constraint" if part == "frame" else part for part in name.split("."))


def translate_names(tensors: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The arrays under their names in format 5."""
    return {translate_name(name): array for name, array in tensors.items()}


def _word(kind: str, words: dict[str, str]) -> str:
    return words.get(kind, kind)


def _rule(rule: dict[str, Any]) -> dict[str, Any]:
    kind = _word(rule["kind"], RULES)
    if kind != "forward-packet":
        return {"kind": kind}
    options = {"substeps": rule.get("substeps", 1), "resolution": rule.get("resolution")}
    return {"kind": kind, "quadrature": {"kind": "simplex"}, **options}


def _factor(factor: dict[str, Any], constraint: dict[str, Any] | None, dimension: int) -> dict[str, Any]:
    kind = _word(factor["kind"], FACTORS)
    if kind != "relative":
        return {**factor, "kind": kind}
    noisy = None if constraint is None else [i for i in range(dimension) if i not in constraint["positions"]]
    return {**factor, "kind": kind, "noisy": noisy}


def _jump(jump: dict[str, Any]) -> dict[str, Any]:
    network = {name: jump[name] for name in NETWORK if name in jump}
    if jump["kind"] == "FiniteTimeJump":
        return {"kind": "finite-time", "step": jump["step"], "law": {"kind": "mixture-density-network", **network}}
    if jump["kind"] == "PoissonJump":
        measure = {"kind": "jump-network", **network, "state_dependent_shapes": jump["moving"]}
        return {"kind": "poisson", "order": jump["order"], "measure": measure}
    return jump
