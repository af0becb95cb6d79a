"""Gaussian mixtures against SciPy, numerical integration, closed forms and sampling error.

Tolerances of sampled quantities are four standard errors: a correct mixture exceeds one in 16,000 of
them. Trapezoid sums of Gaussians converge faster than any power of the spacing, so that grids finer than
half a standard deviation and wider than eight leave only rounding. Seeds are fixed.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import nquad, quad
from scipy.signal import fftconvolve
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, norm

from nke.mixtures import GaussianMixture

ROUNDING = 1e-12  # relative, of sums of a few dozen products in float64
TWO_PEAKS = GaussianMixture([0.3, 0.7], [[-1.0], [2.0]], [[[0.25]], [[1.0]]])
PLANAR = GaussianMixture(
    [0.2, 0.5, 0.3],
    [[-1.0, 0.5], [1.0, 1.0], [0.0, -2.0]],
    [[[0.5, 0.2], [0.2, 0.4]], [[0.3, -0.1], [-0.1, 0.6]], [[1.0, 0.0], [0.0, 0.2]]],
)
ATOM_AND_BELL = GaussianMixture([0.6, 0.4], [[1.0, -2.0], [3.0, 0.0]], [np.zeros((2, 2)), np.eye(2)])


def random_mixture(d, components, seed, batch=()):
    """Weights away from zero, covariances with eigenvalues of order one."""
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.full(components, 3.0), batch)
    factors = rng.normal(size=(*batch, components, d, d)) / np.sqrt(d)
    covariances = factors @ np.matrix_transpose(factors) + 0.2 * np.eye(d)
    return GaussianMixture(weights, 2 * rng.normal(size=(*batch, components, d)), covariances)


def to_jax(mixture):
    return jax.tree.map(jnp.asarray, mixture)


def scipy_log_prob(weights, means, covariances, x):
    """log Σ π_k N(x; μ_k, Σ_k) of one mixture, term by term."""
    terms = [
        np.log(w) + multivariate_normal(m, c).logpdf(x) for w, m, c in zip(weights, means, covariances, strict=True)
    ]
    return logsumexp(terms, axis=0)


def assert_within_standard_errors(samples, truth):
    """The mean over the first axis equals the truth to four standard errors."""
    error = np.abs(samples.mean(axis=0) - truth)
    tolerance = 4 * samples.std(axis=0) / np.sqrt(len(samples)) + ROUNDING
    assert (error <= tolerance).all(), (error, tolerance)


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


class TestConvolve:
    def test_one_dimension_on_a_grid(self):
        """Equation "e^{Js} G = H^s * G": the sum over a grid of the product of the two densities."""
        other = GaussianMixture([0.6, 0.4], [[0.5], [-2.0]], [[[0.09]], [[0.5]]])
        grid = np.linspace(-15, 15, 6001)
        p, q = (np.exp(mixture.log_prob(grid[:, None])) for mixture in (TWO_PEAKS, other))
        truth = np.convolve(p, q, mode="same") * (grid[1] - grid[0])
        value = np.exp(TWO_PEAKS.convolve(other).log_prob(grid[:, None]))
        np.testing.assert_allclose(value, truth, atol=1e-6)

    def test_two_dimensions_by_fft(self):
        other = GaussianMixture([0.5, 0.5], [[1.0, 0.0], [-1.0, 0.5]], [0.2 * np.eye(2), [[0.4, 0.1], [0.1, 0.2]]])
        axis = np.linspace(-9, 9, 181)
        grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1)
        p, q = (np.exp(mixture.log_prob(grid)) for mixture in (PLANAR, other))
        truth = fftconvolve(p, q, mode="same") * (axis[1] - axis[0]) ** 2
        np.testing.assert_allclose(np.exp(PLANAR.convolve(other).log_prob(grid)), truth, atol=1e-6)

    def test_a_point_mass_shifts(self):
        """δ_x * p is p moved by x; the paper's 10 % chance of a unit jump makes two Gaussians."""
        x = np.linspace(-4, 6, 11)[:, None]
        moved = GaussianMixture.point(np.array([1.5])).convolve(TWO_PEAKS)
        np.testing.assert_allclose(moved.log_prob(x), TWO_PEAKS.log_prob(x - 1.5), rtol=ROUNDING)
        jump = GaussianMixture([0.9, 0.1], [[0.0], [1.0]], np.zeros((2, 1, 1)))
        split = GaussianMixture([1.0], [[0.2]], [[[0.04]]]).convolve(jump)
        truth = 0.9 * norm(0.2, 0.2).pdf(x) + 0.1 * norm(1.2, 0.2).pdf(x)
        np.testing.assert_allclose(np.exp(split.log_prob(x)), truth[:, 0], rtol=ROUNDING)

    def test_a_batch_is_a_loop(self):
        batch, other = random_mixture(2, 2, seed=1, batch=(3,)), random_mixture(2, 3, seed=2)
        joined = batch.convolve(other)
        for j in range(3):
            single = GaussianMixture(batch.weights[j], batch.means[j], batch.covariances[j]).convolve(other)
            for value, truth in zip(jax.tree.leaves(joined), jax.tree.leaves(single), strict=True):
                np.testing.assert_allclose(value[j], truth, rtol=ROUNDING)

    def test_is_the_law_of_the_sum(self):
        other = random_mixture(2, 2, seed=5)
        total = PLANAR.sample(100_000, 0) + other.sample(100_000, 1)
        joined = PLANAR.convolve(other)
        assert_within_standard_errors(total, joined.mean)
        direction = np.array([0.7, -1.1])
        truth = sum(
            w * np.exp(1j * m @ direction - direction @ c @ direction / 2)
            for w, m, c in zip(joined.weights, joined.means, joined.covariances, strict=True)
        )
        assert_within_standard_errors(np.cos(total @ direction), truth.real)
        assert_within_standard_errors(np.sin(total @ direction), truth.imag)

    @settings(max_examples=60, deadline=None)
    @given(
        d=st.integers(1, 4),
        first=st.integers(1, 4),
        second=st.integers(1, 4),
        batch=st.sampled_from([(), (2,)]),
        seed=st.integers(0, 10_000),
    )
    def test_means_and_covariances_add(self, d, first, second, batch, seed):
        p, q = random_mixture(d, first, seed, batch), random_mixture(d, second, seed + 1, batch)
        joined = p.convolve(q)
        assert joined.components == first * second
        np.testing.assert_allclose(joined.weights.sum(axis=-1), 1, rtol=ROUNDING)
        np.testing.assert_allclose(joined.mean, p.mean + q.mean, atol=1e-10)
        np.testing.assert_allclose(joined.covariance, p.covariance + q.covariance, atol=1e-10)

    @pytest.mark.parametrize("pair", [(PLANAR, TWO_PEAKS), (TWO_PEAKS, PLANAR)], ids=["2 with 1", "1 with 2"])
    def test_refuses_another_dimension(self, pair):
        with pytest.raises(ValueError, match="dimension"):
            pair[0].convolve(pair[1])


