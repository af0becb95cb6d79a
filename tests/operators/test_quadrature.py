"""Quadrature rules: the moments of a Gaussian, to their degree."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nke.operators import (
    Advection,
    Cubature,
    GaussHermite,
    Simplex,
)
from operator_cases import (
    DRIFTS,
    PACKET,
    rate_of,
)


@pytest.mark.usefixtures("double_precision")
@pytest.mark.parametrize("name", ["double well", "sine"])
def test_cubature_is_exact_to_third_degree(name):
    """⟨x − x³⟩ = μ − μ³ − 3μΣ; ⟨sin⟩ it only approximates: to Σ³/6·|f⁗…|, not to rounding."""
    rate = rate_of(Advection(DRIFTS[name]), PACKET, Cubature())
    truth = rate_of(Advection(DRIFTS[name]), PACKET)
    error = abs(rate.mean[0] - truth.mean[0])
    if name == "double well":
        assert error < 1e-12
        np.testing.assert_allclose(rate.mean[0], 0.6 - 0.6**3 - 3 * 0.6 * 0.35, rtol=1e-12)
    else:
        # E ξ⁴ = 3 against the rule's 1: the leading error is |f⁗(μ)| Σ²·(3 − 1)/24.
        assert error == pytest.approx(16 * np.sin(1.2) * 0.35**2 / 12, rel=0.5)


@pytest.mark.usefixtures("double_precision")
@pytest.mark.parametrize("quadrature", [Simplex(), Cubature(), GaussHermite(3)], ids=lambda rule: type(rule).__name__)
@pytest.mark.parametrize("d", [1, 2, 3, 6])
def test_rules_have_the_moments_of_a_gaussian(quadrature, d):
    """Central moments 1, 0, Σ and 0 of degrees 0 to 3, in any dimension."""
    rng = np.random.default_rng(d)
    root = rng.normal(size=(d, d))
    mean, covariance = rng.normal(size=d), root @ root.T
    points = np.asarray(jax.jit(quadrature.points)(jnp.asarray(mean), jnp.asarray(covariance)))
    weights = np.asarray(quadrature.weights(d, jnp.float64))
    centred = points - mean
    assert weights.sum() == pytest.approx(1, abs=1e-14)
    np.testing.assert_allclose(weights @ centred, 0, atol=1e-12)
    np.testing.assert_allclose(np.einsum("n,ni,nj->ij", weights, centred, centred), covariance, atol=1e-12)
    if not isinstance(quadrature, Simplex):  # d + 1 points reach the second degree only
        third = np.einsum("n,ni,nj,nk->ijk", weights, centred, centred, centred)
        np.testing.assert_allclose(third, 0, atol=1e-11)
