"""The paper's baselines against known truth, through the same call as every other method."""

import subprocess
import sys
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import expm

import nke
from nke.baselines import SDEGAN, EulerMaruyama, TrajectoryFlowMatching, sde_gan
from nke.baselines.adversaries import Critic
from nke.baselines.trajectory_flow_matching import Flow
from nke.baselines.windows import Windows
from nke.data import Coordinates, Trajectories
from nke.evaluation import ensemble_metrics
from nke.fitting import Schedule, likelihood
from nke.model import Model
from nke.operators import Euler, EulerMaruyamaRule, Noise

STEP = 0.05
TURN = np.array([[-1.0, 2.0], [-2.0, -1.0]])
SIZES = {"width": 16, "depth": 1, "schedule": Schedule(600, learning_rate=1e-2, particles=1024)}
GAN = {"window": 6, "batch": 32, "width": 8, "depth": 1, "hidden": 8, "generator_rate": 3e-3, "critic_rate": 1e-2}
STEPS = 3 * sde_gan.CHUNK
TIMES = np.arange(4) * STEP


def turning(trajectories=256, rows=81, seed=0):
    """Exact paths of dX = A X dt + dW, A = ((−1, 2), (−2, −1)), from the stationary law N(0, I/2)."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((trajectories, 2)) / np.sqrt(2)
    flow, noise = expm(STEP * TURN), np.sqrt(-np.expm1(-2 * STEP) / 2)
    states = [x]
    for _ in range(rows - 1):
        states.append(states[-1] @ flow.T + noise * rng.standard_normal(x.shape))
    return Trajectories(np.stack(states, axis=1), STEP, names=["east", "north"], units=["m", "m"])


def falling(trajectories=128, seed=0):
    """dX = −X dt + 0.3 dW from around 2: without a drift all paths end in the wrong place."""
    rng = np.random.default_rng(seed)
    x = 2 + 0.3 * rng.standard_normal((trajectories, 1))
    states = [x]
    for _ in range(24):
        kick = 0.3 * np.sqrt(-np.expm1(-0.2) / 2) * rng.standard_normal(x.shape)
        states.append(np.exp(-0.1) * states[-1] + kick)
    return Trajectories(np.stack(states, axis=1), 0.1)


@dataclass(frozen=True)
class Motionless(SDEGAN):
    """Starts without a drift, so that it has one to learn."""

    def generator(self, data, coordinates, seed):
        start = super().generator(data, coordinates, seed)
        return eqx.tree_at(lambda g: g.advection.drift.body.skip, start, replace_fn=halt)


def halt(skip):
    return jax.tree.map(jnp.zeros_like, skip)


@pytest.fixture(scope="module")
def results():
    """Every baseline fitted once, on data that suits it."""
    data = turning()
    return {
        "euler_maruyama": nke.fit(data, EulerMaruyama(**SIZES), seed=0),
        "flow_matching": nke.fit(data, TrajectoryFlowMatching(**SIZES), seed=0),
        "sde_gan": nke.fit(falling(), Motionless(steps=STEPS, **GAN), seed=0),
    }


class TestTruth:
    """The discrete law of one step: mean e^{As}x, covariance (1 − e^{−2s})/2·I; 256 × 80 transitions.

    A slope of the mean motion per unit time has a sampling error of √(a/(T·Var x)) = 0.044, the noise one of 0.7 %.
    """

    @pytest.mark.parametrize("name", ["euler_maruyama", "flow_matching"])
    def test_mean_of_a_step(self, results, name):
        x = np.random.default_rng(1).standard_normal((400, 2)) / np.sqrt(2)
        found = np.linalg.lstsq(x, results[name].model.drift(x), rcond=None)[0].T
        np.testing.assert_allclose(found, (expm(STEP * TURN) - np.eye(2)) / STEP, atol=0.2)

    @pytest.mark.parametrize("name", ["euler_maruyama", "flow_matching"])
    def test_noise_of_a_step(self, results, name):
        x = np.random.default_rng(2).standard_normal((400, 2)) / np.sqrt(2)
        a = results[name].model.diffusion(x)
        np.testing.assert_allclose(a.mean(axis=0), -np.expm1(-2 * STEP) / (2 * STEP) * np.eye(2), atol=0.05)
        assert np.diagonal(a, axis1=1, axis2=2).std() < 0.1

    def test_a_trained_generator_is_closer_than_an_untrained_one(self, results):
        data, test, model = falling(), falling(512, seed=5), results["sde_gan"].model
        untrained = Model(
            Motionless(**GAN).generator(data, model.coordinates, seed=0),
            *(model.coordinates, model.step, model.names, model.units, model.rule, model.splitting),
        )
        before, after = (
            ensemble_metrics(m.sample(test.initial, test.times[0], seed=1), test.states).wasserstein
            for m in (untrained, model)
        )
        assert after < 0.5 * before


class TestResult:
    @pytest.mark.parametrize("name", ["euler_maruyama", "flow_matching", "sde_gan"])
    def test_saved_bit_for_bit(self, results, name, tmp_path):
        model = results[name].model
        model.save(tmp_path / "model.nke")
        loaded = nke.load(tmp_path / "model.nke")
        x = np.linspace(-1, 1, 5 * model.dimension).reshape(5, -1)
        assert eqx.tree_equal(loaded.generator, model.generator)
        assert (loaded.rule, loaded.splitting) == (model.rule, model.splitting) == (EulerMaruyamaRule(), Euler())
        ours, theirs = (m.sample(x, TIMES, seed=3) for m in (model, loaded))
        assert np.isfinite(ours).all()
        assert ours.tobytes() == theirs.tobytes()

    @pytest.mark.parametrize("name", ["euler_maruyama", "flow_matching", "sde_gan"])
    def test_no_jumps(self, results, name):
        result = results[name]
        assert not result.model.has_jumps
        assert "no jump part" in result.decided["jumps"]
        assert "no jumps" in result.summary()
        assert result.timings["total"] > 0

    def test_names_and_units(self, results):
        model = results["flow_matching"].model
        assert (model.names, model.units, model.step) == (("east", "north"), ("m", "m"), pytest.approx(STEP))

    def test_forms_of_the_noise(self, results):
        a = results["flow_matching"].model.diffusion([[0.3, -0.7], [1.0, 0.0]])
        scale = results["flow_matching"].model.coordinates.scale
        np.testing.assert_allclose(a[:, 0, 1], 0, atol=1e-12)
        np.testing.assert_allclose(a[:, 0, 0] / scale[0] ** 2, a[:, 1, 1] / scale[1] ** 2, rtol=1e-6)
        np.testing.assert_allclose(results["euler_maruyama"].model.diffusion([[0.3, -0.7]])[:, 0, 1], 0, atol=1e-12)


class TestClock:
    def test_a_fit_stops_when_its_seconds_are_over(self):
        """After one chunk at least; the same updates as in the fixture, so nothing compiles anew."""
        capped = Motionless(steps=10**6, seconds=1e-3, **GAN)
        result = nke.fit(falling(), capped, seed=0)
        assert result.history["sde-gan"].steps.tolist() == [sde_gan.CHUNK]
        assert result.decided["stopped"] == "by the clock: 0.001 s were over after 200 of 1000000 steps"
        assert np.isfinite(result.model.sample(np.array([2.0]), [0, 1], paths=4)).all()

    def test_all_steps(self, results):
        assert results["sde_gan"].decided["stopped"] == f"after all {STEPS} steps"
        assert results["sde_gan"].history["sde-gan"].steps[-1] == STEPS

    def test_an_interrupted_fit_goes_on_to_the_same_model(self, results, tmp_path, monkeypatch):
        method, whole = Motionless(steps=STEPS, **GAN), results["sde_gan"].model
        advance, calls = sde_gan._advance, []

        def interrupted(*arguments):
            if len(calls) == 2:
                raise KeyboardInterrupt
            calls.append(1)
            return advance(*arguments)

        monkeypatch.setattr(sde_gan, "_advance", interrupted)
        with pytest.raises(KeyboardInterrupt):
            nke.fit(falling(), method, seed=0, checkpoint=tmp_path)
        monkeypatch.undo()
        resumed = nke.fit(falling(), method, seed=0, checkpoint=tmp_path).model
        assert eqx.tree_equal(whole.generator, resumed.generator)


class TestGenerator:
    def test_starts_at_the_least_squares_drift(self):
        data = falling()
        coordinates, seen = Coordinates.zscore(data), data.transitions()
        generator = SDEGAN(**GAN).generator(data, coordinates, seed=0)
        model = Model(generator, coordinates, 0.1, data.names, data.units)
        slope, constant = np.polyfit(seen.x[:, 0], seen.displacement[:, 0] / seen.step, 1)
        x = np.array([[0.5], [1.0], [2.0]])
        np.testing.assert_allclose(model.drift(x), constant + slope * x, rtol=1e-3)  # a ridge of 1e-4

    def test_rates_fall(self):
        method = SDEGAN(steps=100, generator_rate=0.1, critic_rate=0.3)
        rates = method.rates(0, 100)
        np.testing.assert_allclose(rates[0], [0.1, 0.3], rtol=1e-3)
        np.testing.assert_allclose(rates[-1], [0.001, 0.003], rtol=0.05)

    def test_no_layer_of_the_critic_enlarges_beyond_its_bound(self):
        critic = jax.tree.map(
            lambda leaf: 9 * leaf if eqx.is_inexact_array(leaf) else leaf, Critic(2, 8, key=jax.random.key(0))
        ).clipped(3.0)
        for layer in (critic.initial.layers[0], critic.control.layers[-1], critic.readout):
            assert jnp.max(jnp.abs(layer.weight)) * layer.weight.shape[1] == pytest.approx(3.0)

    def test_an_update_that_is_not_finite_is_left_out(self):
        player, part = SDEGAN().optimiser(), jnp.array([1.0, 2.0])
        memory = player.init(part)
        change, memory = player.update(jnp.array([jnp.nan, 1.0]), memory, part)
        np.testing.assert_array_equal(change, 0)
        change, _ = player.update(jnp.array([1.0, 1.0]), memory, part)
        assert (np.asarray(change) > 0).all()


class TestPieces:
    def test_flow_at_observations(self):
        flow = Flow(jnp.array([1.0, 2.0]), jnp.array([[0.5, 0.0], [0.1, 0.4]]), 8, 2, key=jax.random.key(0))
        rng = np.random.default_rng(0)
        shaken = jax.tree.map(
            lambda leaf: (
                leaf + 0.3 * jnp.asarray(rng.standard_normal(leaf.shape), jnp.float32)
                if eqx.is_inexact_array(leaf)
                else leaf
            ),
            flow,
        )
        generator, x = shaken.at_observations(), jnp.array([0.4, -1.2])
        velocity, uncertainty = shaken(x, jnp.asarray(0.0))
        np.testing.assert_allclose(generator.advection.drift(x), velocity, rtol=1e-5)
        np.testing.assert_allclose(generator.diffusion.factor(x), uncertainty * np.eye(2), rtol=1e-5)

    def test_euler_draws_from_its_rule(self, results):
        generator = results["euler_maruyama"].model.generator
        x, xi, step = jnp.array([0.5, -0.2]), jnp.array([1.0, -2.0]), 0.3
        law = EulerMaruyamaRule().displacement(generator, x, step)
        moved = Euler().move(generator, x, step, Noise(xi, jnp.asarray(0.5), xi, jnp.ones(1))) - x
        expected = law.means[0] + jnp.linalg.cholesky(law.covariances[0]) @ xi
        np.testing.assert_allclose(moved, expected, rtol=1e-4)

    def test_windows_stay_within_a_trajectory(self):
        """Lengths 5, 3 and 4, one row of the last not observed: rows are numbered, so steps must be one."""
        states = [np.arange(5.0)[:, None], 10 + np.arange(3.0)[:, None], 20 + np.array([[0.0], [1], [np.nan], [2]])]
        data = Trajectories(states, [np.arange(5.0), np.arange(3.0), np.array([1e9, 1e9 + 1, 1e9 + 2, 1e9 + 5])])
        windows = Windows.of(data, Coordinates(np.zeros(1), np.ones(1), 1.0), most=2)
        times, paths = windows.take(jnp.arange(len(windows.starts)))
        np.testing.assert_array_equal(paths[0, :, 0], [0, 1, 2, 10, 20])
        np.testing.assert_array_equal(jnp.diff(paths[..., 0], axis=0), 1)
        np.testing.assert_array_equal(times[-1], [2, 2, 2, 2, 5])
        assert Windows.of(data, Coordinates(np.zeros(1), np.ones(1), 1.0), most=99).length == 4


class TestRefusals:
    @pytest.mark.parametrize("method", [EulerMaruyama(), TrajectoryFlowMatching(), SDEGAN()])
    def test_jumps(self, method):
        with pytest.raises(ValueError, match=r"expected jumps=False or None.*got jumps=True.*nke\.Likelihood"):
            nke.fit(falling(4), method, jumps=True)

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
    def test_options(self, baseline, options, reason):
        with pytest.raises(ValueError, match=reason):
            baseline(**options)

    def test_jumps_are_not_looked_for(self, monkeypatch):
        def refuse(*arguments):
            raise AssertionError("looked for jumps")

        monkeypatch.setattr(likelihood, "has_jumps", refuse)
        quick = EulerMaruyama(width=4, depth=1, schedule=Schedule(1, particles=8))
        assert "no jump part" in nke.fit(falling(8), quick, jumps=False).decided["jumps"]

    def test_without_diffrax(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "diffrax", None)
        monkeypatch.delitem(sys.modules, "nke.baselines.adversaries", raising=False)
        with pytest.raises(ModuleNotFoundError, match=r"pip install 'nke\[baselines\]'"):
            nke.fit(falling(4), SDEGAN())

    def test_imported_only_when_used(self):
        program = (
            "import sys, nke; assert 'jax' not in sys.modules; "
            "nke.baselines.SDEGAN(); assert 'diffrax' not in sys.modules"
        )
        subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
