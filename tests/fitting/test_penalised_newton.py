"""Newton's method under penalties: its sums, the maximum and the evidence in closed form, groups that are dropped."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from drawn_steps import STEP, drawn_steps, linear, polynomial
from nke.fitting import Outcome, Steps
from nke.fitting.evidence import WEAK
from nke.fitting.newton import BATCH, Newton, ParameterVector
from nke.fitting.penalised_newton import (
    PenalisedNewton,
    PenalisedParameters,
    examined,
    laplace_evidence,
    posterior_covariance,
    sums,
)
from nke.operators import EulerMaruyamaRule, Generator, TransitionRule, monomial_degrees, trainable

RULE = EulerMaruyamaRule()


@pytest.fixture(scope="module")
def steps() -> Steps:
    return drawn_steps(linear)


def parameters(generator: Generator) -> PenalisedParameters:
    """Drift and noise in a block each; the drift's powers of degree two and three in a group each."""
    vector = ParameterVector.of(generator, trainable(generator))
    skip = jax.tree.map(lambda a: a.astype(int), vector.places.drift_network.body.skip)
    powers = np.array(skip.weight)
    degrees = np.broadcast_to(monomial_degrees(2, 3)[: powers.shape[1]], powers.shape)
    groups = np.full(len(vector.values), -1)
    groups[powers] = degrees - 2
    drift = np.concatenate([np.array(skip.bias), powers.ravel()])
    noise = np.setdiff1d(np.arange(len(groups)), drift)
    constants = {"drift": np.array(skip.bias), "noise": noise}
    return PenalisedParameters(vector, groups, np.ones(2 * (degrees.max() > 1)), (drift, noise), constants)


def first(steps: Steps, count: int) -> Steps:
    return Steps(*(a[:count] for a in steps))


class TestSums:
    def test_are_those_of_the_scores(self, steps):
        """Over three batches, the last one filled up: what fills it must not count."""
        at = parameters(polynomial())
        assert len(steps.step) % BATCH != 0
        assert len(steps.step) > 2 * BATCH
        found, scores, values = sums(RULE, at, steps), at.vector.scores(RULE, steps), at.vector.log_prob(RULE, steps)
        assert found.value == pytest.approx(values.sum(), rel=1e-5)
        size = np.sqrt((scores**2).sum(axis=0))
        assert (np.abs(found.gradient - scores.sum(axis=0)) < 1e-3 * size).all()
        for block, information in zip(at.blocks, found.information, strict=True):
            exact = scores[:, block].T @ scores[:, block]
            assert (np.abs(information - exact) < 1e-4 * np.outer(size[block], size[block])).all()

    @pytest.mark.parametrize("count", [100, BATCH, BATCH + 1])
    def test_of_parts_add_up(self, steps, count):
        at, rest = parameters(polynomial()), Steps(*(a[count:] for a in steps))
        whole, parts = sums(RULE, at, steps), [sums(RULE, at, part) for part in (first(steps, count), rest)]
        assert whole.value == pytest.approx(sum(part.value for part in parts), rel=1e-5)
        np.testing.assert_allclose(whole.gradient, sum(part.gradient for part in parts), rtol=1e-3, atol=0.1)

    def test_single_transitions_by_the_same_program(self, steps):
        at, some = parameters(polynomial()), first(steps, BATCH + 7)
        values, scores = examined(RULE, at, some)
        assert values.shape == (BATCH + 7,)
        np.testing.assert_allclose(values, at.vector.log_prob(RULE, some), rtol=1e-5, atol=1e-5)
        exact = at.vector.scores(RULE, some)
        for name, places in at.constants.items():
            np.testing.assert_allclose(scores[name], exact[:, places], rtol=1e-4, atol=1e-4)


