"""Evidence of penalties: against densities and quadrature, its maximum against a grid, how often noise is kept."""

import numpy as np
import pytest
from scipy.stats import chi2, multivariate_normal

from nke.errors import DivergenceError
from nke.fitting.evidence import (
    WEAK,
    Penalised,
    maximise_evidence,
    parameter_precisions,
    without_useless_groups,
)

COUNT = 60
GROUPS = np.array([-1, 0, 0, 0, 1, 1])


def regression(seed: int, weights=(1.0, 0.5, -0.5, 0.4, 0.0, 0.0)) -> tuple[np.ndarray, np.ndarray]:
    """Columns that are not orthogonal, and y = X θ + N(0, 1): the information is XᵀX, the linear term Xᵀy."""
    rng = np.random.default_rng(seed)
    columns = rng.normal(size=(COUNT, len(weights))) @ (np.eye(len(weights)) + 0.2)
    return columns, columns @ np.array(weights) + rng.normal(size=COUNT)


def at(columns: np.ndarray, y: np.ndarray, groups, precisions) -> Penalised:
    """Parameters and evidence for given penalties."""
    return maximise_evidence(columns.T @ columns, columns.T @ y, groups, np.asarray(precisions, float), iterations=1)


def marginal_likelihood(columns: np.ndarray, y: np.ndarray, precisions: np.ndarray) -> float:
    """Log N(y; 0, I + X Λ⁻¹ Xᵀ) over log N(y; 0, I)."""
    covariance = np.eye(len(y)) + (columns / precisions) @ columns.T
    return multivariate_normal.logpdf(y, cov=covariance) - multivariate_normal.logpdf(y, cov=np.eye(len(y)))


class TestEvidence:
    @pytest.mark.parametrize("precisions", [(1.0, 1.0), (0.1, 50.0), (1e4, 1e-2)])
    def test_is_the_marginal_likelihood_of_a_regression(self, precisions):
        columns, y = regression(0)
        found = at(columns, y, GROUPS, precisions)
        each = np.array([WEAK, *[precisions[0]] * 3, *[precisions[1]] * 2])
        np.testing.assert_array_equal(parameter_precisions(GROUPS, np.array(precisions)), each)
        assert found.evidence == pytest.approx(marginal_likelihood(columns, y, each), rel=1e-9)
        H = columns.T @ columns
        posterior = np.linalg.inv(H + np.diag(each))
        np.testing.assert_allclose(found.values, posterior @ columns.T @ y, rtol=1e-8)
        smoothing = np.diag(posterior @ H)
        np.testing.assert_allclose(found.effective, [smoothing[1:4].sum(), smoothing[4:].sum()], rtol=1e-8)

    def test_is_an_integral(self):
        """∫ e^{bθ − θᵀHθ/2} N(θ; 0, Λ⁻¹) dθ over a plane, by trapezoids of a twentieth of a standard deviation."""
        H, b, precisions = np.array([[3.0, 1.0], [1.0, 2.0]]), np.array([2.0, -1.0]), np.array([0.5, 4.0])
        line = np.linspace(-12, 12, 1001)
        u, v = np.meshgrid(line, line, indexing="ij")
        exponent = b[0] * u + b[1] * v - (H[0, 0] * u**2 + 2 * H[0, 1] * u * v + H[1, 1] * v**2) / 2
        prior = np.sqrt(precisions.prod()) / (2 * np.pi) * np.exp(-(precisions[0] * u**2 + precisions[1] * v**2) / 2)
        integral = (np.exp(exponent) * prior).sum() * (line[1] - line[0]) ** 2
        found = maximise_evidence(H, b, np.array([0, 1]), precisions, iterations=1)
        assert found.evidence == pytest.approx(np.log(integral), abs=1e-9)

    def test_of_a_group_that_is_not_used_is_that_without_its_columns(self):
        columns, y = regression(1)
        found = at(columns, y, GROUPS, (2.0, np.inf))
        fewer = at(columns[:, :4], y, GROUPS[:4], (2.0,))
        assert found.evidence == pytest.approx(fewer.evidence, rel=1e-12)
        np.testing.assert_array_equal(found.values[4:], 0)

    def test_survives_rounding_that_leaves_a_negative_eigenvalue(self):
        """Columns of which one is nearly another, and sums in single precision: the fit is that in double precision."""
        columns, y = regression(2)
        columns = 1e3 * np.concatenate([columns, columns + 1e-6], axis=1)
        groups = np.arange(2 * len(GROUPS)) // len(GROUPS)
        exact, rounded = columns.T @ columns, (columns.T @ columns).astype(np.float32).astype(float)
        assert np.linalg.eigvalsh(rounded)[0] < -2e-3  # which the prior of precision 1e-3 does not lift
        weak = np.full(2, 1e-3)
        found, truth = (maximise_evidence(H, columns.T @ y, groups, weak, iterations=1) for H in (rounded, exact))
        np.testing.assert_allclose(columns @ found.values, columns @ truth.values, atol=0.05)
        with pytest.raises(DivergenceError, match="not positive definite"):
            maximise_evidence(-exact, columns.T @ y, groups, weak)


