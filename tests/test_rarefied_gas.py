"""The rarefied gas against its physics: conservation, equilibrium, collision rates, and one simulator against another.

Sampled quantities are within three standard errors of the truth, with seeds fixed. A box of 200 particles instead of
20,000 keeps the tests quick; ``python -m benchmarks.validation gas`` has the full bath.
"""

import re
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import expon, kstest, norm, rayleigh

import nke
from nke.bench import measure
from nke.bench.protocol import Case, Protocol
from nke.systems import Langevin, RarefiedGas
from nke.systems.gas import box, compilation, lazy, reference, running
from nke.systems.gas.constants import Gas
from nke.systems.gas.mechanics import contact_time, reach_time
from nke.systems.gas.randomness import uniform

GAS = RarefiedGas(bath_size=200)
DENSE = RarefiedGas(
    mass_ratio=1, radius=3, bath_size=300, duration=5
)  # one collision in fifteen is with a particle hit before
END, TIMES = 5.0, np.linspace(0, 5, 11)
BOTH = pytest.mark.parametrize(("method", "paths"), [("lazy", 20_000), ("box", 1000)])


def within(samples, truth, errors=3.0):
    """The mean over the first axis is the truth to that many standard errors."""
    samples = np.asarray(samples, float)
    gap = np.abs(samples.mean(axis=0) - truth)
    assert (gap <= errors * samples.std(axis=0) / np.sqrt(len(samples))).all(), (samples.mean(axis=0), truth)