class TestMaximum:
    def test_without_penalties_is_that_of_newtons_method(self, steps):
        """The weak prior moves a parameter by its standard error squared times 1e-3: nothing."""
        at = parameters(polynomial())
        found = PenalisedNewton(tolerance=0.001).run(RULE, at, steps)
        truth = Newton(tolerance=0.001).run(RULE, at.vector, steps)
        errors = 1 / np.sqrt(np.diag(truth.evidence.information))
        assert found.outcome is Outcome.CONVERGED
        assert (np.abs(found.parameters.vector.values - truth.parameters.values) < 0.05 * errors).all()
        assert found.evidence.value == pytest.approx(truth.evidence.value, abs=0.02)

    def test_leaves_inactive_parameters_at_zero(self, steps):
        at = parameters(polynomial())
        at = at.without(np.isin(np.arange(len(at.groups)), at.blocks[1]))
        found = PenalisedNewton().run(RULE, at, steps).parameters
        assert not found.vector.values[at.blocks[1]].any()
        assert at.precision[at.blocks[1]].tolist() == [0.0] * 3
        assert at.penalty(np.ones(len(at.groups))) == pytest.approx(6 * WEAK / 2)


@pytest.fixture(scope="module")
def cubic(steps):
    """A cubic law, of which only the linear part is true, and what is found."""
    start = parameters(polynomial(degree=3))
    return start, PenalisedNewton().run(RULE, start, steps)


class TestGroups:
    def test_useless_powers_are_dropped_by_evidence(self, cubic, steps):
        """Groups of six and eight parameters of noise; the maximum is that of the linear law, within its tolerance."""
        _, found = cubic
        at = found.parameters
        assert found.outcome is Outcome.CONVERGED
        kept = [name for name in (0, 1) if np.isfinite(at.precisions[name])]
        for name in {0, 1} - set(kept):
            assert not at.vector.values[at.groups == name].any()
            assert not at.vector.active[at.groups == name].any()
        truth = PenalisedNewton().run(RULE, parameters(polynomial()), steps)
        assert found.evidence.evidence > truth.evidence.evidence - 2
        assert found.evidence.evidence < truth.evidence.evidence + 4  # by chance

    def test_the_evidence_of_dropped_groups_is_that_without_them(self, cubic, steps):
        start, _ = cubic
        off = start.groups >= 0
        without = replace(start.without(off), precisions=np.full(2, np.inf))
        found = PenalisedNewton().run(RULE, without, steps)
        truth = PenalisedNewton().run(RULE, parameters(polynomial()), steps)
        assert found.evidence.evidence == pytest.approx(truth.evidence.evidence, abs=0.1)
        assert not found.parameters.vector.values[off].any()

    def test_a_group_that_matters_is_kept_and_its_precision_is_its_size(self):
        """f = A x + b − x³/5, each coordinate its own cube: all eight within four errors, λ by their sum of squares."""
        steps = drawn_steps(lambda x: linear(x) - x**3 / 5, seed=2)
        found = PenalisedNewton().run(RULE, parameters(polynomial(degree=3)), steps).parameters
        cubes = found.vector.values[found.groups == 1]
        assert np.isfinite(found.precisions[1])
        assert found.precisions[1] == pytest.approx(len(cubes) / np.sum(cubes**2), rel=0.1)
        table = 2 * np.asarray(found.vector.generator.drift_network.body.skip.weight)
        error = 4 / np.sqrt(STEP * 20_000 * 2)  # the least variance, that of x²y beside y; of x³ beside x it is 6
        assert np.abs(table[:, 5:] - [[-0.2, 0, 0, 0], [0, 0, 0, -0.2]]).max() < error


