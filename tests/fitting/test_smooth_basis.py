"""Features of smooth laws: principal functions of the kernels that they stand for, which coordinates they look at."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nke.fitting.smooth_basis import (
    LEAST_VARIANCE,
    FeatureSet,
    GroupSize,
    KernelGroup,
    coordinates_of,
    group_sizes,
    jump_group_sizes,
)

COUNT = 2000  # fewer than are examined, so that averages over the data are exact
ANGLE = ((1, 2),)


@pytest.fixture(scope="module")
def states() -> np.ndarray:
    """Coordinates of very different size."""
    return np.random.default_rng(0).normal(size=(COUNT, 3)) * [1.0, 10.0, 0.1] + [0.0, 5.0, 1.0]


@pytest.fixture(scope="module")
def features(states) -> FeatureSet:
    return FeatureSet.of(states, 3, group_sizes, seed=0)


@pytest.fixture(scope="module")
def turning() -> np.ndarray:
    """A number, then cosine and sine of an angle."""
    rng = np.random.default_rng(1)
    angle = rng.uniform(-np.pi, np.pi, COUNT)
    return np.stack([rng.normal(size=COUNT), np.cos(angle), np.sin(angle)], axis=1)


def kernel_matrix(group: KernelGroup, x: np.ndarray, y: np.ndarray, deviation: np.ndarray) -> np.ndarray:
    """Exp(−½ |x − y|²/length²), coordinates in standard deviations."""
    columns = list(group.columns)
    gap = (x[:, None, columns] - y[None, :, columns]) / (group.length * deviation[columns])
    return np.exp(-0.5 * (gap**2).sum(axis=-1))


class TestPrincipalFunctions:
    def test_are_orthogonal_over_the_data(self, features, states):
        """And come with decreasing variance."""
        for group in features.kernels:
            values = group.features(states)
            moments = values.T @ values / len(states)
            variances = np.diag(moments)
            assert (np.diff(variances) <= 1e-9).all()
            assert (variances > LEAST_VARIANCE * 0.99).all()
            np.testing.assert_allclose(moments, np.diag(variances), atol=1e-6)

    def test_have_the_covariance_of_the_kernel(self, features, states):
        """Up to Nyström's error, which is positive semi-definite and here 0.2 % of the variance at most, on average."""
        some, deviation = states[:300], states.std(axis=0)
        for group in features.kernels:
            values, truth = group.features(some), kernel_matrix(group, some, some, deviation)
            missing = truth - values @ values.T
            assert np.linalg.eigvalsh(missing)[0] > -1e-9
            assert np.trace(missing) / len(some) < 2e-3
            assert np.abs(missing).max() < (0.005 if group.length == 3.0 else 0.06)  # at the farthest of 300 states

    def test_are_exact_where_every_state_is_a_centre(self):
        """Without leaving anything out the kernel matrix comes back, to the share of variance that is neglected."""
        x = np.random.default_rng(2).uniform(-2, 2, (40, 1))
        [group] = FeatureSet.of(x, 1, lambda d: [GroupSize(1, (0.3,), 40, 40)], seed=0).kernels
        values = group.features(x)
        truth = kernel_matrix(group, x, x, x.std(axis=0))
        assert np.abs(values @ values.T - truth).max() < 40 * LEAST_VARIANCE * 2

    def test_far_from_the_data_vanish(self, features, states):
        far = states[:1] + 100 * states.std(axis=0)
        assert all(np.abs(group.features(far)).max() < 1e-12 for group in features.kernels)


