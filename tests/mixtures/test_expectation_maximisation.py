"""Mixtures fitted to points: moments for one component, maximum likelihood for more."""

import jax
import numpy as np
import pytest

from mixture_examples import PLANAR, ROUNDING, TWO_PEAKS, random_mixture
from nke.mixtures import GaussianMixture


class TestFit:
    def test_one_component_is_moment_matching(self):
        """Π₁: mean and covariance with 1/n, exactly."""
        points = np.random.default_rng(0).normal(size=(50, 3)) @ np.diag([1.0, 5.0, 0.1]) + [1.0, -3.0, 100.0]
        mixture = GaussianMixture.fit(points, 1, seed=0)
        np.testing.assert_allclose(mixture.weights, [1.0])
        np.testing.assert_allclose(mixture.means[0], points.mean(axis=0), rtol=ROUNDING)
        np.testing.assert_allclose(mixture.covariances[0], np.cov(points.T, bias=True), rtol=1e-10)

    @pytest.mark.parametrize(
        "truth",
        [
            GaussianMixture([0.7, 0.3], [[0.0], [8.0]], [[[1.0]], [[0.25]]]),
            GaussianMixture(
                [0.6, 0.4], [[0.0, 0.0], [9.0, -300.0]], [[[1.0, 0.5], [0.5, 2.0]], [[2.0, 0], [0, 900.0]]]
            ),
            GaussianMixture(
                [0.5, 0.3, 0.2],
                [[0.0, 0.0], [10.0, 0.0], [0.0, 12.0]],
                [np.eye(2), [[2.0, 1.0], [1.0, 2.0]], 0.5 * np.eye(2)],
            ),
        ],
        ids=["two in 1-D", "two of unlike units", "three in 2-D"],
    )
    def test_recovers_separated_mixtures(self, truth):
        """To four standard errors of the estimates that full knowledge of the labels would give."""
        n = 4000
        points = truth.sample(n, seed=1)
        fitted = GaussianMixture.fit(points, truth.components, seed=0)
        count = n * truth.weights
        assert (np.abs(fitted.weights - truth.weights) < 4 * np.sqrt(truth.weights * (1 - truth.weights) / n)).all()
        variances = np.diagonal(truth.covariances, axis1=-2, axis2=-1)
        assert (np.abs(fitted.means - truth.means) < 4 * np.sqrt(variances / count[:, None])).all()
        # Var of a sample covariance entry: (Σ_ij² + Σ_ii Σ_jj)/n.
        error = np.sqrt((truth.covariances**2 + variances[:, :, None] * variances[:, None, :]) / count[:, None, None])
        assert (np.abs(fitted.covariances - truth.covariances) < 4 * error).all()
        assert fitted.log_prob(points).mean() >= truth.log_prob(points).mean()

    def test_finds_a_separated_third_component_in_ten_dimensions(self):
        truth = GaussianMixture([0.5, 0.3, 0.2], 6 * np.eye(10)[:3], np.broadcast_to(np.eye(10), (3, 10, 10)))
        points = truth.sample(3000, seed=0)
        fitted = GaussianMixture.fit(points, 3, seed=0)
        assert fitted.log_prob(points).mean() >= truth.log_prob(points).mean()
        assert np.abs(fitted.means - truth.means).max() < 4.5 / np.sqrt(600)

    def test_more_components_never_explain_less(self):
        points = random_mixture(2, 3, seed=9).sample(800, seed=0)
        scores = [GaussianMixture.fit(points, k, seed=0).log_prob(points).mean() for k in (1, 2, 3)]
        # EM stops within 1e-8 of its ascent and its ridge costs about 1e-6.
        assert (np.diff(scores) > -1e-5).all(), scores

    def test_same_seed_same_fit(self):
        points = PLANAR.sample(300, seed=0)
        first, second = (GaussianMixture.fit(points, 3, seed=7) for _ in range(2))
        for value, other in zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True):
            np.testing.assert_array_equal(value, other)

    def test_does_not_collapse_on_repeated_points(self):
        """Half of the data at one place: an unbounded likelihood without the ridge, a narrow peak with it."""
        points = np.concatenate([np.zeros((50, 1)), np.linspace(3, 5, 50)[:, None]])
        fitted = GaussianMixture.fit(points, 2, seed=0)
        assert np.isfinite(fitted.log_prob(points)).all()
        np.testing.assert_allclose(np.sort(fitted.means[:, 0]), [0, 4], atol=1e-3)

    def test_constant_coordinate(self):
        points = np.column_stack([TWO_PEAKS.sample(200, seed=0)[:, 0], np.full(200, 3.0)])
        fitted = GaussianMixture.fit(points, 2, seed=0)
        np.testing.assert_allclose(fitted.means[:, 1], 3.0, atol=1e-9)

    @pytest.mark.parametrize(
        ("points", "components", "message"),
        [
            (np.zeros(5), 1, r"expected finite points of shape \(n, d\), but got shape \(5,\)"),
            ([[0.0], [np.nan]], 1, "expected finite points"),
            ([[0.0], [np.inf]], 2, "expected finite points"),
            (np.zeros((3, 1)), 4, "expected 1 to 3 components for 3 points, got 4"),
            (np.zeros((3, 1)), 0, "expected 1 to 3 components for 3 points, got 0"),
        ],
    )
    def test_refuses(self, points, components, message):
        with pytest.raises(ValueError, match=message):
            GaussianMixture.fit(points, components)

    def test_refuses_text(self):
        with pytest.raises(TypeError, match="expected points to be real numbers"):
            GaussianMixture.fit([["a"], ["b"]], 1)
