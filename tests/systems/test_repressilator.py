"""The repressilator: coefficients by hand, positive paths, oscillation."""

import numpy as np
from scipy.integrate import solve_ivp

from nke.systems import Repressilator


def test_coefficients_by_hand():
    system = Repressilator(strength=9, exponent=2, leak=0.5, volume=10)
    births = np.array([9 / 2 + 0.5, 9 / 5 + 0.5, 9 / 10 + 0.5])  # repressed by 1, 2 and 3
    x = np.array([2.0, 3.0, 1.0])
    np.testing.assert_allclose(system.drift(x), births - x)
    np.testing.assert_allclose(system.diffusion(x), np.diag((births + x) / 10))


def test_below_zero():
    """A negative concentration represses as zero does; noise ends where births and deaths would."""
    system = Repressilator()
    x = np.array([-20.0, 1.0, 1.0])
    np.testing.assert_allclose(system.drift(x), [5.1 + 20, 10.1 - 1, 5.1 - 1])
    assert system.diffusion(x)[0, 0] == 0


def test_no_path_of_a_thousand_is_negative():
    states = Repressilator(dt=0.01).simulate_states(1000, 0)
    assert states.shape == (1000, 101, 3)
    assert states.min() > 0.2


def test_oscillates_without_noise():
    """The fixed point is unstable: a small deviation grows into a cycle."""
    system = Repressilator()
    path = solve_ivp(lambda _, x: system.drift(x), (0, 60), [1.7, 1.75, 1.7], t_eval=np.linspace(50, 60, 100)).y
    assert (np.ptp(path, axis=1) > 1).all()
