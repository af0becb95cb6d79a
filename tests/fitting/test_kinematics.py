"""Positions that follow their velocities, coordinates that do not matter, and motion without noise."""

from dataclasses import replace

import numpy as np
import pytest

import nke
from nke.baselines import EulerMaruyama
from nke.fitting import Likelihood, Schedule, SelectionRules
from nke.fitting.kinematics import likely_positions, position_decision
from nke.systems import DoubleWell, HarmonicOscillator, RarefiedGas

RULES = SelectionRules()
SYSTEM = HarmonicOscillator()
PAIR = {"position": "velocity"}
QUICK = Schedule(steps=400, weight_decay=0.1, particles=512)
TRAINING = {"networks": True, "polish": False, "width": 16, "schedule": QUICK}


@pytest.fixture(scope="module")
def oscillator() -> nke.FitResult:
    data = SYSTEM.simulate(100, seed=0)
    return nke.fit(data, Likelihood(kinetic=PAIR, **TRAINING, noise="constant"), jumps=False, diagnosis=False)


def collision_rate(v):
    return 2 + 2 * np.tanh(v)


def flight(trajectories: int, seed: int) -> nke.Trajectories:
    """A body that flies freely until it is hit, at rate 2 + 2 tanh v, and then keeps half of its velocity.

    What it gains is N(0, 1). Within a step it is hit at most once, in its middle; positions are integrals of that.
    """
    rng, step = np.random.default_rng(seed), 0.02
    x, v = np.zeros(trajectories), rng.normal(size=trajectories)
    rows = []
    for _ in range(101):
        rows.append(np.stack([x, v], axis=-1))
        hit = rng.random(trajectories) < -np.expm1(-step * collision_rate(v))
        after = np.where(hit, v / 2 + rng.normal(size=trajectories), v)
        x, v = x + step * (v + after) / 2, after
    return nke.Trajectories(np.stack(rows, axis=1), step, names=["x", "v"])


@pytest.fixture(scope="module")
def collisions() -> nke.FitResult:
    method = Likelihood(kinetic={"x": "v"}, invariant=("x",), depth=1, components=1, **TRAINING)
    return nke.fit(flight(200, seed=0), method, diagnosis=False)


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

    def test_survives_its_file(self, oscillator, collisions, tmp_path):
        for result in (oscillator, collisions):
            model, x = result.model, np.random.default_rng(0).standard_normal((4, result.model.dimension))
            result.save(tmp_path / "model.nke")
            again = nke.load(tmp_path / "model.nke")
            np.testing.assert_array_equal(again.drift(x), model.drift(x))
            np.testing.assert_array_equal(
                again.log_prob(x + 0.1, given=x, step=0.02), model.log_prob(x + 0.1, given=x, step=0.02)
            )
            np.testing.assert_array_equal(
                again.sample(x, [0.0, 0.1, 0.2], seed=1), model.sample(x, [0.0, 0.1, 0.2], seed=1)
            )

    def test_euler_maruyama_takes_the_same_knowledge(self):
        data = SYSTEM.simulate(20, seed=0)
        model = nke.fit(
            data, EulerMaruyama(kinetic=PAIR, width=8, schedule=replace(QUICK, steps=100)), diagnosis=False
        ).model
        states = np.random.default_rng(0).standard_normal((5, 2))
        np.testing.assert_allclose(model.drift(states)[:, 0], states[:, 1], rtol=1e-5, atol=1e-6)

    def test_names_that_are_not_there_are_refused(self):
        data = SYSTEM.simulate(4, seed=0)
        with pytest.raises(ValueError, match=r"kinetic names 'q'.*'position', 'velocity'"):
            nke.fit(data, Likelihood(kinetic={"q": "velocity"}), diagnosis=False)
        with pytest.raises(ValueError, match="invariant names 'q'"):
            nke.fit(data, Likelihood(invariant=["q"]), diagnosis=False)

    def test_positions_without_velocities_are_refused(self):
        data = SYSTEM.simulate(4, seed=0)
        for pairs in ({"position": "position"}, {"position": "velocity", "velocity": "position"}):
            with pytest.raises(ValueError, match="leaves nothing to learn"):
                nke.fit(data, Likelihood(kinetic=pairs), diagnosis=False)

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
            nke.fit(millimetres, Likelihood(kinetic=PAIR), diagnosis=False)