def stream(seed):
    return np.random.SeedSequence(seed).generate_state(4, np.uint64)


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
    def test_collisions_conserve_energy_and_momentum(self, method, paths):
        hits = GAS.simulate_collisions(paths // 50, 0, method=method)
        pairs = (hits.before, hits.particle_before), (hits.after, hits.particle_after)
        momentum = [GAS.mass_ratio * sphere + particle for sphere, particle in pairs]
        energy = [GAS.mass_ratio * (sphere**2).sum(axis=1) + (particle**2).sum(axis=1) for sphere, particle in pairs]
        assert len(hits.time) > 200
        np.testing.assert_allclose(momentum[1], momentum[0], rtol=0, atol=1e-12)
        np.testing.assert_allclose(energy[1], energy[0], rtol=1e-12)
        assert (((hits.particle_before - hits.before) * hits.normal).sum(axis=1) < 0).all()
        np.testing.assert_allclose(np.linalg.norm(hits.normal, axis=1), 1, rtol=1e-12)

    @BOTH
    def test_equilibrium(self, method, paths):
        states = GAS.simulate_states(paths, 1, TIMES, method=method)
        place, velocity = states[..., :3], states[..., 3:]
        within((velocity**2).mean(axis=(1, 2)), GAS.velocity_variance)
        assert kstest(velocity[:, -1, 0], norm(scale=np.sqrt(GAS.velocity_variance)).cdf).pvalue > 1e-3
        now, later = velocity[:, :-2], velocity[:, 2:]
        within((now * (later - GAS.autocorrelation(1.0) * now)).mean(axis=(1, 2)), 0.0)
        within((place[:, -1] ** 2).mean(axis=1), GAS.mean_squared_displacement(END))

    @BOTH
    def test_collisions_in_equilibrium(self, method, paths):
        """Their rate, and jumps of velocity that are Rayleigh in size and uniform in direction."""
        paths //= 5
        hits = GAS.simulate_collisions(paths, 2, TIMES, method=method)
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

    @pytest.mark.parametrize("speed", [0.0, 1.0, 20.0])
    def test_rate_is_the_mean_relative_speed(self, speed):
        def integrand(v):
            """|v − V| averaged over directions of v, times the density of |v|."""
            around = (np.abs(v + speed) ** 3 - np.abs(v - speed) ** 3) / (6 * v * speed) if speed > 0 else v
            return around * np.sqrt(2 / np.pi) * v**2 * np.exp(-(v**2) / 2 / GAS.spread**2) / GAS.spread**3

        mean = quad(integrand, 0, 12 * GAS.spread, epsabs=1e-12, points=[max(speed, 1)])[0]
        rate = GAS.jump_rate([0, 0, 0, 0, speed, 0])
        assert rate == pytest.approx(GAS.density * np.pi * GAS.radius**2 * mean, rel=1e-9)

    def test_rate_and_law_in_equilibrium(self):
        """Averages over V: of the rate, of the Rayleigh law's second moment, and of the friction by jumps."""
        x = GAS.initial(20_000, np.random.default_rng(0))
        rate, law = GAS.jump_rate(x), GAS.jump_law(x)
        within(rate, GAS.collision_rate)
        second = np.trace(law.covariance, axis1=1, axis2=2) + np.sum(law.mean**2, axis=1)
        within(rate * second, GAS.collision_rate * 2 * GAS.jump_scale**2)
        within(rate * np.sum(x * law.mean, axis=1), -3 * GAS.relaxation_rate * GAS.velocity_variance)

    @pytest.mark.parametrize("speed", [0.0, 3.0])
    def test_density_of_a_jump(self, speed):
        """Integrates to one, has the stated moments, and so have its samples."""
        law = GAS.jump_law([1.0, 2.0, 3.0, 0.0, 0.0, speed])
        nodes, weights = np.polynomial.legendre.leggauss(40)
        size, cosine = (2.5 + 2.5 * nodes)[:, None], nodes
        jumps = np.zeros((40, 40, 6))
        jumps[..., 3], jumps[..., 5] = size * np.sqrt(1 - cosine**2), size * cosine
        mass = np.exp(law.log_prob(jumps)) * 2 * np.pi * size**2 * 2.5 * np.outer(weights, weights)
        assert mass.sum() == pytest.approx(1, abs=1e-8)
        mean, across = (mass * size * cosine).sum(), (mass * size**2 * (1 - cosine**2) / 2).sum()
        along = (mass * (size * cosine) ** 2).sum() - mean**2
        np.testing.assert_allclose(law.mean, [0, 0, 0, 0, 0, mean], atol=1e-8)
        np.testing.assert_allclose(law.covariance, np.diag([0, 0, 0, across, across, along]), atol=1e-8)
        draws = law.sample(40_000, 0)
        within(draws[:, 3:], law.mean[3:], 4)
        centred = draws[:, 3:] - law.mean[3:]
        within(centred[:, :, None] * centred[:, None, :], law.covariance[3:, 3:], 4)
        assert law.log_prob([0.1, 0, 0, 1, 0, 0]) == -np.inf
        with pytest.raises(ValueError, match=r"shape \(\.\.\., 6\)"):
            law.log_prob([1.0, 0, 0])


class TestLazy:
    @pytest.mark.parametrize(("system", "paths"), [(RarefiedGas(), 40), (DENSE, 60)], ids=["rarefied", "dense"])
    def test_replay_of_its_own_bath(self, system, paths):
        """Partners traced back to time 0 make a bath, in which a simulator that looks at all of them does the same."""
        hits, starts = system.simulate_collisions(paths, 6), system.simulate_states(paths, 6)[:, 0]
        states = np.hstack([hits.position, hits.after])
        for m, start in enumerate(starts):
            mine = hits.trajectory == m
            new = mine & ~hits.again
            velocities = hits.particle_before[new]
            points = hits.position[new] + system.radius * hits.normal[new] - hits.time[new, None] * velocities
            assert (np.linalg.norm(points - start[:3], axis=1) > system.radius).all()
            again = reference.replay(system.constants, start, points, velocities, system.duration)
            np.testing.assert_allclose(again[0], hits.time[mine], rtol=0, atol=1e-7)
            np.testing.assert_allclose(again[1], states[mine], rtol=0, atol=1e-7)
        assert system is not DENSE or hits.again.sum() > 10

    def test_way_back_is_searched_exactly(self):
        """Against the closest approach to every earlier flight; the path is longer than the memory."""
        rng, gas, count = np.random.default_rng(0), Gas(1.0, 1.0, 1.0, 1.0), lazy.MEMORY + 500
        memory, nowhere = lazy.new_memory(), (0.0, 0.0, 0.0)
        times, velocities = np.cumsum(rng.exponential(0.3, count)), rng.standard_normal((count, 3))
        places = np.vstack([np.zeros(3), np.cumsum(velocities[:-1] * np.diff(times)[:, None], axis=0)])
        for k, time in enumerate(times):
            lazy.remember(memory, k, time, tuple(places[k]), tuple(velocities[k]), nowhere, nowhere, 0.0)
        bound, now, found = np.linalg.norm(velocities, axis=1).max(), times[-1] + 0.1, []
        known = slice(count - lazy.MEMORY, count - 1)
        begin, length = times[known], np.diff(times)[known]
        for _ in range(1000):
            particle = rng.standard_normal(3) * rng.choice([0.05, 0.3, 1.0])
            normal = rng.standard_normal(3) / 2 - particle + velocities[-1]
            contact = places[-1] + 0.1 * velocities[-1] + normal / np.linalg.norm(normal)
            if normal @ (particle - velocities[-1]) > 0:
                continue
            r, w = contact + particle * (begin - now)[:, None] - places[known], particle - velocities[known]
            nearest = np.clip(-np.sum(r * w, axis=1) / np.sum(w**2, axis=1), 0, length)[:, None]
            met = bool((np.linalg.norm(r + w * nearest, axis=1) < gas.radius).any())
            assert lazy.met_before(gas, memory, count, bound, tuple(contact), tuple(particle), now) == met
            found.append(met)
        assert 50 < sum(found) < 950

    def test_memory_is_flat_in_the_horizon(self):
        """And Numba is not imported before it is needed."""
        script = """if True:
            import resource, sys
            from nke.systems import RarefiedGas
            assert "numba" not in sys.modules
            peaks = []
            for end in (5, 5, 6000):
                RarefiedGas().simulate_states(1, 0, [0.0, end])
                peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
            print(peaks[2] - peaks[1])
        """
        kilobytes = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout
        assert int(kilobytes) < 2000  # 52,000 collisions at 112 bytes would be 5800

    def test_reach(self):
        """The first time at which a growing ball holds a moving point, against a fine grid."""
        rng, times, reached = np.random.default_rng(1), np.linspace(0, 20, 20_001), 0
        for _ in range(300):
            r, w, growth = rng.standard_normal(3) * 4, rng.standard_normal(3), rng.choice([0.0, 0.5, 1.5])
            gap = np.linalg.norm(r + w * times[:, None], axis=1) - 1 - growth * times
            inside = np.flatnonzero(gap <= 0)
            found = reach_time(tuple(r), tuple(w), 1.0, growth)
            if len(inside):
                reached += 1
                assert found == pytest.approx(times[inside[0]], abs=1.1e-3)
            else:
                assert found > 20
        assert 50 < reached < 250
        assert contact_time((1.0, 0.0, 0.0), (1.0, 0.0, 0.0), 1.0) == np.inf  # just hit, and leaving


class TestBox:
    def test_influx(self):
        """Rate λ_g [σφ(u/σ) − u·½erfc(u/(σ√2))] per area, speed ∝ (w − u)₊ N(w; 0, σ²); u: the face's own."""
        gas, half, velocity, state = GAS.constants, GAS.box_side / 2, np.array([4.0, -1.0, 0.0]), stream(0)
        time, entries = 0.0, []
        for _ in range(20_000):
            wait, point, particle, kept = box.enter(gas, half, tuple(velocity), state)
            time += wait
            if kept:
                entries.append([*point, *particle])
        entries = np.array(entries)
        for axis in range(3):
            for side in (1, -1):  # the inward normal
                here = entries[entries[:, axis] == -side * half]
                u = side * velocity[axis] / gas.spread
                moments = norm.pdf(u) - u * norm.sf(u), (1 + u**2) * norm.sf(u) - u * norm.pdf(u)
                expected = gas.density * 4 * half**2 * gas.spread * moments[0] * time
                assert abs(len(here) - expected) < 3.5 * np.sqrt(expected)
                within(side * (here[:, 3 + axis] - velocity[axis]), gas.spread * moments[1] / moments[0], 3.5)
                across = np.delete(here, [axis, 3 + axis], axis=1) / np.repeat([half, gas.spread], 2)
                within(across, 0.0, 4)
                within(across**2, [1 / 3, 1 / 3, 1, 1], 4)

    def test_agrees_with_lazy_where_memory_matters(self):
        """A sphere as light as the particles and larger than its free path."""
        t, paths = np.array([0.0, 1.0, 3.0]), 4000
        runs = [DENSE.simulate_states(paths, 7 + i, t, method=method) for i, method in enumerate(["lazy", "box"])]
        moved, kept = ([run[:, 1:, :3] ** 2 for run in runs], [run[:, 1:, 3:] * run[:, :1, 3:] for run in runs])
        for first, second in (moved, kept):
            within((first - second).mean(axis=2), 0.0)

    def test_counts_of_collisions_where_memory_matters(self):
        """Old partners are as many in the box; with the new ones, of which some are rejected, they keep the rate."""
        paths, old = 4000, []
        for method in ("lazy", "box"):
            hits = DENSE.simulate_collisions(paths, 9, [0.0, 3.0], method=method)
            within(np.bincount(hits.trajectory, minlength=paths) / 3.0, DENSE.collision_rate)
            old.append(np.bincount(hits.trajectory[hits.again], minlength=paths))
        assert np.sum(old[0]) > 0.04 * 3.0 * DENSE.collision_rate * paths
        within(old[0] - old[1], 0.0)

    def test_a_full_bath_ends_the_flight(self):
        bath = np.empty((10, 7))
        arguments = GAS.constants, GAS.box_side / 2, bath, 0, (0.0, 0.0, 0.0), stream(1), -1
        count, first, wait = box.let_in(*arguments, 100.0)
        assert (count, first) == (10, -1)
        assert 0 < wait < 0.1


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

    @pytest.mark.parametrize("method", ["lazy", "box"])
    def test_same_seed_same_data_on_any_number_of_threads(self, method, monkeypatch):
        runs = []
        for threads in (1, 3):
            monkeypatch.setattr(running, "threads", lambda n=threads: n)
            runs.append(GAS.simulate_states(25, 0, method=method))
        np.testing.assert_array_equal(*runs)
        np.testing.assert_array_equal(GAS.simulate_states(5, 0, method=method), runs[0][:5])
        assert (GAS.simulate_states(25, 1, method=method)[:, 1:] != runs[0][:, 1:]).all()
        assert len(np.unique(runs[0][:, -1, 3])) == 25

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
        text = (Path(__file__).parents[1] / "docs" / "rarefied-gas.md").read_text()
        names = {}
        for example in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
            exec(example, names)
        assert np.asarray(names["data"].states).shape == (512, 101, 6)
        assert abs(len(names["hits"].time) / 1024 / 8.653 - 1) < 0.05
        assert set(fitted["method"].kinetic) == set(fitted["method"].invariant) == {"x1", "x2", "x3"}

    def test_compiles_where_nothing_can_be_written(self, tmp_path, monkeypatch):
        monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
        assert tmp_path in compilation.folder().parents
        (tmp_path / "file").touch()
        monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file"))
        assert compilation.folder() is None
        assert compilation.entry(lambda x: 1 / x)(0.0) == np.inf

    def test_uniform_numbers(self):
        state = stream(3)
        draws = np.array([uniform(state) for _ in range(20_000)])
        assert kstest(draws, "uniform").pvalue > 1e-3
        within((draws[1:] - 0.5) * (draws[:-1] - 0.5), 0.0)

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
            GAS.log_prob(np.zeros(6), np.zeros(6), 0.1)
        with pytest.raises(ValueError, match=r"\(\.\.\., 6\)"):
            GAS.drift(np.zeros(3))
