"""The share of independent transitions, where it is known."""

import numpy as np
import pytest

from nke.evaluation import independent_share


def path(memory: float, count: int, rng: np.random.Generator) -> np.ndarray:
    """A stationary autoregression of unit variance."""
    x = np.empty(count)
    x[0] = rng.normal()
    for k in range(1, count):
        x[k] = memory * x[k - 1] + np.sqrt(1 - memory**2) * rng.normal()
    return x


def test_noise_without_memory_is_independent():
    """At the level of the test two coordinates are both independent in all of 200 data sets, but for one in fifty."""
    rng = np.random.default_rng(0)
    shares = [independent_share(rng.normal(size=(1000, 2)), np.repeat([0, 1], 500)) for _ in range(200)]
    assert np.sum(np.array(shares) < 1) <= 2


@pytest.mark.parametrize("memory", [0.5, 0.9])
def test_it_is_that_of_an_autoregression(memory):
    """The squares of a Gaussian autoregression have the autocorrelations ρ^2k, so that 1/τ = (1 − ρ²)/(1 + ρ²).

    The variance of the mean of squares over many paths says the same without autocorrelations: by 200 paths it is known
    to 10 %, and the share of one path of 20,000 steps, whose sum ends where correlations are lost in chance, to 15 %.
    """
    rng = np.random.default_rng(1)
    exact = (1 - memory**2) / (1 + memory**2)
    x = path(memory, 20_000, rng)
    assert independent_share(x[:, None], np.zeros(len(x), int)) == pytest.approx(exact, rel=0.15)
    means = [np.mean(path(memory, 1000, rng) ** 2) for _ in range(200)]
    assert 2 / 1000 / np.var(means) == pytest.approx(exact, rel=0.3)


def test_other_trajectories_are_no_neighbours():
    """Paths of 250 steps, each of its own size: within them sizes are alike, from one to the next they are not."""
    rng = np.random.default_rng(2)
    white = np.repeat(rng.exponential(size=40), 250)[:, None] * rng.normal(size=(10_000, 1))
    owner = np.repeat(np.arange(40), 250)
    assert independent_share(white, owner) < 0.1
    assert independent_share(white, np.arange(10_000)) == 1.0
