"""Scores of polynomial laws in NumPy against automatic differentiation of the same density."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nke.fitting.batches import Steps, float32
from nke.fitting.newton import ParameterVector
from nke.operators import (
    Advection,
    ConstantFactor,
    Diffusion,
    DriftNetwork,
    EulerMaruyamaRule,
    ForwardPacket,
    FullFactor,
    Generator,
    trainable,
)

COUNT = 500


def law(degree: int, inputs: int = 2, depth: int = 0) -> Generator:
    """Coefficients, noise and correlation of no symmetry."""
    rng, key = np.random.default_rng(1), jax.random.key(0)
    drift = DriftNetwork(jnp.array([2.0, 0.5]), 4, depth, degree, inputs, key=key)
    slopes = 0.3 * rng.normal(size=drift.body.skip.weight.shape)
    drift = drift.starting_from(float32(rng.normal(size=2)), float32(slopes))
    factor = ConstantFactor(jnp.array([[0.5, 0.0], [0.2, 0.3]]), key=key)
    factor = eqx.tree_at(lambda f: f.raw, factor, float32(np.array([0.2, -0.4, -0.3])))
    return Generator(Advection(drift), Diffusion(factor))


def transitions() -> Steps:
    rng = np.random.default_rng(2)
    x, step = rng.normal(size=(COUNT, 2)), rng.uniform(0.02, 0.1, COUNT)
    return Steps(float32(x), float32(0.3 * rng.normal(size=(COUNT, 2)) * np.sqrt(step)[:, None]), float32(step))


@pytest.mark.parametrize("degree", [1, 3])
def test_are_those_of_automatic_differentiation(degree):
    """To single precision, relative to the size of each parameter's scores."""
    generator, rule, steps = law(degree), ForwardPacket(resolution=(0.01, 0.02)), transitions()
    direct = ParameterVector.of(generator, trainable(generator))
    compiled = replace(direct, direct=None)
    assert direct.direct is not None
    np.testing.assert_allclose(direct.log_prob(rule, steps), compiled.log_prob(rule, steps), rtol=1e-4, atol=1e-3)
    found, known = direct.scores(rule, steps), compiled.scores(rule, steps)
    np.testing.assert_array_less(np.abs(found - known).max(axis=0), 1e-2 * known.std(axis=0))


def test_of_other_laws_are_compiled():
    """A network, noise that depends on the state; and sub-steps or another rule for a law that has them."""
    key = jax.random.key(0)
    network, plain = law(1, depth=1), Diffusion(FullFactor(jnp.eye(2), 4, 0, key=key))
    for generator in (network, Generator(law(1).advection, plain)):
        assert ParameterVector.of(generator, trainable(generator)).direct is None
    polynomial = law(2)
    scores = ParameterVector.of(polynomial, trainable(polynomial)).direct
    assert scores is not None
    suited = [scores.suits(rule) for rule in (ForwardPacket(), ForwardPacket(substeps=2), EulerMaruyamaRule())]
    assert suited == [True, False, False]