class TestEvidence:
    COUNT = 2000

    @pytest.fixture(scope="class")
    def linear_law(self, steps):
        """Linear drift with a = I known, the slopes in a group with a penalty."""
        at = parameters(polynomial())
        at = at.without(np.isin(np.arange(len(at.groups)), at.blocks[1]))
        slopes = np.array(at.vector.places.drift_network.body.skip.weight, int)
        groups = at.groups.copy()
        groups[slopes] = 0
        at = replace(at, groups=groups, precisions=np.array([3.0]))
        return PenalisedNewton(tolerance=0.01).run(RULE, at, first(steps, self.COUNT))

    def test_of_a_linear_gaussian_law_is_exact(self, linear_law, steps):
        """Log N(y; 0, s a I + X Λ⁻¹ Xᵀ) of each coordinate, constants with the information of one transition.

        The information by scores replaces XᵀX by Σ x xᵀ r², of relative variance 6/n for a slope and 2/n for a
        constant: the logarithm of its determinant is right to √(4·6/n + 2·2/n)/2, of which four are allowed.
        """
        at, some = linear_law.parameters, first(steps, self.COUNT)
        factor = float(at.vector.generator.noise_factor(jnp.zeros(2))[0, 0])
        x, moved = np.asarray(some.x, np.float64), np.asarray(some.displacement, np.float64)
        columns = 2 * STEP * np.concatenate([np.ones((len(x), 1)), x], axis=1)  # the scale of the drift is 2
        [precision] = at.precisions
        variances = np.array([factor**2 / (4 * STEP), 1 / precision, 1 / precision])
        lower = np.linalg.cholesky(STEP * factor**2 * np.eye(len(x)) + (columns * variances) @ columns.T)
        white = np.linalg.solve(lower, moved)
        exact = -np.sum(white**2) / 2 - 2 * np.log(np.diag(lower)).sum() - len(x) * np.log(2 * np.pi)
        error = np.sqrt((4 * 6 + 2 * 2) / self.COUNT) / 2
        assert abs(linear_law.evidence.evidence - exact) < 4 * error

    def test_the_penalty_is_that_of_the_largest(self, linear_law):
        """λ is the effective number of slopes over their sum of squares, and the evidence is lower beside it."""
        at, now = linear_law.parameters, linear_law.evidence
        slopes = at.vector.values[at.groups == 0]
        assert at.precisions[0] == pytest.approx(4 / np.sum(slopes**2), rel=0.1)
        for factor in (0.2, 5.0):
            other = replace(at, precisions=at.precisions * factor)
            assert laplace_evidence(other, now) < now.evidence

    def test_posterior_covariance_is_an_inverse(self, linear_law, steps):
        at, now = linear_law.parameters, linear_law.evidence
        [(places, covariance)] = posterior_covariance(at, now)  # the block of the noise has no active parameters
        np.testing.assert_array_equal(places, at.blocks[0])
        scores = at.vector.scores(RULE, first(steps, self.COUNT))[:, places]
        prior = np.where(at.groups[places] == 0, at.precisions[0], WEAK)
        np.testing.assert_allclose(covariance, np.linalg.inv(scores.T @ scores + np.diag(prior)), rtol=1e-3, atol=1e-7)

    def test_a_flat_likelihood_leaves_the_prior(self, linear_law):
        at, now = linear_law.parameters, linear_law.evidence
        nothing = replace(now, information=tuple(np.zeros_like(part) for part in now.information))
        [(places, covariance)] = posterior_covariance(at, nothing)
        np.testing.assert_allclose(np.diag(covariance), 1 / at.precision[places])
        assert laplace_evidence(at, nothing) == pytest.approx(now.value - at.penalty(at.vector.values))


class Kinked(TransitionRule):
    """A log density with a kink close to the start, past which every step of Newton's method goes."""

    def packet(self, generator, x, step):
        raise NotImplementedError

    def log_prob(self, generator, x, moved, step):
        return -jnp.abs(generator.drift_network.body.skip.bias[0] - 1e-3)


class TestOutcome:
    def test_no_progress(self, steps):
        start = parameters(polynomial())
        found = PenalisedNewton().run(Kinked(), start, first(steps, 1000))
        assert found.outcome is Outcome.NO_PROGRESS
        np.testing.assert_array_equal(found.parameters.vector.values, start.vector.values)

    def test_budget_used(self, steps):
        counted, start = [], parameters(polynomial())
        found = PenalisedNewton(iterations=1, tolerance=0.0).run(RULE, start, steps, counted.append)
        assert (found.outcome, counted) == (Outcome.BUDGET_USED, [1])
        assert found.evidence.value > sums(RULE, start, steps).value

    def test_not_finite(self, steps):
        lost = steps._replace(displacement=steps.displacement.at[7].set(jnp.inf))
        assert PenalisedNewton().run(RULE, parameters(polynomial()), lost).outcome is Outcome.NOT_FINITE
