"""Phase oscillators: drift by hand, symmetries, and phases that come together."""

import numpy as np

from nke.systems import PhaseOscillators


def test_drift_by_hand():
    two = PhaseOscillators(coupling=3, spread=0.5, dimension=2)
    np.testing.assert_allclose(two.drift([0.0, np.pi / 6]), [-0.5 + 0.75, 0.5 - 0.75])
    five = PhaseOscillators(coupling=2)
    np.testing.assert_allclose(five.drift(np.full(5, 0.7)), [-1, -0.5, 0, 0.5, 1])
    np.testing.assert_allclose(PhaseOscillators(dimension=1).drift([0.7]), [0.0])


def test_only_differences_of_phases_count():
    """A common shift and full turns change nothing; the mean phase does not move."""
    system = PhaseOscillators()
    x = system.initial(10, np.random.default_rng(0))
    turns = 2 * np.pi * np.arange(-2, 3)
    np.testing.assert_allclose(system.drift(x + 0.3 + turns), system.drift(x), atol=1e-13)
    np.testing.assert_allclose(system.drift(x).sum(axis=-1), 0.0, atol=1e-13)


def test_strong_coupling_brings_the_phases_together():
    states = PhaseOscillators(coupling=4, dt=0.01).simulate_states(300, 0)
    order = np.abs(np.exp(1j * states).mean(axis=-1)).mean(axis=0)
    assert order[0] < 0.55
    assert order[-1] > 0.85
