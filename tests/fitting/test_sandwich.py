"""The sandwich: the law's own covariance where the law is right, wider where its motions have heavy tails."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nke.data import Coordinates, Trajectories
from nke.fitting.newton import ParameterVector
from nke.fitting.sandwich import ScoreSample, sandwich
from nke.operators import (
    Advection,
    ConstantFactor,
    Diffusion,
    DriftNetwork,
    ForwardPacket,
    Generator,
    trainable,
)

STEP, RULE, ONE = 0.02, ForwardPacket(), Coordinates([0.0], [1.0], 1.0)


@pytest.fixture(scope="module")
def law() -> Generator:
    """dx = −x dt + dW."""
    drift = DriftNetwork(jnp.ones(1), 0, 0, key=jax.random.key(0)).starting_from(jnp.zeros(1), -jnp.ones((1, 1)))
    return Generator(Advection(drift), Diffusion(ConstantFactor(jnp.eye(1), 0, 0, inputs=1, key=jax.random.key(0))))


def recorded(noise, paths=200, rows=80) -> Trajectories:
    """Paths of the law with another noise; the first rows, away from the stationary state, are left out."""
    x, states = np.zeros(paths), []
    for xi in noise((rows + 50, paths)):
        x = x * np.exp(-STEP) + np.sqrt((1 - np.exp(-2 * STEP)) / 2) * xi
        states.append(x)
    return Trajectories(np.stack(states[50:], axis=1)[..., None], STEP)


def errors(law, data) -> tuple[np.ndarray, np.ndarray]:
    """Standard errors of constant, slope and noise: from the law's information alone, and those of the sandwich."""
    vector, transitions = ParameterVector.of(law, trainable(law)), data.transitions()
    sample = ScoreSample.of(law, RULE, transitions, ONE, seed=0)
    assert sample.usable
    bread, meat = sample.information(lambda steps: vector.scores(RULE, steps), len(transitions))
    return np.sqrt(np.diag(np.linalg.inv(bread))), np.sqrt(np.diag(sandwich(bread, meat)))


def rng():
    return np.random.default_rng(3)


def test_a_right_law_keeps_its_errors(law):
    """15,800 transitions: a kurtosis of the scores of 3 gives variances to a few per cent."""
    plain, robust = errors(law, recorded(rng().standard_normal))
    np.testing.assert_allclose(robust, plain, rtol=0.2)


def test_heavy_tails_make_the_noise_less_certain(law):
    """Of a noise of kurtosis κ the variance is known to √((κ − 1)/2) times the Gaussian error: 2 for κ = 9."""
    plain, robust = errors(law, recorded(lambda size: rng().standard_t(5, size) / np.sqrt(5 / 3)))
    ratio = robust / plain
    assert 1.5 < ratio[-1] < 3.0
    np.testing.assert_allclose(ratio[:-1], 1.0, rtol=0.25)  # the drift does not care


def test_the_sandwich_of_a_penalised_law():
    """(H + Λ)⁻¹(J + Λ)(H + Λ)⁻¹, which is (H + Λ)⁻¹ where J is H."""
    root = np.random.default_rng(0).normal(size=(4, 9))
    bread, precision = root @ root.T, np.array([1.0, 2.0, 3.0, 4.0])
    np.testing.assert_allclose(sandwich(bread, bread, precision), np.linalg.inv(bread + np.diag(precision)), rtol=1e-8)
