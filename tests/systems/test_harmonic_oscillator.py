"""The harmonic oscillator's Gaussian transition against quadrature and limits."""

import numpy as np
from scipy.linalg import expm

from nke.systems import HarmonicOscillator


def test_covariance():
    """Q(s) = ∫ e^{Au} BBᵀ e^{Aᵀu} du by Gauss–Legendre quadrature, the last step far beyond the system's memory."""
    nodes, weights = np.polynomial.legendre.leggauss(40)
    for system in (HarmonicOscillator(), HarmonicOscillator(frequency=2, damping=5, noise=0.7)):
        drift = np.array([[0.0, 1.0], [-(system.frequency**2), -system.damping]])
        kick = np.diag([0.0, system.noise**2])
        for s in (0.01, 0.3, 4.0):
            rates, vectors = np.linalg.eig(drift)
            times = s / 2 * (nodes + 1)
            flows = ((vectors * np.exp(rates * times[:, None])[:, None, :]) @ np.linalg.inv(vectors)).real
            truth = np.einsum("n,nij,jk,nlk->il", s / 2 * weights, flows, kick, flows)
            flow, covariance = system.transition_matrices(np.asarray(s))
            np.testing.assert_allclose(flow, expm(drift * s), rtol=1e-10, atol=1e-13)
            np.testing.assert_allclose(covariance, truth, rtol=1e-8)
        variance = system.noise**2 / (2 * system.damping)
        stationary = np.diag([variance / system.frequency**2, variance])
        flow, covariance = system.transition_matrices(np.asarray(200.0))
        np.testing.assert_allclose(covariance, stationary, rtol=1e-10, atol=1e-12)


def test_over_tiny_steps():
    """Integrated Brownian motion: Q = noise² [[s³/3, s²/2], [s²/2, s]]."""
    s = 1e-6
    covariance = HarmonicOscillator(noise=1).transition_matrices(np.asarray(s))[1]
    np.testing.assert_allclose(covariance, [[s**3 / 3, s**2 / 2], [s**2 / 2, s]], rtol=1e-5)


def test_semigroup():
    system = HarmonicOscillator(damping=0)
    flow, covariance = system.transition_matrices(np.array([0.4, 1.1, 1.5]))
    np.testing.assert_allclose(flow[1] @ flow[0], flow[2], rtol=1e-12)
    np.testing.assert_allclose(flow[1] @ covariance[0] @ flow[1].T + covariance[1], covariance[2])
