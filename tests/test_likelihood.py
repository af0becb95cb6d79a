"""The Kolmogorov likelihood: a normalised density, unbiased where the paper's losses are not, resumable."""

import signal
import subprocess
import sys
import textwrap
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from nke.fitting.loop import CHUNK, Schedule
from nke.fitting.words import jumps_in_words
from safetensors.numpy import load_file

import nke
from nke.bench.true_score import simulated_log_prob
from nke.data import Coordinates
from nke.fitting.likelihood import Likelihood
from nke.operators import (
    Generator,
    JumpNetwork,
    PoissonJump,
)
from nke.systems import BimodalJumps, DoubleWell, OrnsteinUhlenbeck
from random_generators import total_mass, wild_generator

QUICK = Likelihood(networks=True, noise="plain", width=32, schedule=Schedule(steps=2 * CHUNK, particles=256))


def test_jumps_as_small_as_the_noise_are_reported():
    data = OrnsteinUhlenbeck().simulate(8, seed=3, times=np.arange(41) * 0.05)
    calm = wild_generator(1, 0, jumps=False)
    jump = PoissonJump(JumpNetwork(jnp.full(1, 1e-3), jnp.eye(1), 1.0, 1, 8, 1, key=jax.random.key(0)))
    generator = Generator(calm.advection, calm.diffusion, jump)
    model = nke.Model(generator, Coordinates.zscore(data), 0.05, data.names, data.units)
    with pytest.warns(UserWarning, match="cannot be told from diffusion"):
        assert jumps_in_words(model, data.transitions())["jump size"].startswith("1 times the noise of a step")


@pytest.mark.parametrize("step", [0.02, 0.2])
def test_the_slope_of_ornstein_uhlenbeck_is_not_attenuated(step):
    """512 × 100 stationary transitions: the least-squares slope has standard error √(2/(n s)) ≈ 0.04 / 0.014.

    The network is compared with the exact maximum-likelihood slope of the same data, so only its own error
    counts; 4 standard errors of the estimate bound the rest.
    """
    system = OrnsteinUhlenbeck()
    data = system.simulate(512, seed=1, times=np.arange(101) * step)
    model = nke.fit(
        data, Likelihood(networks=True, noise="plain", width=32, schedule=Schedule(steps=400)), jumps=False, seed=0
    ).model
    x = np.linspace(-1, 1, 41)[:, None]
    slope = np.polyfit(x[:, 0], model.drift(x)[:, 0], 1)[0]
    error = np.sqrt(2 / (512 * 100 * step))
    assert slope == pytest.approx(-1, abs=4 * error + 0.02)


@pytest.mark.parametrize(("d", "trajectories"), [(1, 64), (2, 6)])
def test_fitted_densities_integrate_to_one_and_do_not_beat_the_truth(d, trajectories):
    """On and off the data, at the step of the data and ten times coarser."""
    system = DoubleWell(dimension=d, rate=1.0)
    data = system.simulate(trajectories, seed=4, times=np.arange(41) * 0.05)
    model = nke.fit(data, QUICK, jumps=True, seed=0).model
    for x in (0.0, 1.0, 4.0):
        for step in (0.05, 0.5):
            assert total_mass(model.transition(np.full(d, x), step)) == pytest.approx(1, abs=0.01)
    seen = system.simulate(64, seed=5, times=np.arange(21) * 0.05).transitions()
    gain = model.log_prob(seen.y, seen.x, seen.step) - system.log_prob(seen.y, seen.x, seen.step)
    assert gain.mean() < 2 * gain.std() / np.sqrt(len(gain))


def test_simulated_true_score_agrees_with_the_exact_one():
    """Importance sampling over three sub-steps: 4 standard errors of 300 paired differences, and its bias."""
    system = DoubleWell(dimension=2)
    seen = system.simulate(60, seed=6, times=np.arange(6) * 0.05).transitions()
    gap = simulated_log_prob(system, seen, substeps=3, samples=512) - system.log_prob(seen.y, seen.x, seen.step)
    assert abs(gap.mean()) < 4 * gap.std() / np.sqrt(len(gap)) + 0.01


@pytest.fixture(scope="module")
def well() -> nke.Trajectories:
    return DoubleWell(dimension=1).simulate(96, seed=2, times=np.arange(31) * 0.05)


def test_score_is_the_training_loss_in_physical_units(well):
    """One discrete model: the held-out loss is minus the score, up to the change of units."""
    result = nke.fit(well, QUICK, jumps=True, seed=0)
    held = well.split(QUICK.held_out, 0)[1]
    curve = result.history["likelihood"]
    loss = curve.held_out[curve.best]
    volume = np.log(result.model.coordinates.scale).sum()
    assert result.model.score(held) == pytest.approx(-loss - volume, abs=1e-4)
    assert "jump rate" in result.summary()


