"""The density of Gaussian mixtures against SciPy, numerical integration and closed forms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, norm

from mixture_examples import ATOM_AND_BELL, PLANAR, ROUNDING, TWO_PEAKS, random_mixture, to_jax
from nke.mixtures import GaussianMixture


def scipy_log_prob(weights, means, covariances, x):
    """log Σ π_k N(x; μ_k, Σ_k) of one mixture, term by term."""
    terms = [
        np.log(w) + multivariate_normal(m, c).logpdf(x) for w, m, c in zip(weights, means, covariances, strict=True)
    ]
    return logsumexp(terms, axis=0)


class TestLogProb:
    @pytest.mark.parametrize("d", [1, 2, 3, 4, 10])
    def test_equals_scipy(self, d):
        mixture = random_mixture(d, 3, seed=d)
        x = 2 * np.random.default_rng(0).normal(size=(5, 4, d))
        truth = scipy_log_prob(mixture.weights, mixture.means, mixture.covariances, x)
        value = mixture.log_prob(x)
        assert isinstance(value, np.ndarray)
        np.testing.assert_allclose(value, truth, rtol=ROUNDING)
        np.testing.assert_allclose(mixture.log_prob(x[0, 0]), truth[0, 0], rtol=ROUNDING)

    @pytest.mark.parametrize("d", [1, 3, 10])
    def test_a_batch_is_a_loop(self, d):
        batch = random_mixture(d, 2, seed=d, batch=(4, 3))
        x = np.random.default_rng(1).normal(size=(4, 3, d))
        truth = [
            [scipy_log_prob(batch.weights[i, j], batch.means[i, j], batch.covariances[i, j], x[i, j]) for j in range(3)]
            for i in range(4)
        ]
        np.testing.assert_allclose(batch.log_prob(x), truth, rtol=ROUNDING)

    def test_points_broadcast_against_the_batch(self):
        batch = random_mixture(2, 2, seed=0, batch=(3,))
        x = np.random.default_rng(1).normal(size=(5, 1, 2))
        truth = [scipy_log_prob(batch.weights[j], batch.means[j], batch.covariances[j], x[:, 0]) for j in range(3)]
        np.testing.assert_allclose(batch.log_prob(x), np.transpose(truth), rtol=ROUNDING)

    @pytest.mark.parametrize("d", [1, 3, 10])
    def test_jax_equals_scipy(self, d, double_precision):
        mixture = random_mixture(d, 3, seed=d)
        x = np.random.default_rng(0).normal(size=(6, d))
        truth = scipy_log_prob(mixture.weights, mixture.means, mixture.covariances, x)
        value = jax.jit(lambda m, x: m.log_prob(x))(to_jax(mixture), jnp.asarray(x))
        assert isinstance(value, jax.Array)
        np.testing.assert_allclose(value, truth, rtol=ROUNDING)

    def test_single_precision(self):
        mixture = random_mixture(3, 3, seed=0)
        x = np.random.default_rng(0).normal(size=(6, 3))
        truth = scipy_log_prob(mixture.weights, mixture.means, mixture.covariances, x)
        value = jax.jit(lambda m, x: m.log_prob(x))(to_jax(mixture), jnp.asarray(x))
        assert value.dtype == jnp.float32
        # The quadratic forms reach about 30 and carry some ten roundings of 6e-8 each.
        np.testing.assert_allclose(value, truth, atol=1e-4)

    def test_gradient_is_the_closed_form(self, double_precision):
        """∇ log p = Σ_k r_k(x) Σ_k⁻¹ (μ_k − x) with responsibilities r_k."""
        x = np.array([0.3, -0.4])
        terms = np.array(
            [
                w * multivariate_normal(m, c).pdf(x)
                for w, m, c in zip(PLANAR.weights, PLANAR.means, PLANAR.covariances, strict=True)
            ]
        )
        pulls = np.linalg.solve(PLANAR.covariances, (PLANAR.means - x)[..., None])[..., 0]
        score = jax.jit(jax.grad(lambda x: to_jax(PLANAR).log_prob(x)))(jnp.asarray(x))
        np.testing.assert_allclose(score, terms @ pulls / terms.sum(), rtol=ROUNDING)

    def test_gradient_in_the_parameters(self, double_precision):
        """Central differences of step 1e-5 are right to about 1e-10 in the weights, means and covariances."""
        x = jnp.asarray([0.3, -0.4])

        @jax.jit
        def value(scale):
            mixture = to_jax(PLANAR)
            return GaussianMixture(
                jax.nn.softmax(scale * jnp.log(mixture.weights)), scale * mixture.means, scale * mixture.covariances
            ).log_prob(x)

        step = 1e-5
        difference = (value(1 + step) - value(1 - step)) / (2 * step)
        np.testing.assert_allclose(jax.jit(jax.grad(value))(1.0), difference, atol=1e-8)

    def test_empty_components_count_for_nothing(self, double_precision):
        """A weight of zero changes neither the value nor the gradient, in NumPy and JAX."""
        padded = GaussianMixture([0.3, 0.7, 0.0], [*TWO_PEAKS.means, [0.0]], [*TWO_PEAKS.covariances, [[4.0]]])
        x = np.linspace(-3, 3, 7)[:, None]
        np.testing.assert_allclose(padded.log_prob(x), TWO_PEAKS.log_prob(x), rtol=ROUNDING)
        score = jax.jit(jax.vmap(jax.grad(lambda x, m: m.log_prob(x)), in_axes=(0, None)))
        gradients = [score(jnp.asarray(x), to_jax(mixture)) for mixture in (padded, TWO_PEAKS)]
        np.testing.assert_allclose(*gradients, rtol=ROUNDING)

    def test_far_tail(self):
        """Forty standard deviations out, where the density itself underflows, the logarithm is right."""
        x = np.array([[-41.0], [42.0], [1e8]])
        truth = logsumexp(
            [np.log(0.3) + norm(-1, 0.5).logpdf(x[:, 0]), np.log(0.7) + norm(2, 1).logpdf(x[:, 0])], axis=0
        )
        np.testing.assert_allclose(TWO_PEAKS.log_prob(x), truth, rtol=ROUNDING)

    @pytest.mark.filterwarnings("ignore:overflow encountered")
    def test_nothing_far_away(self):
        """Where the quadratic form overflows the density is zero: its logarithm is −∞ and does not rise again."""
        near, far = TWO_PEAKS.log_prob([[1e10], [1e200]])
        assert far == -np.inf < near
        log_prob = jax.jit(lambda x: to_jax(TWO_PEAKS).log_prob(x))
        near, far = log_prob(jnp.asarray([[1e10], [1e30]], jnp.float32))
        assert far == -np.inf < near

    @pytest.mark.parametrize("mixture", [TWO_PEAKS, random_mixture(1, 4, seed=3)])
    def test_integrates_to_one(self, mixture):
        total, _ = quad(lambda x: np.exp(mixture.log_prob([x])), -20, 20, points=[-1, 2], limit=200)
        assert total == pytest.approx(1, abs=1e-8)

    def test_a_point_mass_has_no_density(self):
        for mixture in (GaussianMixture.point(np.zeros(2)), ATOM_AND_BELL):
            with pytest.raises(ValueError, match="singular covariance has no density; convolve"):
                mixture.log_prob(np.zeros(2))

    def test_a_flat_component_has_no_density(self):
        with pytest.raises(ValueError, match="singular covariance has no density"):
            GaussianMixture([1.0], [[0.0, 0.0]], [np.ones((2, 2))]).log_prob(np.zeros(2))

    def test_a_point_mass_in_ten_dimensions_has_no_density(self):
        with pytest.raises(ValueError, match="singular covariance has no density"):
            GaussianMixture.point(np.zeros(10)).log_prob(np.zeros(10))

    def test_an_empty_point_mass_is_harmless(self):
        mixture = GaussianMixture([0.0, 1.0], [[1.0], [0.0]], [[[0.0]], [[1.0]]])
        with np.errstate(divide="ignore", invalid="ignore"):
            assert mixture.log_prob([0.5]) == pytest.approx(norm.logpdf(0.5), rel=ROUNDING)
