"""Stochastic gradients: steps that are left out, the parameters that are kept, how it says that it ended."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nke.errors import DivergenceError
from nke.fitting import Blocks, FitRun, Outcome, Schedule, Trainer, TrainingLog
from nke.fitting.stochastic import StochasticGradient, held_out_loss, losses


class Number(eqx.Module):
    value: jax.Array


def squared_distance(number: Number, data: jax.Array, i: jax.Array) -> jax.Array:
    return (number.value - data[i]) ** 2


START = Number(jnp.asarray(0.0))
SCHEDULE = Schedule(steps=1000, learning_rate=0.05, particles=10, patience=100)


def blocks(values) -> Blocks:
    return Blocks(jnp.asarray(values, jnp.float32), len(values), 1)


@pytest.fixture(scope="module")
def values() -> np.ndarray:
    return np.random.default_rng(0).normal(3.0, 1.0, size=100).astype(np.float32)


@pytest.mark.parametrize("bad", [0, 2])
def test_steps_whose_gradient_is_not_finite_are_left_out(values, bad):
    """The mean of the others is found, within 5 times what the last steps' own batches leave."""
    fine, training = values[bad:], np.where(np.arange(100) < bad, np.nan, values)
    found = StochasticGradient(SCHEDULE, jax.random.key(0)).run(
        squared_distance, START, (blocks(training), blocks(fine))
    )
    assert found.outcome is Outcome.BUDGET_USED
    # Parameters are averages over about 100 steps of batches of 10, so that 1000 draws are in them.
    assert abs(float(found.parameters.value) - fine.mean()) < 5 / np.sqrt(1000)


class TestMostStepsNotFinite:
    @pytest.fixture
    def data(self, values):
        return blocks(np.where(np.arange(100) < 60, np.nan, values)), blocks(values)

    def test_is_a_named_outcome_and_leaves_the_start(self, data):
        found = StochasticGradient(SCHEDULE, jax.random.key(0)).run(squared_distance, START, data)
        assert found.outcome is Outcome.NOT_FINITE
        assert float(found.parameters.value) == 0.0

    def test_is_an_error_with_advice_in_a_fit(self, data):
        with pytest.raises(DivergenceError, match="NaN or infinite while training; lower the learning rate"):
            Trainer(SCHEDULE, FitRun(0)).train("distance", squared_distance, START, data)


def test_without_a_better_held_out_loss_patience_ends(values):
    """Held-out values far on the other side: every step makes it worse, and the start is kept."""
    seen, counted = [], []
    schedule = Schedule(steps=1000, learning_rate=0.05, particles=10, patience=2)
    found = StochasticGradient(schedule, jax.random.key(0), counted.append, seen.append).run(
        squared_distance, START, (blocks(values), blocks(-values))
    )
    assert found.outcome is Outcome.CONVERGED
    assert found.evidence.steps.tolist() == [200, 400]
    assert found.evidence.best == -1
    assert float(found.parameters.value) == 0.0
    assert len(seen) == 2
    assert sum(counted) == schedule.steps  # a progress bar ends full


def test_the_last_parameters_are_kept_where_no_block_is_seen_twice():
    log = TrainingLog(keep_last=True)
    assert log.record(200, 1.0, 1.0, 0.1)
    assert log.record(200, 1.0, 2.0, 0.1)
    assert log.curve("trial").best == 1
    assert log.curve("trial").kind == "trial"


def test_losses_of_more_blocks_than_a_batch(values):
    many = np.resize(values, 10_000)
    found = losses(squared_distance, START, blocks(many))
    np.testing.assert_allclose(found, many**2, rtol=1e-6)
    assert held_out_loss(squared_distance, START, blocks(many)) == pytest.approx(float((many**2).mean()), rel=1e-5)


class TestSchedule:
    @pytest.mark.parametrize(
        "options",
        [{"steps": 0}, {"learning_rate": 0.0}, {"weight_decay": -1.0}, {"particles": 0}, {"patience": 0}],
    )
    def test_wrong_ones_are_refused(self, options):
        with pytest.raises(ValueError, match="expected"):
            Schedule(**options)

    def test_the_rate_falls_along_a_half_cosine(self):
        schedule = Schedule(steps=100, learning_rate=2.0)
        rates = np.concatenate([schedule.rates(0, 60), schedule.rates(60, 40)])
        expected = 2 * (0.01 + 0.99 * (1 + np.cos(np.pi * np.arange(100) / 100)) / 2)
        np.testing.assert_allclose(rates, expected, rtol=1e-5)
