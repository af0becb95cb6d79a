"""Metrics of paths against SciPy, POT and closed forms; wrong models are caught by them."""

from collections.abc import Callable

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import ot
import pytest
from jaxtyping import Array, Float
from scipy.stats import kurtosis, wasserstein_distance

from nke.bench.true_score import true_generator
from nke.data import Coordinates
from nke.evaluation import path_metrics, sliced_wasserstein
from nke.model import Model
from nke.operators import Advection, Diffusion, Generator, PoissonJump
from nke.systems import DoubleWell


def test_increment_metrics_equal_scipy():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(30, 6, 2)).cumsum(axis=1), rng.standard_t(5, size=(20, 6, 2)).cumsum(axis=1)
    found = path_metrics(a, reference=b)
    da, db = (np.diff(paths, axis=1).reshape(-1, 2) for paths in (a, b))
    transport = np.mean([wasserstein_distance(da[:, i], db[:, i]) / db[:, i].std() for i in range(2)])
    assert found.increment_wasserstein == pytest.approx(transport, rel=1e-9)
    assert found.increment_kurtosis == pytest.approx(np.mean(kurtosis(da)), rel=1e-9)
    assert found.kurtosis_error == pytest.approx(np.mean(np.abs(kurtosis(da) - kurtosis(db))), rel=1e-9)


def test_sliced_distance_equals_pot_on_the_same_directions():
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(40, 1, 3)), rng.normal(0.5, 2.0, size=(25, 1, 3))
    axes = np.random.default_rng(7).standard_normal((3, 20))
    axes /= np.linalg.norm(axes, axis=0)
    expected = ot.sliced_wasserstein_distance(a[:, 0], b[:, 0], projections=axes, p=1)
    assert sliced_wasserstein(a, b, directions=20, seed=7) == pytest.approx(float(expected), rel=1e-6)


def test_sliced_distance_of_shifted_gaussians_has_its_closed_form():
    """A shift m moves every projection by |m·u|, whose mean over the sphere in three dimensions is |m|/2."""
    x = np.random.default_rng(2).normal(size=(50, 2, 3))
    shift = np.array([0.0, 3.0, 4.0])
    found = sliced_wasserstein(x + shift, x, directions=4000)
    assert found == pytest.approx(2.5, abs=5 * 5 / np.sqrt(12 * 4000))


class Scaled(eqx.Module):
    """A function times a number; the number is an array, so that models of different ones share what is compiled."""

    function: Callable = eqx.field(static=True)
    factor: Float[Array, ""]

    def __call__(self, x):
        return self.factor * self.function(x)


class ScaledRate(eqx.Module):
    """Rate, times a number, and law of a jump."""

    rate: Scaled
    law: Callable = eqx.field(static=True)

    def __call__(self, x):
        return self.rate(x), self.law(x)


SYSTEM = DoubleWell(dt=0.01)
TRUE = true_generator(SYSTEM)


def altered(drift=1.0, noise=1.0, jumps=1.0):
    """The double well with its coefficients multiplied by these factors, as a model."""
    drift, noise, rate = (
        Scaled(function, jnp.asarray(factor))
        for function, factor in (
            (TRUE.advection.drift, drift),
            (TRUE.diffusion.factor, noise),
            (SYSTEM.jump_rate, jumps),
        )
    )
    jump = PoissonJump(ScaledRate(rate, SYSTEM.jump_law), TRUE.jump.order)
    generator = Generator(Advection(drift), Diffusion(noise), jump)
    return Model(generator, Coordinates(np.zeros(3), np.ones(3), 1.0), 0.05, ("x1", "x2", "x3"), ("",) * 3)


@pytest.fixture(scope="module")
def excess():
    """Of a model's metrics over those of the true double well against itself, in standard deviations."""
    times = np.linspace(0, 2, 41)
    test = SYSTEM.simulate(256, seed=3, times=times)
    again = [SYSTEM.simulate_states(256, 10 + i, times, test.initial) for i in range(10)]
    rows = np.array([path_metrics(paths, reference=np.asarray(test.states)) for paths in again])

    def measured(model):
        found = path_metrics(model.sample(test.initial, times, seed=1), reference=np.asarray(test.states))
        return np.abs(np.array(found) - rows.mean(axis=0)) / rows.std(axis=0, ddof=1)

    return measured


@pytest.mark.parametrize("change", [{"noise": 2.0}, {"noise": 1e-3}, {"drift": 0.0}, {"jumps": 0.0}])
def test_a_wrong_generator_is_caught_by_a_metric(excess, change):
    """Noise doubled or removed, drift zeroed, jumps removed."""
    assert excess(altered(**change)).max() > 6


def test_the_true_generator_is_not_caught(excess):
    assert excess(altered()).max() < 6
