"""Predator and prey: drift by hand, positive states at any step, moments of a short step."""

import numpy as np
import pytest

from nke.systems import PredatorPrey
from standard_errors import assert_within_standard_errors


def test_drift_by_hand():
    system = PredatorPrey(
        growth=2, capacity=4, predation=3, half_saturation=0.5, efficiency=0.2, mortality=0.7, noise=0.3
    )
    taken = 3 * 1.5 * 2 / (0.5 + 1.5)
    np.testing.assert_allclose(system.drift([1.5, 2.0]), [2 * 1.5 * (1 - 1.5 / 4) - taken, 0.2 * taken - 0.7 * 2])
    np.testing.assert_allclose(PredatorPrey().drift([1.0, 0.6]), 0.0, atol=1e-15)


def test_states_stay_positive_at_strong_noise_and_coarse_steps():
    states = PredatorPrey(noise=2, dt=0.1).simulate_states(1000, 0)
    assert states.shape == (1000, 101, 2)
    assert (states > 0).all()


def test_only_positive_states_can_start():
    with pytest.raises(ValueError, match="trajectory 1 starts at"):
        PredatorPrey().simulate(2, 0, initial=[[1.0, 1.0], [1.0, 0.0]])


@pytest.mark.parametrize("x", [(0.3, 0.9), (2.0, 0.4)])
def test_moments_of_a_short_step(x):
    """To three standard errors; the mean's next term is h/2 · |f'f + …| < h, the variance's of relative size h."""
    system, h, count = PredatorPrey(noise=0.3), 1e-3, 100_000
    change = system.simulate_states(count, 4, [0.0, h], np.broadcast_to(x, (count, 2)))[:, 1] - x
    assert_within_standard_errors(change / h, system.drift(x), errors=3, bias=h)
    centred = change - change.mean(axis=0)
    products = centred[:, :, None] * centred[:, None, :] / h
    assert_within_standard_errors(products, system.diffusion(x), errors=3, bias=5 * h * system.diffusion(x).max())
