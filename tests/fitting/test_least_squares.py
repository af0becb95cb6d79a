"""Drift by weighted least squares: coefficients, degrees that the data supports, steps that no model describes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import nke
from nke.data import Coordinates
from nke.fitting import SelectionRules
from nke.fitting.initial_moments import TransitionSample
from nke.fitting.least_squares import DriftRegression, polynomial_drift
from nke.operators import DriftNetwork, monomials

RULES = SelectionRules()


@pytest.mark.parametrize("degree", [1, 2])
def test_least_squares_find_a_polynomial_and_the_network_starts_there(degree):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 2))
    terms = monomials(x, degree)
    slopes, constant = rng.normal(size=(2, terms.shape[1])), np.array([0.5, -1.0])
    found = polynomial_drift(terms, constant + terms @ slopes.T, rng.uniform(0.5, 2, size=x.shape))
    # A ridge of 1e-4 on columns of mean square one.
    np.testing.assert_allclose(found[1], slopes, atol=2e-3)
    np.testing.assert_allclose(found[0], constant, atol=2e-3)
    drift = DriftNetwork(jnp.array([2.0, 3.0]), 8, 1, degree, key=jax.random.key(0))
    drift = drift.starting_from(*map(jnp.asarray, found))
    np.testing.assert_allclose(drift(jnp.asarray(x[0], jnp.float32)), found[0] + found[1] @ terms[0], rtol=1e-5)


@pytest.fixture(scope="module")
def cubic() -> tuple[TransitionSample, DriftRegression]:
    """dx = −x³ dt + 0.1 dW by its exact flow, some states too far out for a step of 0.2."""
    rng, step = np.random.default_rng(0), 0.2
    x = np.concatenate([rng.uniform(-1.5, 1.5, 4000), rng.uniform(-4, 4, 400)])
    y = x / np.sqrt(1 + 2 * step * x**2) + 0.1 * np.sqrt(step) * rng.normal(size=len(x))
    pairs = nke.Trajectories(np.stack([x, y], axis=1)[..., None], step)
    sample = TransitionSample(pairs.transitions(), Coordinates.raw(pairs), None, RULES.near_zero)
    return sample, DriftRegression(sample, np.zeros(len(x)), "constant", RULES)


def test_steps_too_long_for_any_discrete_model_are_left_out(cubic):
    """Over a step s the drift −x³ changes by |(1 − s x²)³ − 1|, by all of it at s x² = 1."""
    sample, regression = cubic
    fine = regression.within_model_validity(sample.x, sample.step)
    assert 0.9 < fine.mean() < 1
    assert not fine[np.abs(sample.x[:, 0]) > 3].any()
    assert fine[np.abs(sample.x[:, 0]) < 1.5].all()


def test_the_degree_that_the_data_supports_is_among_those_tried(cubic):
    assert cubic[1].degrees()[-1] == 3
