"""Parameters of smooth laws: the law is what the regression found, and every weight has its group and its block."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import nke
from nke.fitting.initial_moments import TransitionSample
from nke.fitting.penalised_newton import PenalisedParameters
from nke.fitting.smooth_basis import FeatureSet, jump_group_sizes
from nke.fitting.smooth_parameters import is_constant, smooth_generator, smooth_parameters
from nke.fitting.smooth_regression import SmoothRegression
from nke.operators import JumpNetwork, PoissonJump

STEP, COUNT = 0.02, 4000


@pytest.fixture(scope="module")
def sample() -> TransitionSample:
    """dx = 8 sin 2x dt + dW, dy = −y dt + exp(0.5 sin x) dW: kernels in one drift and in one noise."""
    rng = np.random.default_rng(0)
    start, fine = rng.uniform(-3, 3, (COUNT, 2)), STEP / 20
    x = start.copy()
    for _ in range(20):
        drift = np.stack([8 * np.sin(2 * x[:, 0]), -x[:, 1]], axis=1)
        noise = np.stack([np.ones(COUNT), np.exp(0.5 * np.sin(x[:, 0]))], axis=1)
        x = x + fine * drift + np.sqrt(fine) * noise * rng.normal(size=x.shape)
    data = nke.Trajectories(np.stack([start, x], axis=1), STEP)
    return TransitionSample(data.transitions(), nke.Coordinates(np.zeros(2), np.ones(2), 1.0), None, 0.1)


@pytest.fixture(scope="module")
def regression(sample) -> SmoothRegression:
    return SmoothRegression.of(sample, np.ones(COUNT), degree=2, seed=0)


@pytest.fixture(scope="module")
def with_jumps(sample, regression) -> tuple[PenalisedParameters, FeatureSet]:
    features = FeatureSet.of(sample.x, 1, jump_group_sizes, 0)
    network = JumpNetwork(jnp.ones(2), 0.1 * jnp.eye(2), 1.0, 2, 0, 0, inputs=2, key=jax.random.key(0))
    jump = PoissonJump(network.with_basis(features.basis()))
    return smooth_parameters(smooth_generator(regression, jump, None), regression, features), features


@eqx.filter_jit
def at_states(generator, x):
    """Drift and noise factor, compiled."""
    return jax.vmap(generator.drift_network)(x), jax.vmap(generator.noise_factor)(x)


class TestGenerator:
    def test_is_what_the_regression_found(self, sample, regression):
        """To single precision."""
        generator, x = smooth_generator(regression, None, None), sample.x[:50]
        drift, g = at_states(generator, jnp.asarray(x, jnp.float32))
        np.testing.assert_allclose(drift, regression.speed * regression.drift(x), rtol=1e-4, atol=1e-3)
        np.testing.assert_allclose(np.linalg.norm(g, axis=-1), regression.noise_deviation(x), rtol=1e-4)

    def test_a_constant_noise_has_one_weight(self, regression):
        """The first deviation and the correlation do not depend on the state, the second deviation does."""
        used = smooth_generator(regression, None, None).noise_factor.body.used
        assert used.sum(axis=1)[:2].tolist() == [1, 1]
        assert used[:2, 0].all()
        assert used[2].sum() > 4

    def test_a_drift_uses_its_own_groups(self, regression):
        used = smooth_generator(regression, None, None).drift_network.body.used
        finite, groups = np.isfinite(regression.drift.precisions), regression.drift.features.groups
        for row, on in zip(used, finite, strict=True):
            np.testing.assert_array_equal(row, (groups < 0) | np.append(on, False)[groups])
        assert finite[0].any()


class TestParameters:
    def test_every_one_is_in_one_block(self, with_jumps):
        at, _ = with_jumps
        np.testing.assert_array_equal(np.sort(np.concatenate(at.blocks)), np.arange(len(at.vector.values)))
        assert at.vector.active.all()

    def test_groups_are_those_of_the_features(self, with_jumps, regression):
        """Drift, then noise, then jumps, each function by function; none where the regression uses none."""
        at, features = with_jumps
        drift, noise = regression.drift, regression.noise
        counts = [2 * drift.features.count, 3 * noise.features.count, 3 * features.count]
        assert len(at.precisions) == sum(counts)
        np.testing.assert_array_equal(at.precisions[: counts[0]], drift.precisions.ravel())
        assert np.isfinite(at.precisions[at.groups[at.groups >= 0]]).all()
        body, places = at.vector.generator.drift_network.body, at.vector.places.drift_network.body.weights.astype(int)
        rows = np.argmax(body.rows.value, axis=0)
        for place, row, column in zip(places, rows, np.asarray(body.columns), strict=True):
            own = drift.features.groups[column]
            assert at.groups[place] == (-1 if own < 0 else row * drift.features.count + own)
        assert (at.groups[at.groups >= sum(counts[:2])] < sum(counts)).all()

    def test_constants_are_the_first_weights_of_the_functions(self, with_jumps):
        """Two drifts, three entries of the noise; a rate, two shares and the shapes of two Gaussians (2 + 3 each)."""
        at, _ = with_jumps
        assert {name: len(places) for name, places in at.constants.items()} == {"drift": 2, "noise": 3, "jumps": 13}
        np.testing.assert_allclose(
            at.vector.values[at.constants["drift"]], at.vector.generator.drift_network.body.table[:, 0], rtol=1e-6
        )

    def test_the_shapes_of_jumps_have_a_weak_prior_only(self, with_jumps):
        at, _ = with_jumps
        jump = at.vector.places.jump_network
        shapes = np.concatenate([jump.means.ravel(), jump.factors.ravel()]).astype(int)
        assert (at.groups[shapes] == -1).all()
        assert np.isin(shapes, at.blocks[-1]).all()


def test_a_function_is_constant_without_slopes_and_groups():
    groups, nothing = np.array([-1, -1, 0]), np.array([np.inf])
    assert is_constant(groups, np.array([2.0, 0.0, 0.0]), nothing)
    assert not is_constant(groups, np.array([2.0, 0.1, 0.0]), nothing)
    assert not is_constant(groups, np.array([2.0, 0.0, 0.0]), np.ones(1))