class TestCoordinates:
    def test_kernels_look_at_their_own_alone(self, features, states):
        rng = np.random.default_rng(3)
        for group in features.kernels:
            moved = states[:20].copy()
            others = [i for i in range(3) if i not in group.columns]
            moved[:, others] += rng.normal(size=(20, len(others)))
            np.testing.assert_array_equal(group.features(moved), group.features(states[:20]))
            assert (group.precisions[:, others] == 0).all()

    def test_each_alone_each_pair_and_all(self, features):
        found = [(group.columns, group.length) for group in features.kernels]
        single = [((i,), length) for i in range(3) for length in (0.3, 1.0, 3.0)]
        pairs = [(pair, length) for pair in ((0, 1), (0, 2), (1, 2)) for length in (1.0, 3.0)]
        assert found == [*single, *pairs, ((0, 1, 2), 1.5)]

    def test_an_angle_is_one_of_them(self, turning):
        assert coordinates_of(turning, ANGLE) == [(0,), (1, 2)]
        found = FeatureSet.of(turning, 2, group_sizes, 0, ANGLE)
        assert {group.columns for group in found.kernels} == {(0,), (1, 2), (0, 1, 2)}

    def test_one_that_does_not_vary_has_no_kernels(self, states):
        still = np.concatenate([states[:, :1], np.zeros((COUNT, 1))], axis=1)
        found = FeatureSet.of(still, 2, group_sizes, 0)
        assert {group.columns for group in found.kernels} == {(0,)}
        assert [group.length for group in found.kernels] == [0.1, 0.3, 1.0, 3.0]  # as in one dimension

    def test_where_nothing_varies_there_are_none(self):
        """A law that depends on no coordinate."""
        found = FeatureSet.of(np.zeros((50, 2)), 2, group_sizes, 0)
        assert found.kernels == ()
        assert found.groups.tolist() == [-1, -1, -1, 0, 0, 0]

    @pytest.mark.parametrize("sizes", [group_sizes, jump_group_sizes])
    @pytest.mark.parametrize("dimension", [1, 3])
    def test_no_more_functions_than_asked(self, sizes, dimension, states):
        found = FeatureSet.of(states[:, :dimension], 1, sizes, 0)
        most = {(size.coordinates, length): size for size in sizes(dimension) for length in size.lengths}
        for group in found.kernels:
            size = most[len(group.columns), group.length]
            assert group.projection.shape[1] <= size.functions
            assert len(group.centres) <= size.centres


class TestFeatureSet:
    def test_groups_number_the_columns_of_the_design(self, features, states):
        """1 and x, six squares, ten cubes, then the kernels one after the other."""
        groups, design = features.groups, features.design(states[:50])
        assert design.shape == (50, len(groups))
        assert groups[:20].tolist() == [-1] * 4 + [0] * 6 + [1] * 10
        assert features.count == groups.max() + 1 == 2 + len(features.kernels)
        for i, group in enumerate(features.kernels):
            np.testing.assert_array_equal(design[:, groups == 2 + i], group.features(states[:50]))
        np.testing.assert_allclose(design[:, groups == 0][:, 1], states[:50, 0] * states[:50, 1])

    @pytest.mark.parametrize("powers", [(False, False), (True, False), (False, True)])
    def test_used_keeps_the_right_columns(self, features, states, powers):
        """A degree below one that is used stays, since the powers are those up to a degree."""
        on = np.zeros(features.count, bool)
        on[:2], on[[4, 9]] = powers, True
        smaller, kept = features.used(on)
        assert smaller.degree == 1 + max((i + 1 for i in range(2) if powers[i]), default=0)
        assert smaller.kernels == (features.kernels[2], features.kernels[7])
        x = states[:50]
        np.testing.assert_array_equal(smaller.design(x), features.design(x)[:, kept])

    def test_too_many_powers_are_left_out(self, states):
        assert FeatureSet.of(states, 3, group_sizes, 0, most_powers=9).degree == 2

    @pytest.mark.parametrize("angle", [False, True])
    def test_the_function_to_differentiate_is_the_same(self, angle, states, turning):
        """To single precision: sums of some dozens of kernels with factors of order ten."""
        x = turning if angle else states / states.std(axis=0)
        features = FeatureSet.of(x, 3, group_sizes, 0, ANGLE if angle else ())
        basis, design = features.basis(), features.design(x[:40])
        assert basis.size == design.shape[1]
        found = np.asarray(jax.jit(jax.vmap(basis))(jnp.asarray(x[:40], jnp.float32)))
        np.testing.assert_allclose(found, design, rtol=2e-6, atol=5e-5)

    def test_without_kernels_the_powers_remain(self, features, states):
        powers, kept = features.used(np.arange(features.count) < 1)
        assert (powers.degree, powers.kernels, kept.sum()) == (2, (), 10)
        found = jax.vmap(powers.basis())(jnp.asarray(states[:5], jnp.float32))
        np.testing.assert_allclose(found, powers.design(states[:5]), rtol=1e-5)