class TestMoments:
    def test_closed_form(self):
        """Mean 0.3·(−1) + 0.7·2 = 1.1; variance 0.3·0.25 + 0.7·1 + 0.21·3² = 2.665."""
        mean, covariance = TWO_PEAKS.moments()
        np.testing.assert_allclose(mean, [1.1], rtol=ROUNDING)
        np.testing.assert_allclose(covariance, [[2.665]], rtol=ROUNDING)

    def test_equals_integrals(self):
        axis = np.linspace(-10, 10, 401)
        grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1)
        mass = np.exp(PLANAR.log_prob(grid)) * (axis[1] - axis[0]) ** 2
        mean = np.einsum("xy,xyi->i", mass, grid)
        centred = grid - mean
        np.testing.assert_allclose(PLANAR.mean, mean, atol=1e-10)
        np.testing.assert_allclose(PLANAR.covariance, np.einsum("xy,xyi,xyj->ij", mass, centred, centred), atol=1e-10)

    def test_a_batch_is_a_loop(self, double_precision):
        batch = random_mixture(3, 4, seed=0, batch=(2, 3))
        for form in (batch, to_jax(batch)):
            mean, covariance = form.moments()
            for i, j in np.ndindex(2, 3):
                single = GaussianMixture(batch.weights[i, j], batch.means[i, j], batch.covariances[i, j])
                np.testing.assert_allclose(mean[i, j], single.mean, atol=1e-12)
                np.testing.assert_allclose(covariance[i, j], single.covariance, atol=1e-12)

    def test_a_point_has_no_spread(self):
        x = np.random.default_rng(0).normal(size=(2, 3, 4))
        mean, covariance = GaussianMixture.point(x).moments()
        np.testing.assert_array_equal(mean, x)
        np.testing.assert_array_equal(covariance, np.zeros((2, 3, 4, 4)))


