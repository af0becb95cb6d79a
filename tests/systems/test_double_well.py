"""The double well: its stationary law, its transition density against simulation, and lost paths."""

import numpy as np
import pytest
from scipy.integrate import cumulative_trapezoid
from scipy.stats import kstest, norm

from nke.systems import DoubleWell


def test_stationary_law_without_jumps():
    """p ∝ exp(−2V/σ²); Euler–Maruyama at dt moves it by less than the sampling error."""
    system = DoubleWell(rate=0, confinement=2, dimension=2, dt=5e-3)
    x = system.simulate_states(4000, 0, [0.0, 15.0])[:, 1]
    axis = np.linspace(-3, 3, 2001)
    density = np.exp(-2 * (axis**2 - 1) ** 2 / 4 / 0.25)
    distribution = cumulative_trapezoid(density, axis, initial=0.0)
    distribution /= distribution[-1]
    assert kstest(x[:, 0], lambda points: np.interp(points, axis, distribution)).pvalue > 1e-3
    assert kstest(x[:, 1], norm(scale=np.sqrt(0.25 / (2 * 2))).cdf).pvalue > 1e-3


def test_lost_path_is_named():
    start = np.array([[0.0, 0, 0], [50.0, 0, 0], [1.0, 0, 0]])
    with pytest.raises(FloatingPointError, match=r"trajectory 1 of DoubleWell.* by time 10.*1 of 3"):
        DoubleWell(rate=0, dt=0.1).simulate_states(3, 0, [0.0, 0.5, 10.0], start)


@pytest.mark.parametrize("system", [DoubleWell(dimension=1), DoubleWell(rate=0, dimension=1)], ids=["jumps", "calm"])
def test_simulated_paths_follow_it(system):
    """Probabilities of eight bins within 4 standard errors, and dt = 1e-3's own error of 0.002."""
    step, count = 0.3, 40_000
    ends = system.simulate_states(count, 0, [0.0, step], np.full((count, 1), 0.5))[:, -1, 0]
    edges = np.linspace(-0.5, 1.5, 9)
    grid = np.linspace(edges[0], edges[-1], 8 * 40 + 1)
    density = np.exp(system.log_prob(grid[:, None], given=[0.5], step=step))
    share = [np.trapezoid(density[40 * i : 40 * i + 41], grid[40 * i : 40 * i + 41]) for i in range(8)]
    found = np.histogram(ends, edges)[0] / count
    np.testing.assert_array_less(np.abs(found - share), 4 * np.sqrt(np.array(share) / count) + 0.002)


@pytest.mark.parametrize("confinement", [0.0, 1.5])
def test_across_the_axis_it_is_ornstein_uhlenbeck(confinement):
    whole, axis = DoubleWell(confinement=confinement), DoubleWell(dimension=1)
    x, y, step = np.array([0.5, -0.3, 0.2]), np.array([0.6, -0.1, 0.1]), 0.3
    variance = 0.25 * (step if confinement == 0 else (1 - np.exp(-2 * confinement * step)) / (2 * confinement))
    across = norm.logpdf(y[1:], x[1:] * np.exp(-confinement * step), np.sqrt(variance)).sum()
    assert whole.log_prob(y, given=x, step=step) == pytest.approx(
        axis.log_prob(y[:1], given=x[:1], step=step) + across, rel=1e-9
    )


def test_without_noise_there_is_no_density():
    with pytest.raises(NotImplementedError, match="noise > 0"):
        DoubleWell(noise=0).log_prob(np.zeros(3), given=np.zeros(3), step=0.1)
