"""Files of format 4, written by nke before format 5, load and compute what they computed then.

The files and the values beside them were made by nke 0.1.0 as it was before format 5: fits of ten steps to small data,
with networks of 4 units, saved by ``FitResult.save``.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from nke.errors import DamagedFileError
from nke.model import load
from nke.model.format4 import translate
from nke.model.storage import load_with_history
from nke.operators import (
    ConstantFactor,
    DiagonalFactor,
    Euler,
    EulerMaruyamaRule,
    FiniteTimeJump,
    ForwardPacket,
    FullFactor,
    PoissonJump,
    RelativeFactor,
    Strang,
)

FOLDER = Path(__file__).parent / "format4"
PARTS = {  # noise, jump, rule, splitting
    "constant_noise": (ConstantFactor, type(None), ForwardPacket(), Strang()),
    "kinetic_jumps": (FullFactor, PoissonJump, ForwardPacket(), Strang()),
    "moment_matching": (FullFactor, FiniteTimeJump, ForwardPacket(), Strang()),
    "relative_noise": (RelativeFactor, type(None), ForwardPacket(substeps=2), Strang()),
    "euler_maruyama": (DiagonalFactor, type(None), EulerMaruyamaRule(), Euler()),
}
every_file = pytest.mark.parametrize("name", PARTS)


@every_file
def test_parts(name):
    model, history = load_with_history(FOLDER / f"{name}.nke")
    noise, jump, rule, splitting = PARTS[name]
    assert isinstance(model.generator.noise_factor, noise)
    assert isinstance(model.generator.jump, jump)
    assert (model.rule, model.splitting) == (rule, splitting)
    assert json.loads(history)["history"], "passed through"


@every_file
def test_values(name, tmp_path):
    """Single precision computed by another compiler may differ in the last digits; a second saving may not."""
    model, values = load(FOLDER / f"{name}.nke"), np.load(FOLDER / f"{name}.npz")
    x, step = values["states"], float(values["step"])
    found = {
        "drift": model.drift(x),
        "diffusion": model.diffusion(x),
        "jump_rate": model.jump_rate(x),
        "log_prob": model.log_prob(values["next_states"], given=x, step=step),
    }
    if model.has_jumps:
        law = model.jump_law(x)
        found |= {"jump_means": law.means, "jump_covariances": law.covariances}
    for what, value in found.items():
        np.testing.assert_allclose(value, values[what], rtol=2e-5, atol=2e-6, err_msg=what)
    model.save(tmp_path / "again.nke")
    np.testing.assert_array_equal(load(tmp_path / "again.nke").drift(x), found["drift"])


def test_constraint_and_shapes_that_depend_on_the_state():
    model = load(FOLDER / "kinetic_jumps.nke")
    constraint = model.generator.constraint
    assert (constraint.positions, constraint.velocities, constraint.invariant) == ((0,), (1,), (0,))
    assert model.generator.jump_network.state_dependent_shapes
    assert (model.names, model.units) == (("place", "speed"), ("m", "m/s"))


def test_damage_is_found(tmp_path):
    content = bytearray((FOLDER / "constant_noise.nke").read_bytes())
    content[-1] ^= 1
    (tmp_path / "model.nke").write_bytes(bytes(content))
    with pytest.raises(DamagedFileError, match="digest"):
        load(tmp_path / "model.nke")


def test_unknown_kinds_stay_unknown():
    """The registries refuse them by name: the translation makes nothing of them."""
    config = {
        "names": ["x"],
        "units": [""],
        "step": 0.1,
        "time_unit": 1.0,
        "rule": {"kind": "Trapezoid"},
        "drift": {"width": 4, "depth": 1, "degree": 1},
        "flow_steps": 1,
        "diffusion": {"kind": "RoundFactor"},
        "jump": {"kind": "Levy"},
        "splitting": "Bisection",
    }
    translated = translate(config)
    kinds = [translated[part]["kind"] for part in ("rule", "splitting")]
    kinds += [translated["generator"][part]["kind"] for part in ("diffusion", "jump")]
    assert kinds == ["Trapezoid", "Bisection", "RoundFactor", "Levy"]
