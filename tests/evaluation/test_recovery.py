"""Errors of coefficients against a known truth, and distances of jump laws against closed forms."""

import numpy as np
import pytest

import nke
from nke.evaluation import jump_law_distance
from nke.mixtures import GaussianMixture
from nke.systems import DoubleWell
from true_models import true_model


def test_recovery_is_zero_for_the_truth_and_right_for_a_known_error():
    system = DoubleWell()
    states = np.random.default_rng(0).normal(size=(500, 3))
    exact = nke.recovery(true_model(system, step=0.05), system, states)
    assert exact.drift.relative < 1e-5
    assert exact.diffusion.median < 1e-5
    assert exact.jump_rate is not None
    assert exact.jump_rate.relative < 1e-5
    off = nke.recovery(true_model(DoubleWell(noise=1.0, rate=1.5), step=0.05), system, states)
    assert off.diffusion == pytest.approx((3.0, 3.0), rel=1e-4)  # a = 1 against 0.25
    assert off.jump_rate == pytest.approx((0.5, 0.5), rel=1e-4)


def test_distance_of_jump_laws_has_its_closed_form():
    """Gaussians of one centre: |σ − τ| E|Z|; a shift: itself; no jump against two symmetric ones: their size."""
    wide = GaussianMixture([1.0], [[0.0, 0.5]], [np.diag([4.0, 0.0])])
    narrow = GaussianMixture([1.0], [[0.0, 0.0]], [np.diag([1.0, 0.0])])
    np.testing.assert_allclose(jump_law_distance(wide, narrow), [np.sqrt(2 / np.pi), 0.5], atol=0.02)
    still = GaussianMixture([1.0], [[0.0]], [[[0.0]]])
    moving = GaussianMixture([0.5, 0.5], [[-1.0], [1.0]], [[[0.04]], [[0.04]]])
    np.testing.assert_allclose(jump_law_distance(still, moving), [1.0], atol=0.01)