def test_irregular_steps_with_jumps(well):
    """Rows dropped at random: the fit takes each transition's own step."""
    rng = np.random.default_rng(0)
    states = np.array(well.states)
    states[:, 1:][rng.random(states[:, 1:].shape[:2]) < 0.4] = np.nan
    model = nke.fit(nke.Trajectories(states, np.asarray(well.times)), QUICK, seed=0).model
    assert model.has_jumps  # found from the data
    assert np.isfinite(model.score(well))


def test_two_components_and_storage(tmp_path):
    data = BimodalJumps().simulate(128, seed=0, times=np.arange(41) * 0.05)
    method = Likelihood(
        networks=True, noise="constant", components=2, width=32, schedule=Schedule(steps=CHUNK, particles=256)
    )
    model = nke.fit(data, method, jumps=True, seed=0).model
    model.save(tmp_path / "bimodal.nke")
    again = nke.load(tmp_path / "bimodal.nke")
    x = np.asarray(data.states)[:, 3]
    assert model.jump_law(x).components == 2
    for name in ("drift", "diffusion", "jump_rate"):
        np.testing.assert_array_equal(getattr(again, name)(x), getattr(model, name)(x))


@pytest.mark.parametrize(
    "case", ["near constant", "pure drift", "pure jumps", "single short path", "step far too coarse"]
)
def test_hard_data_gives_a_finite_model_or_a_clear_refusal(case):
    rng = np.random.default_rng(0)
    states, step = {
        "near constant": (1.0 + 1e-9 * rng.normal(size=(40, 30, 1)).cumsum(axis=1), 0.1),
        "pure drift": (np.exp(-np.linspace(0, 2, 30))[None, :, None] * rng.normal(size=(40, 1, 1)), 0.1),
        "pure jumps": ((rng.random((40, 30, 1)) < 0.1).cumsum(axis=1).astype(float), 0.1),
        "single short path": (rng.normal(size=(8, 1)).cumsum(axis=0), 0.1),
        "step far too coarse": (rng.normal(size=(40, 30, 1)), 50.0),
    }[case]
    if case == "single short path":
        with pytest.raises(ValueError, match=r"expected|too short|fewer"):
            nke.fit(nke.Trajectories(states, step), QUICK, seed=0)
        return
    model = nke.fit(nke.Trajectories(states, step), QUICK, seed=0).model
    x = np.asarray(states).reshape(-1, 1)[:50]
    for value in (model.drift(x), model.diffusion(x), model.jump_rate(x)):
        assert np.isfinite(value).all()


FIT = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background inherits that it is ignored
import numpy as np, nke
from nke.fitting.loop import Schedule
data = nke.systems.OrnsteinUhlenbeck().simulate(64, seed=2, times=np.arange(21) * 0.05)
schedule = Schedule(steps=2000, particles=128, patience=100)
method = nke.Likelihood(networks=True, noise="plain", width=8, schedule=schedule)
nke.fit(data, method, jumps=False, seed=0, checkpoint={folder!r}).model.save({output!r})
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_interrupted_and_resumed_gives_the_same_model_bit_for_bit(tmp_path, how, uninterrupted):
    folder, output = tmp_path / "run", tmp_path / "model.nke"
    code = textwrap.dedent(FIT.format(folder=str(folder), output=str(output)))
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while not (folder / "likelihood.checkpoint").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(how)
    process.wait(60)
    assert not output.exists(), "the fit ended before it could be interrupted"
    assert sorted(p.name for p in folder.iterdir() if not p.name.startswith(".")) == ["likelihood.checkpoint"]
    subprocess.run([sys.executable, "-c", code], check=True)
    assert contents(output) == uninterrupted


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("whole")
    code = FIT.format(folder=str(folder / "run"), output=str(folder / "model.nke"))
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True)
    return contents(folder / "model.nke")


def contents(path) -> dict[str, bytes]:
    """Every array of a model file; the order of the header's entries is free."""
    return {name: array.tobytes() for name, array in load_file(path).items()}


def test_a_checkpoint_of_another_fit_is_refused(tmp_path, well):
    method = Likelihood(networks=True, noise="plain", schedule=Schedule(steps=20, particles=64))
    nke.fit(well, method, jumps=False, seed=0, checkpoint=tmp_path / "run")
    with pytest.raises(ValueError, match="another fit"):
        nke.fit(well, method, jumps=False, seed=1, checkpoint=tmp_path / "run")
