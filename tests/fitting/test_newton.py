"""Newton's method by scores: the maximum in closed form, and how it says that it ended."""

import warnings
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from drawn_steps import STEP, drawn_steps, linear, polynomial
from nke.fitting import Outcome
from nke.fitting.newton import BATCH, Newton, ParameterVector, Sums, inverse_information
from nke.operators import EulerMaruyamaRule, ForwardPacket, Generator, TransitionRule, trainable

RULE = EulerMaruyamaRule()


@pytest.fixture(scope="module")
def steps():
    return drawn_steps(linear)


def vector(generator: Generator) -> ParameterVector:
    return ParameterVector.of(generator, trainable(generator))


class TestMaximum:
    def test_is_least_squares_for_linear_drift_and_constant_noise(self, steps):
        """Closed form: coefficients by least squares, a by the mean of the squares that are left."""
        found = Newton().run(RULE, vector(polynomial()), steps)
        columns = np.concatenate([np.ones((len(steps.x), 1)), steps.x], axis=1)
        velocity = np.asarray(steps.displacement) / STEP
        exact = np.linalg.lstsq(columns, velocity, rcond=None)[0]
        rest = velocity - columns @ exact
        a = STEP * rest.T @ rest / len(rest)
        errors = np.sqrt(np.linalg.inv(columns.T @ columns).diagonal()[:, None] * a.diagonal() / STEP)
        law = found.parameters.generator
        skip = law.drift_network.body.skip
        table = 2 * np.concatenate([skip.bias[:, None], skip.weight], axis=1)
        assert (np.abs(table.T - exact) < 0.05 * errors).all()
        np.testing.assert_allclose(law.diffusion.tensor(jnp.zeros(2)), a, atol=2e-3)

    def test_leaves_inactive_parameters_at_zero(self, steps):
        start = vector(polynomial())
        active = start.active.copy()
        active[0] = False
        found = Newton().run(RULE, start, steps).parameters
        held = Newton().run(RULE, replace(start, active=active), steps).parameters
        assert found.values[0] != 0
        assert held.values[0] == 0


class TestParameterVector:
    def test_gives_the_generator_back(self):
        generator = polynomial(jumps=True)
        for old, new in zip(jax.tree.leaves(generator), jax.tree.leaves(vector(generator).generator), strict=True):
            np.testing.assert_array_equal(new, old)

    def test_sums_and_densities_over_more_than_one_batch(self, steps):
        """The last batch is filled up: what fills it must not count."""
        at, one = vector(polynomial()), lambda x, moved, step: RULE.log_prob(polynomial(), x, moved, step)
        assert len(steps.step) % BATCH != 0
        exact = np.asarray(jax.jit(jax.vmap(one))(*steps), np.float64)
        np.testing.assert_allclose(at.log_prob(RULE, steps), exact, rtol=1e-5)
        sums, scores = at.sums(RULE, steps), at.scores(RULE, steps)
        assert sums.value == pytest.approx(exact.sum(), rel=1e-6)
        np.testing.assert_allclose(sums.gradient, scores.sum(axis=0), rtol=1e-9)
        np.testing.assert_allclose(sums.information, scores.T @ scores, rtol=1e-9)


class Kinked(TransitionRule):
    """A log density with a kink close to the start, past which every step of Newton's method goes."""

    def packet(self, generator, x, step):
        raise NotImplementedError

    def log_prob(self, generator, x, moved, step):
        return -jnp.abs(generator.drift_network.body.skip.bias[0] - 1e-3)


class TestOutcome:
    def test_converged(self, steps):
        found = Newton().run(RULE, vector(polynomial()), steps)
        assert found.outcome is Outcome.CONVERGED
        again = Newton().run(RULE, found.parameters, steps)
        np.testing.assert_array_equal(again.parameters.values, found.parameters.values)

    def test_budget_used(self, steps):
        found = Newton(iterations=1).run(RULE, vector(polynomial()), steps)
        assert found.outcome is Outcome.BUDGET_USED
        assert found.evidence.value > vector(polynomial()).sums(RULE, steps).value

    def test_no_progress(self, steps):
        start = vector(polynomial())
        found = Newton().run(Kinked(), start, steps)
        assert found.outcome is Outcome.NO_PROGRESS
        np.testing.assert_array_equal(found.parameters.values, start.values)

    def test_not_finite(self, steps):
        lost = steps._replace(displacement=steps.displacement.at[7].set(jnp.inf))
        assert Newton().run(RULE, vector(polynomial()), lost).outcome is Outcome.NOT_FINITE

    def test_steps_are_counted(self, steps):
        counted = []
        Newton(iterations=2, tolerance=0.0).run(RULE, vector(polynomial()), steps, counted.append)
        assert counted == [1, 1]


def test_information_of_very_different_size_is_inverted():
    """A few far states make entries of high powers huge: three parameters whose units are 1, 1e9 and 1e18."""
    units = np.array([1.0, 1e9, 1e18])
    core = np.array([[4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 2.0]])
    found = inverse_information(1e6 * core * units[:, None] * units)
    np.testing.assert_allclose(found * units[:, None] * units, np.linalg.inv(1e6 * core), rtol=1e-5)


class TestOverflow:
    """A trial so far away that powers of the state overflow: no warning reaches the user, and the step has failed."""

    @pytest.fixture
    def far(self, steps) -> ParameterVector:
        start = vector(polynomial(3))
        assert start.direct is not None  # in NumPy, which would warn
        return start.at(np.full_like(start.values, 1e30))

    def test_is_silent_and_not_finite(self, far, steps):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert not far.sums(ForwardPacket(), steps).finite

    def test_ends_a_search_that_starts_there(self, far, steps):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert Newton().run(ForwardPacket(), far, steps).outcome is Outcome.NOT_FINITE

    def test_an_infinite_density_is_no_gain(self):
        assert not Sums(np.inf, np.zeros(1), np.eye(1)).finite
