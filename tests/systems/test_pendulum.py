"""The pendulum: drift by hand, energy, small swings, full turns."""

import numpy as np

from nke.systems import HarmonicOscillator, Pendulum


def test_drift_by_hand():
    system = Pendulum(torque=0.3, damping=0.4)
    states = np.array([[0.0, 0.0], [np.pi / 2, 1.0], [-np.pi / 6, -2.0]])
    np.testing.assert_allclose(system.drift(states), [[0, 0.3], [1, -1.1], [-2, 0.3 + 0.5 + 0.8]])
    turn = np.array([4 * np.pi, 0.0])
    np.testing.assert_allclose(system.drift(states + turn), system.drift(states), atol=1e-14)


def test_small_swings_are_harmonic():
    system, times = Pendulum(torque=0, damping=0.5, noise=0), np.linspace(0, 2, 5)
    start = np.array([[1e-3, 0.0]])
    flow, _ = HarmonicOscillator(frequency=1, damping=0.5).transition_matrices(times[1:])
    np.testing.assert_allclose(system.simulate_states(1, 0, times, start)[0, 1:], flow @ start[0], atol=2e-6)


def test_paths_make_full_turns():
    turns = Pendulum(dt=0.01).simulate_states(500, 0)[:, -1, 0] / (2 * np.pi)
    assert 0.2 < (turns > 1).mean() < 0.8  # some rotate, some hang
    assert turns.max() > 3
