"""Merging, splitting and reducing keep the moments and come near to the density."""

import numpy as np
import pytest

import nke
from nke.mixtures import GaussianMixture, merge, reduce, split
from nke.mixtures.gathering import gathered


def some_mixture(components, d, seed=0):
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(components, d, d)) * 0.4
    return GaussianMixture(
        rng.dirichlet(np.ones(components)), rng.normal(size=(components, d)), factors @ np.matrix_transpose(factors)
    )


def assert_same_moments(found, mixture):
    assert found.weights.sum() == pytest.approx(1, abs=1e-12)
    assert (found.weights >= 0).all()
    np.testing.assert_allclose(found.mean, mixture.mean, rtol=0, atol=1e-10)
    np.testing.assert_allclose(found.covariance, mixture.covariance, rtol=0, atol=1e-9)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_moments_are_kept(d):
    mixture = some_mixture(24, d)
    assert_same_moments(merge(mixture, 3, 7), mixture)
    assert_same_moments(reduce(mixture, 8), mixture)
    for children in (3, 5, 7, 9):
        assert_same_moments(split(mixture, 5, np.ones(d), children), mixture)


def test_splitting_changes_the_density_little():
    standard, x = GaussianMixture([1.0], [[0.0]], [[[1.0]]]), np.linspace(-8, 8, 4001)[:, None]
    for children, width in ((3, 0.8), (5, 0.65), (7, 0.5), (9, 0.45)):
        parts = split(standard, 0, np.ones(1), children)
        assert float(np.sqrt(parts.covariances[0, 0, 0])) == pytest.approx(width)
        error = np.abs(np.exp(parts.log_prob(x)) - np.exp(standard.log_prob(x))).sum() * 0.004
        assert error < 0.0055, (children, error)


def test_a_component_is_split_along_the_axis_that_was_asked_for():
    mixture = GaussianMixture([1.0], [[0.0, 0.0]], [[[4.0, 1.0], [1.0, 1.0]]])
    parts = split(mixture, 0, np.array([0.0, 1.0]))
    assert parts.covariances[0, 1, 1] < 0.65
    assert (np.linalg.eigvalsh(parts.covariances) > 0).all()


def test_reduction_merges_what_is_close_and_beats_pairwise_merging():
    """64 components of a smooth density to 24: the corrected weights bring it nearer than merging alone."""
    x = np.linspace(-4, 4, 64)
    weights = np.exp(-(x**2) / 2) * (1 + 0.5 * np.sin(3 * x))
    mixture = GaussianMixture(weights / weights.sum(), x[:, None], np.full((64, 1, 1), 0.04))
    grid = np.linspace(-6, 6, 2001)[:, None]
    error = np.abs(np.exp(reduce(mixture, 24).log_prob(grid)) - np.exp(mixture.log_prob(grid))).sum() * 0.006
    assert error < 0.01


def test_points_can_be_merged_too():
    mixture = GaussianMixture([0.3, 0.3, 0.4], [[0.0], [0.001], [1.0]], np.zeros((3, 1, 1)))
    found = reduce(mixture, 2)
    np.testing.assert_allclose(np.sort(found.means.ravel()), [0.0005, 1.0])
    assert reduce(mixture, 5).components == 5


def test_what_cannot_be_done_is_refused():
    mixture = some_mixture(3, 1)
    with pytest.raises(nke.errors.InputError, match="3, 5, 7, 9"):
        split(mixture, 0, np.ones(1), children=4)
    with pytest.raises(nke.errors.InputError, match="width along the axis"):
        split(GaussianMixture.point([1.0]), 0, np.ones(1))
    with pytest.raises(nke.errors.InputError, match="at least one component"):
        reduce(mixture, 0)


@pytest.mark.parametrize("d", [1, 2])
def test_a_cloud_keeps_its_moments(d):
    points = np.random.default_rng(0).normal(size=(500, d))
    found = gathered(points, 16)
    assert found.components == 16
    np.testing.assert_allclose(found.mean, points.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(np.asarray(found.covariance), np.cov(points.T, bias=True).reshape(d, d), atol=1e-12)
    assert gathered(np.zeros((5, d)), 4).components == 1
