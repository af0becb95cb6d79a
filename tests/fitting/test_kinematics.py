"""Positions that follow their velocities, coordinates that do not matter, and motion without noise."""

from dataclasses import replace

import numpy as np
import pytest

import nke
from nke.baselines import EulerMaruyama
from nke.fitting import Likelihood, Schedule, SelectionRules
from nke.fitting.kinematics import likely_positions
from nke.systems import DoubleWell, HarmonicOscillator, RarefiedGas

RULES = SelectionRules()
SYSTEM = HarmonicOscillator()
PAIR = {"position": "velocity"}
QUICK = Schedule(steps=400, weight_decay=0.1, particles=512)


@pytest.fixture(scope="module")
def oscillator() -> nke.FitResult:
    data = SYSTEM.simulate(100, seed=0)
    return nke.fit(
        data, Likelihood(kinetic=PAIR, networks=True, noise="constant", width=16, schedule=QUICK), jumps=False
    )


@pytest.fixture(scope="module")
def sphere() -> nke.FitResult:
    data = RarefiedGas().simulate(100, seed=0)
    positions = {f"x{i}": f"v{i}" for i in (1, 2, 3)}
    method = Likelihood(
        kinetic=positions, invariant=tuple(positions), width=16, components=1, networks=True, schedule=QUICK
    )
    return nke.fit(data, method)


class TestFit:
    def test_positions_have_their_velocity_for_a_drift_and_no_noise(self, oscillator):
        states = np.random.default_rng(0).standard_normal((50, 2))
        np.testing.assert_allclose(oscillator.model.drift(states)[:, 0], states[:, 1], rtol=1e-5, atol=1e-6)
        diffusion = oscillator.model.diffusion(states)
        assert (diffusion[:, 0] == 0).all()
        assert (diffusion[:, :, 0] == 0).all()

    def test_the_force_and_the_noise_are_found(self, oscillator):
        """10,000 steps over T = 1000: the standard error of damping and frequency² is about √(2·0.5/1000) = 0.03."""
        states = SYSTEM.simulate(20, seed=5).states.reshape(-1, 2)
        force = oscillator.model.drift(states)[:, 1]
        slopes = np.linalg.lstsq(states, force, rcond=None)[0]
        np.testing.assert_allclose(slopes, [-(SYSTEM.frequency**2), -SYSTEM.damping], atol=0.1)
        noise = oscillator.model.diffusion(states)[:, 1, 1]
        # Standard error √(2/10,000).
        np.testing.assert_allclose(noise, SYSTEM.noise**2, rtol=0.045)

    def test_survives_its_file(self, oscillator, sphere, tmp_path):
        for result in (oscillator, sphere):
            model, x = result.model, np.random.default_rng(0).standard_normal((4, result.model.dimension))
            result.save(tmp_path / "model.nke")
            again = nke.load(tmp_path / "model.nke")
            np.testing.assert_array_equal(again.drift(x), model.drift(x))
            np.testing.assert_array_equal(again.log_prob(x + 0.1, x, 0.02), model.log_prob(x + 0.1, x, 0.02))
            np.testing.assert_array_equal(
                again.sample(x, [0.0, 0.1, 0.2], seed=1), model.sample(x, [0.0, 0.1, 0.2], seed=1)
            )

    def test_euler_maruyama_takes_the_same_knowledge(self):
        data = SYSTEM.simulate(20, seed=0)
        model = nke.fit(data, EulerMaruyama(kinetic=PAIR, width=8, schedule=replace(QUICK, steps=100))).model
        states = np.random.default_rng(0).standard_normal((5, 2))
        np.testing.assert_allclose(model.drift(states)[:, 0], states[:, 1], rtol=1e-5, atol=1e-6)

    def test_names_that_are_not_there_are_refused(self):
        data = SYSTEM.simulate(4, seed=0)
        with pytest.raises(ValueError, match=r"kinetic names 'q'.*'position', 'velocity'"):
            nke.fit(data, Likelihood(kinetic={"q": "velocity"}))
        with pytest.raises(ValueError, match="invariant names 'q'"):
            nke.fit(data, Likelihood(invariant=["q"]))

    def test_positions_without_velocities_are_refused(self):
        data = SYSTEM.simulate(4, seed=0)
        for pairs in ({"position": "position"}, {"position": "velocity", "velocity": "position"}):
            with pytest.raises(ValueError, match="leaves nothing to learn"):
                nke.fit(data, Likelihood(kinetic=pairs))

    def test_positions_are_noticed(self):
        seen = SYSTEM.simulate(4, seed=0).transitions()
        assert likely_positions(seen, SYSTEM.names, RULES) == PAIR
        gas = RarefiedGas()
        assert likely_positions(gas.simulate(8, seed=0).transitions(), gas.names, RULES) == {
            f"x{i}": f"v{i}" for i in (1, 2, 3)
        }
        assert likely_positions(DoubleWell().simulate(8, seed=0).transitions(), ("x1", "x2", "x3"), RULES) == {}

    def test_wrong_units_are_refused(self):
        data = SYSTEM.simulate(4, seed=0)
        millimetres = nke.Trajectories(data.states * [1000.0, 1.0], data.times, data.names)
        with pytest.raises(ValueError, match=r"moves 1e\+03 times as fast"):
            nke.fit(millimetres, Likelihood(kinetic=PAIR))


class TestWithoutNoise:
    def test_a_motion_by_jumps_alone_is_said_to_have_no_noise(self, sphere):
        assert sphere.decision("resolution").answer == "v1, v2, v3"
        states = np.random.default_rng(0).standard_normal((50, 6))
        noise = np.sqrt(0.02 * sphere.model.diffusion(states)[:, 3:, 3:].trace(axis1=1, axis2=2) / 3)
        assert (noise < RULES.resolution * np.sqrt(1.1)).all()

    def test_the_rate_of_collisions_is_found(self, sphere):
        """About 1730 of them: a standard error of 2.4 %."""
        gas = RarefiedGas()
        states = np.asarray(gas.simulate(200, seed=9).states)[:, ::10].reshape(-1, 6)
        assert sphere.model.jump_rate(states).mean() == pytest.approx(gas.jump_rate(states).mean(), rel=0.075)

    def test_the_law_does_not_depend_on_the_place(self, sphere):
        here = np.random.default_rng(0).standard_normal((5, 6))
        there = here + np.array([100.0, -50.0, 3.0, 0.0, 0.0, 0.0])
        np.testing.assert_array_equal(sphere.model.jump_rate(here), sphere.model.jump_rate(there))
        np.testing.assert_array_equal(sphere.model.jump_law(here).means, sphere.model.jump_law(there).means)
        assert (sphere.model.jump_law(here).means[..., :3] == 0).all()
