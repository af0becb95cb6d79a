"""The non-gradient well: its drift by hand, and its decomposition along and across the level sets of V."""

import numpy as np

from nke.systems import NonGradientWell


def test_drift_by_hand():
    half, sine = np.pi / 2, 2.0  # 1 + sin(π/2) = 2
    slope = half * (1 - half**2)
    states = [[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [0.0, 2.0], [half, 3.0]]
    truth = [[0, 0], [0, 0], [0, 0], [2, -2], [slope / 5 + 3 * sine, -3 + 2 * slope * sine]]
    np.testing.assert_allclose(NonGradientWell().drift(states), truth, atol=1e-14)


def test_circulation_follows_the_level_sets():
    """f + a∇V/2 is orthogonal to ∇V with V = 5(1 − x²)² + 5y²."""
    system = NonGradientWell()
    states = system.initial(50, np.random.default_rng(0))
    x, y = states.T
    gradient = np.stack([-20 * x * (1 - x**2), 10 * y], axis=-1)
    circulation = system.drift(states) + np.einsum("mij,mj->mi", system.diffusion(states), gradient) / 2
    np.testing.assert_allclose((circulation * gradient).sum(axis=-1), 0.0, atol=1e-11)
    assert np.abs(circulation).max() > 1


def test_recording_as_published():
    system = NonGradientWell()
    assert len(system.times) == 21
    assert system.dt == system.interval / 10
    starts = system.initial(1000, np.random.default_rng(0))
    np.testing.assert_allclose(np.abs(starts).max(axis=0), [2, 3], rtol=0.01)
