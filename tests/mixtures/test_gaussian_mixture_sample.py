"""Draws from Gaussian mixtures against their moments and distribution, to four standard errors; seeds are fixed."""

import numpy as np
import pytest
from scipy.stats import norm

from mixture_examples import ATOM_AND_BELL, PLANAR, TWO_PEAKS, random_mixture
from nke.mixtures import GaussianMixture
from standard_errors import assert_within_standard_errors


class TestSample:
    @pytest.mark.parametrize("d", [1, 2, 10])
    def test_moments(self, d):
        mixture = random_mixture(d, 3, seed=d)
        draws = mixture.sample(50_000, seed=0)
        assert draws.shape == (50_000, d)
        assert_within_standard_errors(draws, mixture.mean)
        centred = draws - mixture.mean
        assert_within_standard_errors(centred[:, :, None] * centred[:, None, :], mixture.covariance)

    def test_distribution(self):
        """Shares left of ten thresholds against the cumulative distribution function."""
        draws = TWO_PEAKS.sample(50_000, seed=1)
        levels = np.linspace(-2, 4, 10)
        truth = 0.3 * norm(-1, 0.5).cdf(levels) + 0.7 * norm(2, 1).cdf(levels)
        assert_within_standard_errors((draws <= levels).astype(float), truth)

    def test_a_batch_draws_from_each_mixture(self):
        batch = random_mixture(2, 3, seed=0, batch=(2, 3))
        draws = batch.sample(40_000, seed=2)
        assert draws.shape == (40_000, 2, 3, 2)
        assert_within_standard_errors(draws, batch.mean)
        assert_within_standard_errors((draws - batch.mean) ** 2, np.diagonal(batch.covariance, axis1=-2, axis2=-1))

    @pytest.mark.parametrize("d", [1, 3, 10])
    def test_a_point_mass_is_sampled_exactly(self, d):
        x = np.random.default_rng(0).normal(size=d)
        np.testing.assert_array_equal(GaussianMixture.point(x).sample(7, seed=0), np.tile(x, (7, 1)))

    def test_atoms_keep_their_weight(self):
        draws = ATOM_AND_BELL.sample(20_000, seed=3)
        at_atom = (draws == [1.0, -2.0]).all(axis=-1)
        assert_within_standard_errors(at_atom.astype(float), 0.6)
        assert_within_standard_errors(draws[~at_atom], [3.0, 0.0])

    def test_a_flat_component_stays_on_its_line(self):
        mixture = GaussianMixture([1.0], [[0.0, 1.0]], [[[1.0, 2.0], [2.0, 4.0]]])
        draws = mixture.sample(1000, seed=0)
        np.testing.assert_allclose(draws[:, 1], 1 + 2 * draws[:, 0], atol=1e-12)
        assert draws[:, 0].std() == pytest.approx(1, abs=4 / np.sqrt(2000))

    def test_components_without_weight_are_never_drawn(self):
        mixture = GaussianMixture([0.0, 1.0, 0.0], [[-5.0], [0.0], [5.0]], np.zeros((3, 1, 1)))
        np.testing.assert_array_equal(mixture.sample(1000, seed=0), np.zeros((1000, 1)))

    def test_same_seed_same_draws(self):
        np.testing.assert_array_equal(PLANAR.sample(10, seed=4), PLANAR.sample(10, seed=4))
        assert (PLANAR.sample(10, seed=4) != PLANAR.sample(10, seed=5)).any()
        rng = np.random.default_rng(4)
        np.testing.assert_array_equal(PLANAR.sample(10, rng), PLANAR.sample(10, seed=4))
        assert (PLANAR.sample(10, rng) != PLANAR.sample(10, seed=4)).any()
