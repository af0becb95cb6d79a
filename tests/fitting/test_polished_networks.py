"""Last layers and skips by Newton's method: which parameters are meant, and that known laws come out."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nke.fitting.batches import Steps, float32
from nke.fitting.newton import ParameterVector
from nke.fitting.penalised_newton import PenalisedNewton, posterior_covariance
from nke.fitting.polished_networks import MOST_TOGETHER, hidden_weights, linear_parameters
from nke.operators import (
    Advection,
    ConstantFactor,
    Diffusion,
    DriftNetwork,
    ForwardPacket,
    FullFactor,
    Generator,
    JumpNetwork,
    PoissonJump,
    trainable,
)
from quick_fits import euler_maruyama

KEYS = jax.random.split(jax.random.key(0), 4)
SIZES: dict[str, Any] = {"width": 6, "depth": 1}


@pytest.fixture(scope="module")
def planar() -> Generator:
    """Two coordinates, quadratic skip, noise of any form, jumps of two components, all weights at random."""
    law = Generator(
        Advection(DriftNetwork(jnp.ones(2), **SIZES, degree=2, key=KEYS[0])),
        Diffusion(FullFactor(jnp.eye(2), **SIZES, key=KEYS[1])),
        PoissonJump(JumpNetwork(jnp.ones(2), 0.1 * jnp.eye(2), 1.0, 2, **SIZES, key=KEYS[2]), 1),
    )
    all_of_it = ParameterVector.of(law, trainable(law))
    return all_of_it.at(0.3 * np.random.default_rng(0).normal(size=len(all_of_it.values))).generator


def test_the_law_itself_is_not_changed(planar):
    x, found = jnp.array([0.3, -0.7]), linear_parameters(planar).vector.generator
    np.testing.assert_allclose(found.drift_network(x), planar.drift_network(x), rtol=1e-5)
    np.testing.assert_allclose(found.noise_factor(x), planar.noise_factor(x), rtol=1e-5)
    np.testing.assert_allclose(found.jump_network(x)[0], planar.jump_network(x)[0], rtol=1e-5)


def test_every_parameter_has_one_block_and_the_right_group(planar):
    """Drift: 2 × (6 hidden, 3 quadratic); noise: 3 × (6 hidden, 2 linear); jumps: 3 × 6 hidden."""
    found = linear_parameters(planar)
    assert sorted(np.concatenate(found.blocks)) == list(range(len(found.vector.values)))
    sizes = np.bincount(found.groups[found.groups >= 0])
    assert sorted(sizes) == sorted([6] * (2 + 3 + 3) + [3] * 2 + [2] * 3)
    weak = 2 * (1 + 2) + 3 + (3 + 2 * 2 + 2 * 3)  # constants and slopes, constants, constants and shapes
    assert (found.groups == -1).sum() == weak
    assert {name: len(places) for name, places in found.constants.items()} == {"drift": 2, "noise": 3, "jumps": 3}
    assert {name: hidden_weights(found, name).sum() for name in found.constants} == {
        "drift": 12,
        "noise": 18,
        "jumps": 18,
    }


def test_a_group_belongs_to_one_output(planar):
    found, x = linear_parameters(planar), jnp.array([0.3, -0.7])
    before = planar.drift_network(x)
    for output in range(2):
        group = found.groups == found.groups[np.flatnonzero(hidden_weights(found, "drift"))[6 * output]]
        changed = found.without(group).vector.generator.drift_network(x) - before
        assert (np.abs(changed) > 1e-4).tolist() == [output == 0, output == 1]


def test_drift_is_linear_in_its_parameters(planar):
    found, x = linear_parameters(planar), jnp.array([0.3, -0.7])
    one, two = np.random.default_rng(0).normal(size=(2, len(found.vector.values)))
    drift = lambda values: np.asarray(found.vector.at(values).generator.drift_network(x))  # noqa: E731
    np.testing.assert_allclose(drift(one + two), drift(one) + drift(two), rtol=1e-4, atol=1e-5)


def test_many_parameters_are_stepped_output_by_output():
    drift = DriftNetwork(jnp.ones(5), width=MOST_TOGETHER // 4, depth=1, key=KEYS[0])
    law = Generator(Advection(drift), Diffusion(ConstantFactor(jnp.eye(5), key=KEYS[1])))
    assert [len(block) for block in linear_parameters(law).blocks] == [150 + 6] * 5 + [15]


def polished(drift, degree: int):
    """Newton's method from zero, for a drift beside constant noise, from 8000 recorded steps."""
    start = np.random.default_rng(0).normal(size=200)
    seen = euler_maruyama(drift, lambda x: 0.5, start, 41, 0.05).transitions()
    steps = Steps(*(float32(np.asarray(a)) for a in (seen.x, seen.y - seen.x, seen.step)))
    network = DriftNetwork(jnp.ones(1), width=16, depth=2, degree=degree, key=KEYS[0])
    law = Generator(Advection(network), Diffusion(ConstantFactor(0.4 * jnp.eye(1), key=KEYS[1])))
    return PenalisedNewton().run(ForwardPacket(), linear_parameters(law), steps)


def test_on_a_cubic_the_hidden_units_are_dropped_and_the_coefficients_found():
    found = polished(lambda x: x - x**3, degree=3)
    at = found.parameters
    assert not at.vector.active[hidden_weights(at, "drift")].any()
    assert not at.vector.values[hidden_weights(at, "drift")].any()
    skip = at.vector.places.drift_network.body.skip
    places = np.concatenate([skip.bias, skip.weight[0]]).astype(int)
    error = np.zeros(len(at.vector.values))
    for block, covariance in posterior_covariance(at, found.evidence):
        error[block] = np.sqrt(np.diag(covariance))
    gap = np.abs(at.vector.values - np.isin(np.arange(len(error)), places[1:2]))[places[:2]]
    assert (gap < 4 * error[places[:2]] + 0.01).all()
    assert abs(at.vector.values[places[3]] + 1) < 4 * error[places[3]] + 0.01  # a step of 0.05 is known to 1 %


def test_without_a_cubic_skip_the_hidden_units_are_used():
    """Random features in the place of trained ones; a straight line is off by 0.15.

    18 parameters from 400 units of time with a = 1/4 are off by √(18/4/400) = 0.106, by a third more in 2 % of cases.
    """
    found = polished(lambda x: x - x**3, degree=1).parameters
    assert found.vector.active[hidden_weights(found, "drift")].all()
    x = np.linspace(-1, 1, 50)[:, None]
    learned = jax.vmap(found.vector.generator.drift_network)(float32(x))
    assert np.sqrt(np.mean((np.asarray(learned) - x + x**3) ** 2)) < 0.106 * (1 + 2 / np.sqrt(2 * 18))
