"""Gaussian mixtures: convolution, moments, marginals and changes of units against integrals, and bad input.

Trapezoid sums of Gaussians converge faster than any power of the spacing, so that grids finer than half a standard
deviation and wider than eight leave only rounding. Seeds are fixed.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import nquad, quad
from scipy.signal import fftconvolve
from scipy.stats import norm

from mixture_examples import PLANAR, ROUNDING, TWO_PEAKS, random_mixture, to_jax
from nke.mixtures import GaussianMixture
from standard_errors import assert_within_standard_errors


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
