"""From covariances of parameters to directions: nothing is lost, and they follow the law through its last changes."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nke.data import Coordinates, Trajectories
from nke.fitting.batches import Steps
from nke.fitting.law_uncertainty import law_uncertainty, penalised_uncertainty, selected, shortened, together
from nke.fitting.newton import ParameterVector
from nke.fitting.penalised_newton import PenalisedNewton
from nke.fitting.polished_networks import linear_parameters
from nke.model import Model, Uncertainty, named_arrays
from nke.model.uncertainty import with_arrays
from nke.operators import (
    Advection,
    ConstantFactor,
    Diffusion,
    DriftNetwork,
    EulerMaruyamaRule,
    Generator,
    JumpNetwork,
    PoissonJump,
    SmoothBasis,
    trainable,
)

KEY = jax.random.key(0)


def law(components=3, smooth=True, width=0, depth=0) -> Generator:
    """Two coordinates; the rate and the shares of three kinds of jumps depend on the state."""
    drift = DriftNetwork(jnp.ones(2), width, depth, key=KEY)
    noise = ConstantFactor(0.3 * jnp.eye(2), 0, 0, inputs=2, key=KEY)
    network = JumpNetwork(jnp.ones(2), 0.1 * jnp.eye(2), 1.0, components, 4, 1, key=KEY)
    if smooth:
        rng = np.random.default_rng(0)
        basis = SmoothBasis(1, rng.normal(size=(4, 2)), np.ones((4, 2)), [np.eye(4)])
        used = rng.random((1 + components, basis.size)) < 0.7
        used[:, 0] = True
        network = network.with_basis(basis, used)
        weights = 0.1 * jnp.asarray(rng.normal(size=network.mlp.weights.shape), jnp.float32)
        network = eqx.tree_at(lambda n: n.mlp.weights, network, network.mlp.weights + weights)
    return Generator(Advection(drift), Diffusion(noise), PoissonJump(network, 2))


def any_uncertainty(generator, count=7, seed=1) -> Uncertainty:
    arrays, rng = named_arrays(eqx.filter(generator, trainable(generator))), np.random.default_rng(seed)
    return Uncertainty(
        {name: 0.1 * rng.normal(size=(count, *a.shape)) for name, a in arrays.items() if a.size},
        {name: 0.1 * rng.normal(size=a.shape) for name, a in arrays.items() if a.size},
    )


def test_directions_make_up_the_covariance():
    generator = law()
    vector = ParameterVector.of(generator, trainable(generator))
    rng, places = np.random.default_rng(0), np.array([0, 2, 5, 6])
    root = rng.normal(size=(4, 4))
    found = law_uncertainty(vector, [(places, root @ root.T)], offset=np.arange(len(vector.values), dtype=float))
    together = np.concatenate([found.directions[n].reshape(found.count, -1) for n in found.directions], axis=1)
    covariance = np.zeros((len(vector.values),) * 2)
    covariance[np.ix_(places, places)] = root @ root.T
    np.testing.assert_allclose(together.T @ together, covariance, atol=1e-5)
    np.testing.assert_array_equal(
        np.concatenate([a.ravel() for a in found.offset.values()]), np.arange(len(vector.values))
    )


def test_two_independent_ones_together():
    """Where both name an array, the first counts."""
    one = Uncertainty({"a": np.ones((2, 3))}, {"a": np.full(3, 5.0)})
    other = Uncertainty({"a": np.full((4, 3), 9.0), "b": np.full((4, 1), 2.0)}, {"b": np.full(1, 7.0)})
    found = together(one, other)
    assert found.count == 6
    np.testing.assert_array_equal(found.directions["a"][:2], one.directions["a"])
    np.testing.assert_array_equal(found.directions["b"][2:], other.directions["b"])
    assert not found.directions["a"][2:].any()
    assert not found.directions["b"][:2].any()
    assert {name: array[0] for name, array in found.offset.items()} == {"a": 5.0, "b": 7.0}


@pytest.mark.parametrize("smooth", [True, False])
def test_pruned_jumps_keep_their_uncertainty(smooth):
    """Pruning the law and moving it along a direction are the same in either order."""
    generator = law(smooth=smooth)
    before, keep = any_uncertainty(generator, count=2), [0, 2]

    def prune(g):
        return eqx.tree_at(lambda g: g.jump_network, g, g.jump_network.prune(keep))

    def moved(g, arrays):
        start = named_arrays(g)
        return with_arrays(g, {name: start[name] + jnp.asarray(a, jnp.float32) for name, a in arrays.items()})

    after = selected(before, generator, prune)
    pruned, x = prune(generator), jnp.array([0.3, -0.4])
    assert after.belongs_to(pruned)
    for k in range(before.count):
        one = prune(moved(generator, {name: a[k] for name, a in before.directions.items()}))
        other = moved(pruned, {name: a[k] for name, a in after.directions.items()})
        for first, second in zip(
            jax.tree.leaves(one.jump_network(x)), jax.tree.leaves(other.jump_network(x)), strict=True
        ):
            np.testing.assert_allclose(first, second, rtol=1e-5)
    one, other = prune(moved(generator, before.offset)), moved(pruned, after.offset)
    np.testing.assert_allclose(one.jump_network(x)[0], other.jump_network(x)[0], rtol=1e-5)


def test_few_directions_say_nearly_the_same():
    """Of 260 directions of a law with 20 hidden units as many are left as move it, its variances within a hundredth."""
    whole_law = law(smooth=False, width=20, depth=1)
    generator = Generator(whole_law.advection, whole_law.diffusion)
    whole = any_uncertainty(generator, count=260)
    z = np.random.default_rng(0).normal(size=(300, 2))
    short = shortened(whole, generator, z)
    assert short.count < whole.count
    variance, less = (np.sum(u.moved(generator, z[:30], ("drift",)).drift[:, 1:] ** 2, axis=1) for u in (whole, short))
    np.testing.assert_allclose(less, variance, rtol=0.05)
    assert (less <= variance * (1 + 1e-4)).all()


def test_last_layers_of_networks_know_their_errors():
    """A sum of 12 hidden units: at least 70 % of it are within 90 % intervals, and not because these are wide."""
    x, step = np.random.default_rng(0).uniform(-2, 2, size=(4000, 1)), 0.05
    start = DriftNetwork(jnp.ones(1), 12, 1, key=KEY)
    weights = 3 * jax.random.normal(jax.random.key(1), start.body.mlp.layers[-1].weight.shape)
    start = eqx.tree_at(lambda d: d.body.mlp.layers[-1].weight, start, weights)
    true = jax.vmap(start)
    moved = np.asarray(true(jnp.asarray(x, jnp.float32)), np.float64) * step
    moved = moved + np.sqrt(step) * np.random.default_rng(1).normal(size=x.shape)
    transitions = Trajectories(
        [np.stack([a, a + b]) for a, b in zip(x, moved, strict=True)], [np.array([0.0, step])] * len(x)
    ).transitions()
    noise = ConstantFactor(jnp.eye(1), 0, 0, inputs=1, key=KEY)
    generator, rule = Generator(Advection(start), Diffusion(noise)), EulerMaruyamaRule()
    steps = Steps(*(jnp.asarray(a, jnp.float32) for a in (x, moved, np.full(len(x), step))))
    found = PenalisedNewton(penalties=False).run(rule, linear_parameters(generator), steps)
    coordinates = Coordinates([0.0], [1.0], 1.0)
    uncertainty = penalised_uncertainty(found, rule, transitions, coordinates)
    learned = found.parameters.vector.generator
    model = Model(learned, coordinates, step, ("x",), ("",), rule, uncertainty=uncertainty)
    at = np.linspace(-1.9, 1.9, 39)[:, None]
    lower, upper = model.interval("drift", at)
    truth = np.asarray(true(jnp.asarray(at, jnp.float32)))
    assert np.mean((lower <= truth) & (truth <= upper)) >= 0.7
    half, error = (upper - lower) / 2, model.drift(at) - truth
    assert 1.645 * np.sqrt(np.mean(error**2) / np.mean(half**2)) > 0.3
    lower, upper = model.interval("diffusion", at)
    assert (lower <= 1).all()
    assert (upper >= 1).all()
    assert (upper < 1.1 * lower).all()  # 4000 transitions: ±1.645·√(2/4000) = 3.7 % about the value