class TestMarginalAndAffine:
    @pytest.mark.parametrize("axis", [0, 1])
    def test_marginal_equals_integration(self, axis):
        """Integration over the other coordinate, by adaptive quadrature."""
        for value in (-1.3, 0.2, 1.7):

            def density(other, value=value):
                return np.exp(PLANAR.log_prob([value, other] if axis == 0 else [other, value]))

            truth, _ = quad(density, -12, 12, points=[-2, 0.5, 1], epsabs=1e-12)
            assert np.exp(PLANAR.marginal(axis).log_prob([value])) == pytest.approx(truth, abs=1e-10)

    def test_marginal_of_two_out_of_four(self):
        """The order of the axes is the caller's; the other two are integrated out."""
        mixture = random_mixture(4, 2, seed=4)
        x = np.array([0.4, -0.3])
        nodes, weights = np.polynomial.legendre.leggauss(120)
        nodes, weights = 12 * nodes, 12 * weights
        points = np.empty((120, 120, 4))
        points[..., 3], points[..., 1] = x
        points[..., 0], points[..., 2] = np.meshgrid(nodes, nodes, indexing="ij")
        truth = weights @ np.exp(mixture.log_prob(points)) @ weights
        assert np.exp(mixture.marginal(3, 1).log_prob(x)) == pytest.approx(truth, abs=1e-9)

    def test_affine_is_a_change_of_variables(self):
        """p_Y(y) = p_X((y − b)/c)/Π|c_i| for Y = b + c·X, here with a reflection."""
        shift, scale = np.array([3.0, -1.0]), np.array([10.0, -0.5])
        y = shift + scale * np.random.default_rng(0).normal(size=(20, 2))
        truth = PLANAR.log_prob((y - shift) / scale) - np.log(np.abs(scale)).sum()
        np.testing.assert_allclose(PLANAR.affine(shift, scale).log_prob(y), truth, rtol=1e-11)

    def test_affine_there_and_back(self):
        shift, scale = np.array([3.0, -1.0]), np.array([10.0, 0.5])
        back = PLANAR.affine(shift, scale).affine(-shift / scale, 1 / scale)
        for value, truth in zip(jax.tree.leaves(back), jax.tree.leaves(PLANAR), strict=True):
            np.testing.assert_allclose(value, truth, atol=1e-13)


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


