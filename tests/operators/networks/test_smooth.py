"""Smooth functions: features against a formula, sparse against dense weights, any weights a law, files."""

import json
from itertools import combinations_with_replacement

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import nke
from nke.mixtures import GaussianMixture
from nke.operators import (
    Advection,
    Curve,
    Diffusion,
    Fixed,
    Generator,
    JumpNetwork,
    KinematicConstraint,
    PoissonJump,
    SmoothBasis,
    SmoothDrift,
    SmoothFactor,
    SmoothFunction,
    trainable,
)
from nke.operators.networks.smooth import MOST_LOG
from operator_cases import at_each, random_states

ANGLE = ((0, 2),)  # cosine in the first column, sine in the third


def smooth_basis(inputs: int, degree: int = 2, centres: int = 5, functions: int = 3, pairs=()) -> SmoothBasis:
    """Random kernels, the first of which looks at the first coordinate only."""
    rng = np.random.default_rng(inputs)
    precisions = rng.uniform(0.1, 1.0, (centres, inputs))
    precisions[0, 1:] = 0.0
    return SmoothBasis(
        degree, rng.normal(size=(centres, inputs)), precisions, [rng.normal(size=(centres, functions))], pairs
    )


def smooth_function(basis: SmoothBasis, outputs: int, seed: int = 0, used=None, scale: float = 0.3) -> SmoothFunction:
    return SmoothFunction(basis, scale * np.random.default_rng(seed).normal(size=(outputs, basis.size)), used)


def some_of(shape: tuple[int, int], seed: int = 5) -> np.ndarray:
    """A random half of the weights, constants among them, and one function that is nothing but a constant."""
    used = np.random.default_rng(seed).random(shape) < 0.5
    used[-1], used[:, 0] = False, True
    return used


class TestBasis:
    @pytest.mark.parametrize("degree", [1, 3])
    def test_is_one_powers_and_projected_kernels(self, degree):
        """Term by term in NumPy and double precision."""
        basis, states = smooth_basis(3, degree), np.asarray(random_states(d=3), np.float64) / 3
        centres, precisions, projection = (
            np.asarray(a.value, np.float64) for a in (basis.centres, basis.precisions, basis.projections[0])
        )
        expected = []
        for x in states:
            powers = [
                np.prod(x[list(chosen)])
                for k in range(1, degree + 1)
                for chosen in combinations_with_replacement(range(3), k)
            ]
            kernels = [np.exp(-0.5 * sum(p * (x - c) ** 2)) for p, c in zip(precisions, centres, strict=True)]
            expected.append([1.0, *powers, *(np.array(kernels) @ projection)])
        assert basis.size == len(expected[0])
        np.testing.assert_allclose(at_each(basis, jnp.asarray(states)), expected, rtol=2e-5, atol=2e-5)

    def test_an_angle_has_each_trigonometric_polynomial_once(self):
        """Of c, v, s the powers c, v, s, c², cv, cs, v², vs: no s², which is 1 − c²."""
        basis = smooth_basis(3, pairs=ANGLE)
        c, v, s = np.cos(0.4), 1.5, np.sin(0.4)
        found = basis(jnp.array([c, v, s]))[: basis.size - 3]
        np.testing.assert_allclose(found, [1, c, v, s, c * c, c * v, c * s, v * v, v * s], rtol=1e-6)

    def test_beyond_the_data_the_polynomial_remains(self):
        basis = SmoothBasis(1, np.zeros((4, 2)), np.ones((4, 2)), [np.ones((4, 2))])
        np.testing.assert_array_equal(basis(jnp.array([30.0, -40.0])), [1, 30, -40, 0, 0])

    def test_a_kernel_ignores_coordinates_of_no_precision(self):
        basis = smooth_basis(2, degree=1)
        alone = SmoothBasis(1, basis.centres.value[:1], basis.precisions.value[:1], [np.ones((1, 1))])
        assert float(alone(jnp.array([0.3, -2.0]))[-1]) == float(alone(jnp.array([0.3, 7.0]))[-1])


class TestCurve:
    def test_a_logarithm_is_cut_off_near_zero(self):
        curve = Curve(1, False, -2.0, 4.0, 0.1)  # log((x + 2)/4), at least log 0.1
        x = np.array([[9.0, 2.0], [9.0, 10.0], [9.0, -2.0], [9.0, -50.0]])
        np.testing.assert_allclose(curve(x), np.log([1.0, 3.0, 0.1, 0.1]))

    def test_an_exponential_is_cut_off_far_away(self):
        x = np.array([[0.0], [1.0], [100.0], [-100.0]])
        for side in (1, -1):
            curve = Curve(0, True, 0.0, side * 0.5, 3.0)  # exp(± 2 x), at most e³
            np.testing.assert_allclose(curve(x), np.exp([0, side * 2, side * 3.0, side * -3.0]))

    def test_are_the_last_features_of_a_basis_and_stored_with_it(self):
        curves = (Curve(0, True, 0.3, -0.5, 4.0), Curve(1, False, -5.0, 2.0, 0.01))
        plain = smooth_basis(2)
        basis = SmoothBasis(
            plain.degree, plain.centres.value, plain.precisions.value, [p.value for p in plain.projections], (), curves
        )
        assert (basis.size, basis.powers) == (plain.size + 2, plain.powers)
        x = jnp.array([0.4, -0.7])
        expected = np.append(plain(x), [np.exp(-(0.4 - 0.3) / 0.5), np.log((-0.7 + 5) / 2)])
        np.testing.assert_allclose(basis(x), expected, rtol=2e-5, atol=1e-6)
        stored = SmoothBasis.from_configuration(json.loads(json.dumps(basis.configuration())), 2)
        assert stored.curves == basis.curves


