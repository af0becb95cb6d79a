"""The periodic potential: coefficients by hand, their period, jumps one way at the stated rate."""

import numpy as np

from nke.systems import PeriodicPotential


def test_coefficients_by_hand():
    system = PeriodicPotential(tilt=0.2, strength=2, noise=0.5, rate=0.8)
    x = np.array([[0.0], [np.pi / 2], [np.pi], [-np.pi / 6]])
    np.testing.assert_allclose(system.drift(x)[:, 0], [0.2, -1.8, 0.2, 1.2])
    np.testing.assert_allclose(system.noise_matrix(x)[:, 0, 0], [0.7, 0.5, 0.3, 0.5 + 0.1 * np.sqrt(3)])
    np.testing.assert_allclose(system.jump_rate(x), [0.8, 1.2, 0.8, 0.6])


def test_period():
    system = PeriodicPotential()
    x = np.linspace(-3, 3, 7)[:, None]
    for method in (system.drift, system.diffusion, system.jump_rate):
        np.testing.assert_allclose(method(x + 4 * np.pi), method(x), atol=1e-14)


def test_jumps_go_one_way_at_the_stated_rate():
    """Jumps minus their compensator are a martingale, whatever the weight by the state before."""
    system = PeriodicPotential(dt=0.01)
    states = system.simulate_states(1000, 4, 0.01 * np.arange(301))
    before = states[:, :-1]
    change = (states[:, 1:] - before - 0.01 * system.drift(before))[..., 0]
    jumped = change > 0.45  # jumps of 1.5 with sd 0.3; the noise of a step has sd 0.07 at most
    assert change.min() > -0.45
    chance = 1 - np.exp(-0.01 * system.jump_rate(before))
    for test in (np.ones_like(chance), np.sin(before[..., 0]), np.cos(before[..., 0])):
        assert abs((test * (jumped - chance)).sum()) < 4 * np.sqrt((test**2 * chance).sum())