class TestBadInput:
    @pytest.mark.parametrize(
        ("weights", "means", "covariances", "message"),
        [
            ([0.5, 0.6], [[0.0], [1.0]], [[[1.0]], [[1.0]]], "weights ≥ 0 that sum to 1.*divide by their sum"),
            ([1.5, -0.5], [[0.0], [1.0]], [[[1.0]], [[1.0]]], "weights ≥ 0 that sum to 1"),
            ([1.0], [0.0], [[[1.0]]], r"means \(\.\.\., K, d\).*\(1,\)"),
            ([1.0], [[0.0], [1.0]], [[[1.0]]], r"weights \(\.\.\., K\)"),
            ([0.5, 0.5], [[0.0], [1.0]], [1.0, 1.0], r"covariances of shape \(2, 1, 1\), but got \(2,\)"),
            ([1.0], [[0.0, 0.0]], [[1.0, 1.0]], r"covariances of shape \(1, 2, 2\).*full matrices"),
            ([1.0], [[0.0, 0.0]], [[[1.0, 0.5], [0.0, 1.0]]], "symmetric covariances"),
            ([1.0], [[0.0, 0.0]], [[[1.0, 2.0], [2.0, 1.0]]], "negative eigenvalue"),
            ([1.0], [[0.0]], [[[-1.0]]], "negative eigenvalue"),
            ([np.nan], [[0.0]], [[[1.0]]], "finite weights"),
            ([1.0], [[np.nan]], [[[1.0]]], "finite means"),
            ([1.0], [[0.0]], [[[np.inf]]], "finite covariances"),
        ],
    )
    def test_refuses(self, weights, means, covariances, message):
        with pytest.raises(ValueError, match=message):
            GaussianMixture(weights, means, covariances)

    def test_refuses_one_bad_mixture_of_a_batch(self):
        weights = np.full((3, 2), 0.5)
        weights[1] = 0.4
        with pytest.raises(ValueError, match="sum to 1"):
            GaussianMixture(weights, np.zeros((3, 2, 1)), np.ones((3, 2, 1, 1)))

    def test_smallness_does_not_hide_a_bad_covariance(self):
        """The checks are relative to the matrix: metres or nanometres, an indefinite one is refused."""
        with pytest.raises(ValueError, match="negative eigenvalue"):
            GaussianMixture([1.0], [[0.0, 0.0]], [1e-18 * np.array([[1.0, 2.0], [2.0, 1.0]])])

    @pytest.mark.parametrize("name", ["weights", "means", "covariances"])
    @pytest.mark.parametrize("bad", ["text", 1j], ids=["text", "complex"])
    def test_refuses_what_is_no_real_number(self, name, bad):
        arguments = {"weights": [1.0], "means": [[0.0]], "covariances": [[[1.0]]]}
        arguments[name] = np.full(np.shape(arguments[name]), bad)
        with pytest.raises(TypeError, match=f"expected {name} to be real numbers"):
            GaussianMixture(**arguments)

    def test_log_prob_refuses_another_dimension(self):
        with pytest.raises(ValueError, match=r"points of shape \(\.\.\., 2\), but got \(3,\)"):
            PLANAR.log_prob(np.zeros(3))
        with pytest.raises(ValueError, match=r"points of shape \(\.\.\., 1\), but got \(\)"):
            TWO_PEAKS.log_prob(0.5)

    def test_whole_numbers_are_numbers(self):
        mixture = GaussianMixture([1], [[0]], [[[4]]])
        assert mixture.log_prob([2]) == pytest.approx(norm(0, 2).logpdf(2), rel=ROUNDING)


class TestForms:
    def test_numpy_normalises_and_widens(self):
        """Three float32 weights of 1/3 and some: their sum is one to double precision afterwards."""
        single = GaussianMixture(
            jnp.asarray([0.1, 0.2, 0.7], jnp.float32), jnp.zeros((3, 2)), jnp.broadcast_to(jnp.eye(2), (3, 2, 2))
        )
        double = single.numpy()
        for value, truth in zip(jax.tree.leaves(double), jax.tree.leaves(single), strict=True):
            assert isinstance(value, np.ndarray)
            assert value.dtype == np.float64
            np.testing.assert_allclose(value, truth, rtol=1e-6)
        assert abs(double.weights.sum() - 1) < 1e-15

    def test_numpy_keeps_batches(self):
        batch = to_jax(random_mixture(2, 3, seed=0, batch=(4,)))
        assert batch.numpy().means.shape == (4, 3, 2)
        np.testing.assert_allclose(batch.numpy().weights.sum(axis=-1), 1, atol=1e-15)

    def test_every_method_can_be_traced(self, double_precision):
        other = random_mixture(2, 2, seed=1)

        @jax.jit
        def chain(p, q):
            joined = p.convolve(q).affine(jnp.ones(2), 2 * jnp.ones(2))
            return joined.moments(), joined.marginal(1).log_prob(jnp.zeros(1))

        (mean, covariance), value = chain(to_jax(PLANAR), to_jax(other))
        np.testing.assert_allclose(mean, 1 + 2 * (PLANAR.mean + other.mean), rtol=1e-11)
        np.testing.assert_allclose(covariance, 4 * (PLANAR.covariance + other.covariance), rtol=1e-11)
        joined = PLANAR.convolve(other).affine(np.ones(2), 2 * np.ones(2))
        truth, _ = nquad(lambda x: np.exp(joined.log_prob([x, 0.0])), [(-30, 30)])
        assert np.exp(value) == pytest.approx(truth, abs=1e-8)

    def test_sizes(self):
        assert (PLANAR.components, PLANAR.dimension) == (3, 2)
        assert GaussianMixture.point(np.zeros((5, 2))).components == 1
