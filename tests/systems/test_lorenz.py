"""Lorenz: no path is lost, the order of the splitting, and a linear equation for a mean."""

import numpy as np
from scipy.integrate import solve_ivp, trapezoid

from nke.systems import Lorenz
from standard_errors import assert_within_standard_errors


def test_no_path_is_lost_at_strong_noise():
    """The explicit scheme loses about one path in a hundred."""
    states = Lorenz(noise=3).simulate_states(1500, 0)
    assert states.shape == (1500, 101, 3)
    assert np.isfinite(states).all()


def test_second_order_without_noise():
    start = np.array([[1.0, 2.0, 20.0], [-5.0, -3.0, 25.0]])
    system = Lorenz(noise=0)
    options = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-12}
    reference = [solve_ivp(lambda _, x: system.drift(x), (0, 0.5), x, **options).y[:, -1] for x in start]
    steps = np.array([4e-3, 2e-3, 1e-3])
    errors = [
        np.abs(Lorenz(noise=0, dt=dt).simulate_states(2, 0, [0.0, 0.5], start)[:, 1] - reference).max() for dt in steps
    ]
    orders = np.diff(np.log(errors)) / np.diff(np.log(steps))
    assert (np.abs(orders - 2) < 0.1).all(), orders
    assert errors[-1] < 0.01


def test_mean_of_x_obeys_its_linear_equation():
    """x' = σ(y − x) is linear, so E x(t) = E x(0) + σ∫E(y − x): a check over many noisy steps."""
    times = np.linspace(0, 0.2, 101)
    states = Lorenz(noise=1).simulate_states(4000, 3, times)
    change = 10 * trapezoid(states[..., 1] - states[..., 0], times, axis=1)
    assert_within_standard_errors(states[:, -1, 0] - states[:, 0, 0] - change, 0.0, bias=1e-2)