class TestWithoutNoise:
    """Motion by collisions alone; the rarefied gas itself is learned in ``benchmarks/validation``."""

    def test_is_said_to_have_no_noise(self, collisions):
        assert collisions.decision("resolution").answer == "v"
        states = np.random.default_rng(0).standard_normal((50, 2))
        noise = np.sqrt(0.02 * collisions.model.diffusion(states)[:, 1, 1])
        assert (noise < RULES.resolution * np.asarray(flight(200, seed=0).states)[..., 1].std() * 1.1).all()

    def test_jumps_follow_the_state(self, collisions):
        """A collision takes half of the velocity: some 800 of them know the mean to 0.035 and more at the edges."""
        assert collisions.decision("jump shapes").answer == "yes"
        v = np.array([-1.0, 0.0, 1.0])
        law = collisions.model.jump_law(np.stack([0 * v, v], axis=-1))
        np.testing.assert_allclose(law.mean[:, 1], -v / 2, atol=0.3)

    def test_the_rate_of_collisions_is_found(self, collisions):
        """About 800 of them: a standard error of 3.5 %."""
        states = np.asarray(flight(200, seed=9).states)[:, ::10].reshape(-1, 2)
        true = collision_rate(states[:, 1]).mean()
        assert collisions.model.jump_rate(states).mean() == pytest.approx(true, rel=4 * 0.035)

    def test_the_law_does_not_depend_on_the_place(self, collisions):
        here = np.random.default_rng(0).standard_normal((5, 2))
        there = here + np.array([100.0, 0.0])
        np.testing.assert_array_equal(collisions.model.jump_rate(here), collisions.model.jump_rate(there))
        np.testing.assert_array_equal(collisions.model.jump_law(here).means, collisions.model.jump_law(there).means)
        assert (collisions.model.jump_law(here).means[..., 0] == 0).all()


class TestPositionsThatNobodyNamed:
    STEP, ROWS = 0.1, 400

    def paths(self, own_noise: float) -> nke.Trajectories:
        """A velocity of an Ornstein–Uhlenbeck process and its position, simulated in 50 parts of each step."""
        rng, part = np.random.default_rng(0), self.STEP / 50
        x, v, found = np.zeros(50), rng.standard_normal(50), []
        for i in range(50 * self.ROWS):
            if i % 50 == 0:
                found.append(np.stack([x, v], axis=1))
            x = x + part * v + own_noise * np.sqrt(part) * rng.standard_normal(50)
            v = v - part * v + np.sqrt(2 * part) * rng.standard_normal(50)
        return nke.Trajectories(np.stack(found, axis=1), self.STEP, names=["x", "v"])

    @pytest.mark.parametrize(("own_noise", "known"), [(0.0, {"x": "v"}), (0.04, {})])
    def test_known_where_they_have_no_noise_of_their_own(self, own_noise, known):
        """Velocities leave √(2 s³/12) = 0.0129 of a step open, noise of 0.04 adds 0.0126: both move alike to 10 %."""
        some = self.paths(own_noise).transitions()
        assert likely_positions(some, ("x", "v"), RULES) == known
        assert position_decision({"x": "v"}, some, ("x", "v"), RULES)[0] == known

    def test_taken_in_a_fit_unless_told_otherwise(self):
        told = {}
        for kinetic in (None, {}):
            method = Likelihood(networks=False, kinetic=kinetic)
            told[str(kinetic)] = nke.fit(self.paths(0.0), method, jumps=False, diagnosis=False)
        x = np.array([[0.3, 1.2]])
        np.testing.assert_allclose(told["None"].model.drift(x)[0, 0], 1.2, rtol=1e-6)
        assert told["None"].model.diffusion(x)[0, 0, 0] == 0
        assert told["{}"].model.diffusion(x)[0, 0, 0] > 0
        assert told["None"].decision("positions").evidence == {"x": "v"}
