"""The rarefied gas against its physics: conservation, equilibrium, collision rates, the Langevin limit.

Sampled quantities are within three standard errors of the truth, with seeds fixed.
"""

import re
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import expon, kstest, norm, rayleigh

import nke
from gases import GAS, within
from nke.bench import measure
from nke.bench.protocol import Case, Protocol
from nke.systems import Langevin, RarefiedGas

END, TIMES = 5.0, np.linspace(0, 5, 11)
PATHS = {"lazy": 20_000, "box": 1000}
BOTH = pytest.mark.parametrize("method", PATHS)


@pytest.fixture(scope="module")
def collisions():
    """Number of paths and their collisions in equilibrium, by simulator."""
    numbers = {method: paths // 5 for method, paths in PATHS.items()}
    return {method: (n, GAS.simulate_collisions(n, 2, TIMES, method=method)) for method, n in numbers.items()}


class TestPhysics:
    def test_constants(self):
        gas = RarefiedGas()
        assert gas.density == pytest.approx(7.939, abs=5e-4)
        assert gas.spread == pytest.approx(3.3166, abs=5e-5)
        assert gas.box_side == pytest.approx(13.607, abs=5e-4)
        assert gas.velocity_variance == pytest.approx(1.1)
        assert gas.collision_rate == pytest.approx(8.653, abs=5e-4)
        assert gas.jump_scale == pytest.approx(0.632, abs=5e-4)
        assert gas.relaxation_rate == pytest.approx(1.0488, abs=5e-5)
        assert gas.autocorrelation(1.0) == pytest.approx(0.3504, abs=5e-5)
        assert gas.mean_squared_displacement(5.0) == pytest.approx(8.49, abs=0.01)

    @BOTH
    def test_collisions_conserve_energy_and_momentum(self, method, collisions):
        _, hits = collisions[method]
        pairs = (hits.before, hits.particle_before), (hits.after, hits.particle_after)
        momentum = [GAS.mass_ratio * sphere + particle for sphere, particle in pairs]
        energy = [GAS.mass_ratio * (sphere**2).sum(axis=1) + (particle**2).sum(axis=1) for sphere, particle in pairs]
        assert len(hits.time) > 200
        np.testing.assert_allclose(momentum[1], momentum[0], rtol=0, atol=1e-12)
        np.testing.assert_allclose(energy[1], energy[0], rtol=1e-12)
        assert (((hits.particle_before - hits.before) * hits.normal).sum(axis=1) < 0).all()
        np.testing.assert_allclose(np.linalg.norm(hits.normal, axis=1), 1, rtol=1e-12)

    @BOTH
    def test_equilibrium(self, method):
        states = GAS.simulate_states(PATHS[method], 1, TIMES, method=method)
        place, velocity = states[..., :3], states[..., 3:]
        within((velocity**2).mean(axis=(1, 2)), GAS.velocity_variance)
        assert kstest(velocity[:, -1, 0], norm(scale=np.sqrt(GAS.velocity_variance)).cdf).pvalue > 1e-3
        now, later = velocity[:, :-2], velocity[:, 2:]
        within((now * (later - GAS.autocorrelation(1.0) * now)).mean(axis=(1, 2)), 0.0)
        within((place[:, -1] ** 2).mean(axis=1), GAS.mean_squared_displacement(END))

    @BOTH
    def test_collisions_in_equilibrium(self, method, collisions):
        """Their rate, and jumps of velocity that are Rayleigh in size and uniform in direction."""
        paths, hits = collisions[method]
        within(np.bincount(hits.trajectory, minlength=paths) / END, GAS.collision_rate)
        jumps = hits.after - hits.before
        sizes = np.linalg.norm(jumps, axis=1)
        few = slice(None, None, 5)  # successive jumps are not quite independent
        assert kstest(sizes[few], rayleigh(scale=GAS.jump_scale).cdf).pvalue > 1e-3
        for axis in range(3):
            assert kstest((jumps[:, axis] / sizes)[few], "uniform", args=(-1, 2)).pvalue > 1e-3

    def test_a_heavy_sphere_is_langevin(self):
        gas = RarefiedGas(mass_ratio=1000)
        velocity = gas.simulate_states(1500, 3, [0.0, 0.5, 1.0])[..., 3:]
        within((velocity**2).mean(axis=(1, 2)), 1.001)
        for t, later in ((0.5, velocity[:, 1]), (1.0, velocity[:, 2])):
            within((velocity[:, 0] * (later - np.exp(-t) * velocity[:, 0])).mean(axis=1), 0.0)

    def test_the_langevin_limit(self):
        gas = RarefiedGas(mass_ratio=1e9, friction=2.0, diffusivity=0.3)
        limit = gas.langevin
        assert limit == Langevin(2.0, 0.3)
        flow, covariance = limit.transition_matrices(np.array(3.0))
        np.testing.assert_allclose(np.diagonal(flow)[3:], gas.autocorrelation(3.0), rtol=1e-7)
        started = limit.friction * limit.diffusivity * flow[0, 3] ** 2
        np.testing.assert_allclose(covariance[0, 0] + started, gas.mean_squared_displacement(3.0), rtol=1e-7)


class TestMovingSphere:
    @pytest.mark.parametrize("speed", [0.0, 2.0, 5.0, 8.0])
    def test_first_collision(self, speed):
        """Its time is exponential of rate Λ(V), its jump has the stated mean and covariance."""
        paths = 10_000
        start = np.tile([0, 0, 0, 0.6 * speed, 0, 0.8 * speed], (paths, 1))
        hits = GAS.simulate_collisions(paths, 4, [0.0, 1.2], start)
        first = np.unique(hits.trajectory, return_index=True)[1]
        rate, law = GAS.jump_rate(start[0]), GAS.jump_law(start[0])
        assert len(first) > paths - 5
        assert abs(hits.time[first].mean() - 1 / rate) < 3 / rate / np.sqrt(paths)
        assert kstest(hits.time[first], expon(scale=1 / rate).cdf).pvalue > 1e-3
        jumps = (hits.after - hits.before)[first]
        within(jumps, law.mean[3:], 4)
        centred = jumps - law.mean[3:]
        within(centred[:, :, None] * centred[:, None, :], law.covariance[3:, 3:], 4)

    def test_first_collision_in_the_box(self):
        paths, end = 2000, 0.5
        start = np.tile([0, 0, 0, 8.0, 0, 0], (paths, 1))
        hits = GAS.simulate_collisions(paths, 5, [0.0, end], start, method="box")
        first = hits.time[np.unique(hits.trajectory, return_index=True)[1]]
        exposure = first.sum() + end * (paths - len(first))
        assert abs(len(first) - GAS.jump_rate(start[0]) * exposure) < 3 * np.sqrt(len(first))

    def test_rate_and_law_in_equilibrium(self):
        """Averages over V: of the rate, of the Rayleigh law's second moment, and of the friction by jumps."""
        x = GAS.initial(20_000, np.random.default_rng(0))
        rate, law = GAS.jump_rate(x), GAS.jump_law(x)
        within(rate, GAS.collision_rate)
        second = np.trace(law.covariance, axis1=1, axis2=2) + np.sum(law.mean**2, axis=1)
        within(rate * second, GAS.collision_rate * 2 * GAS.jump_scale**2)
        within(rate * np.sum(x * law.mean, axis=1), -3 * GAS.relaxation_rate * GAS.velocity_variance)


class TestSystem:
    def test_names_coefficients_and_jax(self):
        x = GAS.initial(5, np.random.default_rng(0)) + 0.3
        assert GAS.names == ("x1", "x2", "x3", "v1", "v2", "v3")
        np.testing.assert_array_equal(GAS.drift(x), np.hstack([x[:, 3:], np.zeros((5, 3))]))
        np.testing.assert_array_equal(GAS.diffusion(x), np.zeros((5, 6, 6)))
        for method in (GAS.drift, GAS.jump_rate):
            traced = jax.jit(jax.vmap(method))(jnp.asarray(x, jnp.float32))
            np.testing.assert_allclose(traced, method(x), rtol=2e-6)
        assert jnp.isfinite(jax.grad(GAS.jump_rate)(jnp.zeros(6))).all()

    def test_recording(self):
        times = np.array([1.0, 1.01, 1.5, 3.0])
        start = GAS.initial(3, np.random.default_rng(1)) + 0.5
        data = GAS.simulate(3, 0, times, start)
        states, hits = np.asarray(data.states), GAS.simulate_collisions(3, 0, times, start)
        assert data.names == GAS.names
        np.testing.assert_array_equal(states[:, 0], start)
        np.testing.assert_array_equal(data.times[0], times)
        for m in range(3):  # flown from collision to collision
            mine = hits.trajectory == m
            velocity = np.vstack([start[m, 3:], hits.after[mine]])
            lengths = np.diff(np.concatenate([[1.0], hits.time[mine], [3.0]]))
            np.testing.assert_allclose(states[m, -1, :3], start[m, :3] + lengths @ velocity, atol=1e-12)
            np.testing.assert_array_equal(states[m, -1, 3:], velocity[-1])

    def test_a_step_from_a_fresh_bath(self):
        start = GAS.initial(4, np.random.default_rng(1))
        first, again = (GAS.advance(start, 0.5, np.random.default_rng(seed)) for seed in (0, 0))
        np.testing.assert_array_equal(first, again)
        assert (first != start).all()

    @pytest.mark.validation
    def test_as_a_case_of_the_benchmark(self, monkeypatch):
        """The oracle runs; without a transition density there is no score."""
        case = Case("gas", "Rarefied gas", 4, RarefiedGas(duration=0.2))
        monkeypatch.setattr(measure, "cases", lambda: {"gas": case})
        protocol = Protocol(train=16, test=8, large=12, replicates=2, scored=20)
        record = measure.run_task(measure.Task("gas", "oracle", 0, protocol)).record
        assert record["status"] == "done", record
        assert record["metrics"]["wasserstein"] > 0
        assert record["metrics"]["score"] is None

    def test_the_examples_of_the_documentation(self, monkeypatch):
        """All but the training, which takes minutes."""
        fitted = {}
        monkeypatch.setattr(nke, "fit", lambda data, method: fitted.update(method=method) or nke.FitResult)
        monkeypatch.setattr(nke.FitResult, "summary", lambda: "", raising=True)
        text = (Path(__file__).parents[2] / "docs" / "rarefied-gas.md").read_text()
        names = {}
        for example in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
            exec(example, names)
        assert np.asarray(names["data"].states).shape == (512, 101, 6)
        assert abs(len(names["hits"].time) / 1024 / 8.653 - 1) < 0.05
        assert set(fitted["method"].kinetic) == set(fitted["method"].invariant) == {"x1", "x2", "x3"}

    @pytest.mark.parametrize(
        ("wrong", "message"),
        [
            ({"mass_ratio": 0}, "mass_ratio of RarefiedGas to be a finite number > 0"),
            ({"friction": -1.0}, "friction of RarefiedGas"),
            ({"diffusivity": float("nan")}, "diffusivity of RarefiedGas"),
            ({"radius": float("inf")}, "radius of RarefiedGas"),
            ({"bath_size": 0}, "bath_size of RarefiedGas to be a whole number ≥ 1"),
            ({"interval": 0.0}, "interval of RarefiedGas"),
            ({"duration": -2.0}, "duration of RarefiedGas"),
            ({"duration": 1.0, "interval": 0.3}, "whole number of intervals"),
            ({"duration": 0.01}, "whole number of intervals"),
        ],
    )
    def test_unphysical_parameters_are_refused(self, wrong, message):
        with pytest.raises(ValueError, match=message):
            RarefiedGas(**wrong)

    def test_refusals(self):
        with pytest.raises(ValueError, match="'lazy' or 'box', but got 'exact'"):
            GAS.simulate(1, 0, method="exact")
        with pytest.raises(ValueError, match="room around the sphere"):
            RarefiedGas(bath_size=5).simulate(1, 0, method="box")
        with pytest.raises(ValueError, match="at least one trajectory"):
            GAS.simulate(0, 0)
        with pytest.raises(ValueError, match="trajectory 0 starts at"):
            GAS.simulate(1, 0, initial=np.full((1, 6), np.nan))
        with pytest.raises(NotImplementedError, match="no density"):
            GAS.log_prob(np.zeros(6), given=np.zeros(6), step=0.1)
        with pytest.raises(ValueError, match=r"\(\.\.\., 6\)"):
            GAS.drift(np.zeros(3))