class TestMaximum:
    @pytest.mark.parametrize("seed", range(6))
    def test_no_penalties_on_a_grid_are_better(self, seed):
        """Up to 0.1 nats, a few times the 0.02 by which the last two iterations may differ."""
        columns, y = regression(seed, weights=(1.0, 0.5, -0.5, 0.4, 0.2, -0.1))
        found = maximise_evidence(columns.T @ columns, columns.T @ y, GROUPS, np.ones(2))
        grid = [*np.geomspace(1e-2, 1e4, 25), np.inf]
        best = max(at(columns, y, GROUPS, (a, b)).evidence for a in grid for b in grid)
        assert found.evidence > best - 0.1

    def test_does_not_depend_on_the_start(self):
        columns, y = regression(3, weights=(1.0, 0.5, -0.5, 0.4, 0.9, -0.7))
        H, b = columns.T @ columns, columns.T @ y
        found = [maximise_evidence(H, b, GROUPS, np.full(2, start)) for start in (1e-2, 1.0, 1e2)]
        assert np.ptp([each.evidence for each in found]) < 0.05
        for each in found[1:]:
            np.testing.assert_allclose(each.values, found[0].values, atol=0.02)

    def test_a_dropped_group_stays_dropped(self):
        columns, y = regression(3)
        found = maximise_evidence(columns.T @ columns, columns.T @ y, GROUPS, np.array([np.inf, 1.0]))
        assert found.precisions[0] == np.inf
        assert not found.values[1:4].any()


SIZE, INFORMATION = 10, 400.0


def two_groups(seed: int) -> Penalised:
    """Estimates of N(θ, 1/400) of ten parameters of order 0.2, and of ten that are zero."""
    rng = np.random.default_rng(seed)
    true = np.concatenate([0.2 * rng.normal(size=SIZE), np.zeros(SIZE)])
    linear = INFORMATION * true + np.sqrt(INFORMATION) * rng.normal(size=2 * SIZE)
    data = INFORMATION * np.eye(2 * SIZE), linear, np.arange(2 * SIZE) // SIZE
    return without_useless_groups(maximise_evidence(*data, np.ones(2)), *data)


class TestUselessGroups:
    def test_a_group_of_noise_is_kept_as_often_as_chance_has_it(self):
        """In closed form: the most that k orthogonal parameters gain is (χ² − k − k log(χ²/k))/2, for k = 10 above two
        nats in 1.6 % of all cases. In 200 simulations within four standard errors of that; the relevant group is
        kept always.
        """
        kept = np.mean([np.isfinite(two_groups(seed).precisions) for seed in range(200)], axis=0)
        squares = np.linspace(SIZE, 10 * SIZE, 100_001)
        gain = (squares - SIZE - SIZE * np.log(squares / SIZE)) / 2
        chance = chi2.sf(squares[np.argmax(gain > 2.0)], SIZE)
        assert chance == pytest.approx(0.016, abs=0.001)
        assert kept[0] == 1
        assert abs(kept[1] - chance) < 4 * np.sqrt(chance * (1 - chance) / 200)

    def test_a_relevant_group_keeps_its_size(self):
        """λ is one over the mean square of ten parameters of order 0.2 ± 0.05; the others are dropped."""
        found = two_groups(0)
        assert np.isfinite(found.precisions).tolist() == [True, False]
        assert found.precisions[0] == pytest.approx(1 / 0.2**2, rel=4 * np.sqrt(2 / SIZE))
        assert not found.values[SIZE:].any()

    @pytest.mark.parametrize("seed", range(5))
    def test_no_more_than_the_stated_evidence_is_lost(self, seed):
        columns, y = regression(seed, weights=(1.0, 0.2, -0.2, 0.1, 0.15, -0.1))
        data = columns.T @ columns, columns.T @ y, np.array([-1, 0, 1, 1, 2, 3])
        whole = maximise_evidence(*data, np.ones(4))
        for most in (0.5, 2.0, 1e3):
            fewer = without_useless_groups(whole, *data, most_loss=most)
            assert fewer.evidence > whole.evidence - most
            assert np.isfinite(fewer.precisions).sum() <= np.isfinite(whole.precisions).sum()
        assert not np.isfinite(fewer.precisions).any()

    def test_large_groups_may_be_left_alone(self):
        """One parameter each of 1.2 standard errors, and two of 1.2 together: 0.3 and 0.6 effective parameters."""
        H, groups = 100 * np.eye(5), np.array([0, 1, 2, 3, 3])
        linear = np.array([1000.0, 12.0, -12.0, 12.0, 12.0])
        found = maximise_evidence(H, linear, groups, np.ones(4))
        assert np.isfinite(found.precisions).all()
        np.testing.assert_allclose(found.effective, [1 - 1e-4, *[1 - 1 / 1.44] * 2, 2 * (1 - 1 / 1.44)], atol=0.15)
        fewer = without_useless_groups(found, H, linear, groups, most_effective=0.45)
        assert np.isfinite(fewer.precisions).tolist() == [True, False, False, True]
        assert without_useless_groups(found, H, linear, groups, most_loss=0.01) is found