class TestFunction:
    def test_sparse_weights_are_dense_ones_with_zeros(self):
        basis, states = smooth_basis(2), random_states(d=2) / 3
        used = some_of((4, basis.size))
        sparse = smooth_function(basis, 4, used=used)
        weights = np.where(used, smooth_function(basis, 4).table, 0.0)
        dense = SmoothFunction(basis, weights)
        assert len(sparse.weights) == used.sum() < used.size == len(dense.weights)
        np.testing.assert_allclose(at_each(sparse, states), at_each(dense, states), rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(sparse.table, dense.table)
        np.testing.assert_array_equal(sparse.used, used)

    def test_only_the_weights_are_learned(self):
        function = smooth_function(smooth_basis(2), 3)
        learned = eqx.filter(function, trainable(function))
        assert [a.shape for a in jax.tree.leaves(learned)] == [function.weights.shape]

    def test_some_outputs(self):
        basis, states, rows = smooth_basis(2), random_states(d=2) / 3, np.array([3, 0])
        whole = smooth_function(basis, 4, used=some_of((4, basis.size)))
        part = whole.with_outputs(rows)
        np.testing.assert_array_equal(part.used, whole.used[rows])
        np.testing.assert_allclose(at_each(part, states), at_each(whole, states)[:, rows], rtol=1e-6)


class TestFactor:
    @pytest.mark.parametrize("scale", [0.03, 30.0])
    def test_any_weights_give_a_positive_definite_tensor(self, scale):
        """g is lower triangular with the diagonal start_ii e^{η_i}, |η_i| ≤ 10: never zero, a is not singular."""
        start = np.array([[2.0, 0.0, 0.0], [0.5, 1.0, 0.0], [-1.0, 0.3, 0.5]])
        body, states = smooth_function(smooth_basis(3), 6, scale=scale), random_states(d=3)
        g = np.asarray(at_each(SmoothFactor(body, jnp.asarray(start)), states), np.float64)
        entries = np.asarray(at_each(body, states), np.float64)
        assert (np.abs(entries).max() > 2 * MOST_LOG) == (scale > 1)
        lower, (i, j) = np.zeros_like(g), np.tril_indices(3)
        lower[:, i, j] = np.where(i == j, np.exp(np.clip(entries, -MOST_LOG, MOST_LOG)), entries)
        diagonal = np.diagonal(start @ lower, axis1=1, axis2=2)
        np.testing.assert_allclose(np.diagonal(g, axis1=1, axis2=2), diagonal, rtol=1e-5)
        np.testing.assert_allclose(g, start @ lower, rtol=1e-5, atol=1e-5 * np.abs(g).max())

    def test_zero_weights_are_the_start(self):
        start = jnp.array([[2.0, 0.0], [0.5, 1.0]])
        factor = SmoothFactor(smooth_function(smooth_basis(2), 3, scale=0.0), start)
        for x in random_states(d=2):
            np.testing.assert_array_equal(factor(x), start)


def jump_network(inputs: int, outputs: int, state_dependent_shapes: bool = False) -> JumpNetwork:
    """Two Gaussians with shares of 1/4 and 3/4, and a rate that training has moved from its start."""
    means, covariances = np.outer([-1.0, 1.0], np.ones(outputs)), np.array([np.eye(outputs)] * 2)
    options = {"components": 2, "width": 4, "depth": 1, "state_dependent_shapes": state_dependent_shapes}
    network = JumpNetwork(
        jnp.ones(outputs), 0.1 * jnp.eye(outputs), 1.5, **options, inputs=inputs, key=jax.random.key(0)
    ).starting_from(GaussianMixture(np.array([0.25, 0.75]), means, covariances))
    return eqx.tree_at(lambda n: n.mlp.layers[-1].bias, network, network.mlp.layers[-1].bias.at[0].set(0.7))


@eqx.filter_jit
def at(network, x):
    """Rate and law at one state, compiled."""
    return network(x)


class TestJumps:
    @pytest.mark.parametrize("state_dependent_shapes", [False, True])
    def test_a_basis_keeps_rate_and_law(self, state_dependent_shapes):
        network = jump_network(2, 2, state_dependent_shapes)
        x, smooth = jnp.array([0.4, -1.0]), network.with_basis(smooth_basis(2))
        (rate, law), (same, kept) = at(network, x), at(smooth, x)
        assert float(same) == pytest.approx(float(rate), rel=1e-5)
        for wanted, got in zip(jax.tree.leaves(law), jax.tree.leaves(kept), strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)

    def test_another_basis_keeps_the_constants_of_the_first(self):
        smooth = jump_network(2, 2).with_basis(smooth_basis(2))
        again = smooth.with_basis(smooth_basis(2, degree=1))
        np.testing.assert_array_equal(again.mlp.table[:, 0], smooth.mlp.table[:, 0])
        assert not again.mlp.table[:, 1:].any()

    def test_the_rate_is_the_exponential_of_a_function(self):
        smooth = jump_network(2, 2).with_basis(smooth_basis(2))
        body = smooth_function(smooth_basis(2), 3)
        smooth, x = eqx.tree_at(lambda n: n.mlp, smooth, body), jnp.array([0.4, -1.0])
        rate, law = at(smooth, x)
        raw = np.asarray(body(x), np.float64)
        assert float(rate) == pytest.approx(1.5 * np.exp(raw[0]), rel=1e-5)
        np.testing.assert_allclose(law.weights, np.exp(raw[1:]) / np.exp(raw[1:]).sum(), rtol=1e-5)

    def test_pruning_keeps_the_kept(self):
        basis = smooth_basis(2)
        used = some_of((3, basis.size))
        smooth = eqx.tree_at(
            lambda n: n.mlp, jump_network(2, 2).with_basis(basis), smooth_function(basis, 3, used=used)
        )
        x = jnp.array([0.4, -1.0])
        (rate, whole), (same, part) = at(smooth, x), at(smooth.prune([1]), x)
        assert float(same) == pytest.approx(float(rate), rel=1e-6)
        np.testing.assert_array_equal(part.means, whole.means[1:])


def known_angle() -> KinematicConstraint:
    """The first coordinate is a position and an angle, the second its velocity."""
    one, zero = Fixed(jnp.ones(1)), Fixed(jnp.zeros(1))
    return KinematicConstraint((0,), (1,), (), 2, one, zero, (0,), one, zero)


def law(constraint: KinematicConstraint | None, state_dependent_shapes: bool) -> Generator:
    """Random smooth drift, noise and jumps, each with some of the weights."""
    inputs, free, pairs = (2, 2, ()) if constraint is None else (3, 1, constraint.pairs)
    basis, entries = smooth_basis(inputs, pairs=pairs), free * (free + 1) // 2
    drift = SmoothDrift(smooth_function(basis, free, used=some_of((free, basis.size))), jnp.full(free, 2.0))
    factor = SmoothFactor(
        smooth_function(basis, entries, 1, some_of((entries, basis.size), 6)), 0.5 * jnp.eye(free) + 0.1
    )
    few = smooth_basis(inputs, 1, 4, 2, pairs)
    jumps = jump_network(inputs, free, state_dependent_shapes).with_basis(few)
    body = smooth_function(few, len(jumps.mlp.table), 2, some_of(jumps.mlp.table.shape, 7))
    jump = PoissonJump(eqx.tree_at(lambda n: n.mlp, jumps, body))
    return Generator.of_free(Advection(drift), Diffusion(factor), jump, constraint)


class TestFile:
    @pytest.mark.parametrize(
        ("constraint", "state_dependent_shapes"), [(None, False), (known_angle(), True)], ids=["plane", "angle"]
    )
    def test_a_law_survives_it(self, constraint, state_dependent_shapes, tmp_path):
        generator = law(constraint, state_dependent_shapes)
        to = nke.Coordinates([0.1, -0.2], [1.0, 2.0], 0.5)
        model = nke.Model(generator, to, 0.1, ("q", "v"), ("", ""))
        model.save(tmp_path / "model.nke")
        loaded, x = nke.load(tmp_path / "model.nke"), np.asarray(random_states(d=2))
        assert loaded.generator.configuration() == generator.configuration()
        assert np.ptp(model.jump_rate(x)) > 0.1
        for name in ("drift", "diffusion", "jump_rate"):
            np.testing.assert_array_equal(getattr(loaded, name)(x), getattr(model, name)(x))
        np.testing.assert_array_equal(
            loaded.log_prob(x + 0.1, given=x, step=0.1), model.log_prob(x + 0.1, given=x, step=0.1)
        )
        names = {"drift": generator.drift_network.body, "noise": generator.noise_factor.body}
        again = {"drift": loaded.generator.drift_network.body, "noise": loaded.generator.noise_factor.body}
        for name, body in names.items():
            np.testing.assert_array_equal(again[name].used, body.used)
