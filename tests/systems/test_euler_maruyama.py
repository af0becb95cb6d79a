"""The Euler–Maruyama scheme: fine steps, and jumps that are Poisson in number and follow their law."""

import numpy as np
import pytest

from known_systems import JUMPING, every, states_of
from nke.systems import DoubleWell
from nke.systems.euler_maruyama import fine_steps
from standard_errors import assert_within_standard_errors


@pytest.mark.parametrize(
    ("interval", "count"), [(0.02, 20), (0.05, 50), (0.0205, 21), (1e-5, 1), (0.3 - 0.2, 100), (1e-3, 1)]
)
def test_fine_steps(interval, count):
    assert fine_steps(interval, 1e-3) == (count, interval / count)


@every(JUMPING)
def test_drawn_jumps_follow_the_law(system):
    x = states_of(system)[1]
    law = system.jump_law(x)
    jumps = system.sample_jumps(np.broadcast_to(x, (50_000, system.dimension)), np.random.default_rng(0))
    assert_within_standard_errors(jumps, law.mean)
    centred = jumps - law.mean
    assert_within_standard_errors(centred[:, :, None] * centred[:, None, :], law.covariance)


def test_counts_are_poisson():
    """Without noise a fine step that leaves x + f(x)h has jumped: probability 1 − exp(−λh)."""
    h, rate, paths = 0.01, 1.5, 2000
    system = DoubleWell(noise=0, rate=rate, dt=h)
    states = system.simulate_states(paths, 2, h * np.arange(201))
    residual = states[:, 1:] - states[:, :-1] - h * system.drift(states[:, :-1])
    jumped = np.abs(residual[..., 0]) > 1e-12
    assert np.abs(residual[..., 1:]).max() < 1e-12
    p, n = 1 - np.exp(-rate * h), jumped.size
    assert abs(jumped.sum() - n * p) < 4 * np.sqrt(n * p * (1 - p))
    counts = jumped.sum(axis=1)
    variance = 200 * p * (1 - p)
    assert abs(counts.var() - variance) < 4 * variance * np.sqrt(2 / paths + 1 / (paths * variance))


def test_several_jumps_in_one_step():
    """From the saddle without noise one step is a sum of Poisson(λh) jumps of variance σ_J²."""
    system = DoubleWell(noise=0, rate=20, jump_scale=0.5, dt=0.1)
    x = system.simulate_states(50_000, 0, [0.0, 0.1], np.zeros((50_000, 3)))[:, 1, 0]
    assert_within_standard_errors(x == 0, np.exp(-2.0))
    assert_within_standard_errors(x**2, 2.0 * 0.25)
    assert_within_standard_errors(x**4, 3 * 0.25**2 * (2.0 + 2.0**2))
