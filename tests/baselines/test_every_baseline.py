"""What all baselines have in common: the call, the result, the saved file, and that they have no jumps."""

import subprocess
import sys
import warnings
from dataclasses import replace

import equinox as eqx
import numpy as np
import pytest

import nke
from fitted_baselines import SIZES
from known_paths import STEP, falling, turning
from nke.baselines import SDEGAN, EulerMaruyama, TrajectoryFlowMatching
from nke.operators import Euler, EulerMaruyamaRule


@pytest.mark.parametrize("name", ["euler_maruyama", "flow_matching", "sde_gan"])
def test_saved_bit_for_bit(fitted, name, tmp_path):
    model = fitted(name).model
    model.save(tmp_path / "model.nke")
    loaded = nke.load(tmp_path / "model.nke")
    x = np.linspace(-1, 1, 5 * model.dimension).reshape(5, -1)
    assert eqx.tree_equal(loaded.generator, model.generator)
    assert (loaded.rule, loaded.splitting) == (model.rule, model.splitting) == (EulerMaruyamaRule(), Euler())
    ours, theirs = (m.sample(x, STEP * np.arange(4), seed=3) for m in (model, loaded))
    assert np.isfinite(ours).all()
    assert ours.tobytes() == theirs.tobytes()


@pytest.mark.parametrize("name", ["euler_maruyama", "flow_matching", "sde_gan"])
def test_no_jumps(fitted, name):
    result = fitted(name)
    assert not result.model.has_jumps
    assert "no jump part" in result.decision("jumps").rule
    assert "no jumps" in result.summary()
    assert result.timings["total"] > 0


@pytest.mark.parametrize("method", [EulerMaruyama(), TrajectoryFlowMatching(), SDEGAN()])
def test_jumps(method):
    with pytest.raises(ValueError, match=r"expected jumps=False or None.*got jumps=True.*nke\.Likelihood"):
        nke.fit(falling(4), method, jumps=True, diagnosis=False)


def test_jumps_are_not_looked_for():
    """A jump of five standard deviations in every path passes without a warning; as long as in the fixture."""
    data, short = turning(), replace(EulerMaruyama(**SIZES), schedule=replace(SIZES["schedule"], steps=200))
    states = np.array(data.states)
    states[:, 40:] += 5 / np.sqrt(2)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", ".*jumps")
        result = nke.fit(nke.Trajectories(states, STEP), short, jumps=False, progress=False, diagnosis=False)
    assert "no jump part" in result.decision("jumps").rule


@pytest.mark.parametrize(
    ("baseline", "options", "reason"),
    [
        (EulerMaruyama, {"width": 0}, "width"),
        (TrajectoryFlowMatching, {"noise": -0.1}, "noise ≥ 0"),
        (TrajectoryFlowMatching, {"held_out": 1.0}, "held_out"),
        (SDEGAN, {"batch": 0}, "expected batch ≥ 1"),
        (SDEGAN, {"seconds": 0}, "expected seconds"),
        (SDEGAN, {"bound": 0}, "bound > 0"),
        (SDEGAN, {"held_out": 0}, "held_out"),
    ],
)
def test_options(baseline, options, reason):
    with pytest.raises(ValueError, match=reason):
        baseline(**options)


def test_imported_only_when_used():
    program = (
        "import sys, nke; assert 'jax' not in sys.modules; nke.baselines.SDEGAN(); assert 'diffrax' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
