"""Positions that follow their velocities: the law of the velocities, and of the whole state from it."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nke.data import Coordinates
from nke.mixtures import GaussianMixture
from nke.model import Model
from nke.operators import (
    Advection,
    Diffusion,
    DriftNetwork,
    FiniteTimeJump,
    Fixed,
    ForwardPacket,
    FullFactor,
    Generator,
    JumpNetwork,
    KinematicConstraint,
    KineticDrift,
    KineticFactor,
    MixtureDensityNetwork,
    PoissonJump,
)
from nke.systems import HarmonicOscillator
from operator_cases import random_network

SYSTEM = HarmonicOscillator()


def exact(system: HarmonicOscillator) -> Model:
    """The true equation in kinetic form, in raw coordinates."""
    constraint = KinematicConstraint((0,), (1,), (), 2, Fixed(jnp.ones(1)), Fixed(jnp.zeros(1)))
    drift = KineticDrift(lambda x: jnp.array([-(system.frequency**2) * x[0] - system.damping * x[1]]), constraint)
    factor = KineticFactor(lambda x: jnp.array([[system.noise]]), constraint)
    raw = Coordinates(np.zeros(2), np.ones(2), 1.0)
    return Model(
        Generator(Advection(drift), Diffusion(factor), None, constraint),
        raw,
        0.1,
        system.names,
        ("", ""),
        ForwardPacket(),
    )


class TestPacket:
    @pytest.mark.parametrize("part", ["mean", "covariance"])
    def test_is_of_second_order_in_the_step(self, part):
        """The velocity's law against the exact one; halving the step leaves an eighth of the error (third order)."""
        x, errors = np.array([0.7, -0.4]), []
        for step in (0.2, 0.1):
            flow, covariance = SYSTEM.transition_matrices(np.array(step))
            law = exact(SYSTEM).transition(x, step)
            found, true = {
                "mean": (law.mean[1], (flow @ x)[1]),
                "covariance": (law.covariance[1, 1], covariance[1, 1]),
            }[part]
            errors.append(abs(found - true))
        assert errors[0] / errors[1] > 6.0
        assert errors[1] < 2e-4

    def test_score_is_the_density_of_the_velocity_alone(self):
        """Its mean is right to 2e-4 at states of order one (above), 1e-3 deviations: 0.03 nats far out at most."""
        data = SYSTEM.simulate(20, seed=1)
        seen = data.transitions()
        flow, covariance = SYSTEM.transition_matrices(seen.step)
        mean, variance = (flow @ seen.x[..., None])[:, 1, 0], covariance[:, 1, 1]
        true = -0.5 * (seen.y[:, 1] - mean) ** 2 / variance - 0.5 * np.log(2 * np.pi * variance)
        found = exact(SYSTEM).log_prob(seen.y, given=seen.x, step=seen.step)
        np.testing.assert_allclose(found, true, atol=0.03)

    def test_positions_move_with_the_mean_velocity_of_the_step(self):
        """Δq = s (v + Δv/2), so that the law of the whole state is singular."""
        x, step = np.array([0.7, -0.4]), 0.1
        law = exact(SYSTEM).transition(x, step)
        gained = law.mean - x
        assert gained[0] == pytest.approx(step * (x[1] + gained[1] / 2), rel=1e-5)
        assert np.linalg.det(law.covariance) == pytest.approx(0.0, abs=1e-12)
        covariance = SYSTEM.transition_matrices(np.array(step))[1]
        assert law.covariance[0, 1] == pytest.approx(covariance[0, 1], rel=0.05)


KEY = jax.random.key(0)


def constraint_of(positions=(2, 0), velocities=(1, 1), invariant=(0,), dimension=4):
    """Positions beside their velocities in no order, with slopes and offsets of their own."""
    slope, offset = jnp.arange(1.0, 1 + len(positions)), 0.1 * jnp.arange(len(positions))
    return KinematicConstraint(positions, velocities, invariant, dimension, Fixed(slope), Fixed(offset))


def networks():
    """Drift, noise and jumps of two free coordinates out of four, each random."""
    parts = [
        DriftNetwork(jnp.ones(2), 4, 1, inputs=4, key=KEY),
        FullFactor(jnp.eye(2), 4, 1, inputs=4, key=KEY),
        JumpNetwork(jnp.ones(2), 0.1 * jnp.eye(2), 2.0, 2, 4, 1, inputs=4, key=KEY),
    ]
    return [random_network(part, seed) for seed, part in enumerate(parts)]


X = jnp.array([0.25, -0.5, 1.0, 0.75])


def everything(generator, x):
    """Drift, noise factor, jump rate and law at a state."""
    return (generator.advection.drift(x), generator.diffusion.factor(x), *generator.jump.measure(x))


@pytest.fixture(scope="module")
def generator():
    drift, factor, jump = networks()
    return Generator.of_free(Advection(drift, 3), Diffusion(factor), PoissonJump(jump, 2), constraint_of())


class TestConstrainedGenerator:
    def test_has_the_networks_it_was_made_of(self, generator):
        made_of = generator.drift_network, generator.noise_factor, generator.jump_network
        assert eqx.tree_equal(made_of, tuple(networks()))
        assert generator.advection.flow_steps == 3
        assert generator.jump.order == 2

    def test_whole_coefficients(self, generator):
        """Coordinates 1 and 3 have what the networks say of the visible state, positions 2 and 0 their velocity."""
        drift, factor, jump = networks()
        visible = X.at[0].set(0.0)
        f, g, whole_rate, whole_law = eqx.filter_jit(everything)(generator, X)
        np.testing.assert_allclose(f[jnp.array([1, 3])], eqx.filter_jit(drift)(visible), rtol=1e-6)
        np.testing.assert_allclose(f[jnp.array([2, 0])], [X[1], 2 * X[1] + 0.1], rtol=1e-6)
        np.testing.assert_allclose(g[jnp.array([1, 3])], eqx.filter_jit(factor)(visible), rtol=1e-6)
        np.testing.assert_array_equal(g[jnp.array([0, 2])], 0)
        rate, law = eqx.filter_jit(jump)(visible)
        np.testing.assert_allclose(whole_rate, rate, rtol=1e-6)
        means = whole_law.means
        np.testing.assert_allclose(means[:, jnp.array([1, 3])], law.means, rtol=1e-6)
        np.testing.assert_array_equal(means[:, jnp.array([0, 2])], 0)

    def test_parts_of_states(self, generator):
        assert generator.free(4) == (1, 3)
        np.testing.assert_array_equal(generator.visible(X), [0.0, -0.5, 1.0, 0.75])
        np.testing.assert_array_equal(generator.visible(np.asarray(X)), [0.0, -0.5, 1.0, 0.75])
        np.testing.assert_array_equal(generator.free_part(X), [-0.5, 0.75])
        np.testing.assert_array_equal(generator.free_part(X[None]), [[-0.5, 0.75]])

    def test_equation_of_the_free_coordinates(self, generator):
        """Its coefficients are those of the whole state with the positions halfway through the step."""
        step = 0.2
        equation, free = generator.free_equation(X, step)
        assert equation.constraint is None
        halfway = X.at[2].add(step / 2 * X[1]).at[0].add(step / 2 * (2 * X[1] + 0.1))
        f, g, rate, _ = eqx.filter_jit(everything)(generator, halfway)
        free_f, free_g, free_rate, _ = eqx.filter_jit(everything)(equation, free)
        for part, whole in ((free_f, f[1::2]), (free_g, g[1::2]), (free_rate, rate)):
            np.testing.assert_allclose(part, whole, rtol=1e-6)

    def test_jumps_of_a_finite_time(self):
        """Positions stay; the free coordinates have the network's own law at what it sees of the state."""
        drift, factor, _ = networks()
        constraint = constraint_of()
        free, seen = np.array(constraint.free), constraint.seen(X)
        network = MixtureDensityNetwork(jnp.ones(len(free)), 0.1, 2, 4, 1, inputs=len(seen), key=KEY)
        generator = Generator.of_free(Advection(drift), Diffusion(factor), FiniteTimeJump(network, 0.1), constraint)
        own, law = network(seen), generator.jump.law(X)
        assert generator.jump_network is network
        np.testing.assert_allclose(law.means[:, free], own.means, rtol=1e-6)
        np.testing.assert_allclose(law.covariances[:, free][:, :, free], own.covariances, rtol=1e-6)
        assert float(jnp.abs(law.means).sum()) == pytest.approx(float(jnp.abs(own.means).sum()), rel=1e-6)
        assert float(generator.jump.intensity(X)) == pytest.approx(-float(own.log_no_jump) / 0.1, rel=1e-6)
        equation, start = generator.free_equation(X, 0.2)
        halfway = constraint.embed(constraint.halfway(X, 0.2), start)
        np.testing.assert_allclose(equation.jump.law(start).means, network(constraint.seen(halfway)).means, rtol=1e-5)
        rebuilt = Generator.from_configuration(generator.configuration(), len(X))
        assert rebuilt.configuration() == generator.configuration()


class TestPlainGenerator:
    """The trivial case: everything is free and visible, and nothing is computed."""

    def test_everything_is_itself(self):
        advection, diffusion = Advection(lambda x: -x), Diffusion(lambda x: jnp.eye(4))
        generator = Generator.of_free(advection, diffusion)
        assert generator.drift_network is advection.drift
        assert generator.noise_factor is diffusion.factor
        assert generator.jump_network is None
        assert generator.free(4) == (0, 1, 2, 3)
        assert generator.visible(X) is X
        assert generator.free_part(X) is X
        equation, free = generator.free_equation(X, 0.1)
        assert equation is generator
        assert free is X
        law = GaussianMixture.point(X)
        assert generator.whole_displacement(law, X, 0.1) is law


class TestAngles:
    """Of an angle, the learned functions see cosine and sine of the user's radians."""

    KNOWN = KinematicConstraint(
        (2,), (1,), (3,), 4, *(Fixed(jnp.ones(1)) for _ in range(2)), (0, 3), *(Fixed(jnp.array([2.0, 0.5])),) * 2
    )

    @pytest.mark.parametrize("array", [np.asarray, jnp.asarray], ids=["NumPy", "JAX"])
    def test_what_is_seen(self, array):
        """Cosine in the place of the angle, sines behind; nothing of the angle that does not matter."""
        x = np.array([[0.3, -0.5, 1.0, 0.75], [1.0, 2.0, 3.0, 4.0]], np.float32)
        angle = 2 * x[:, 0] + 2
        truth = np.stack([np.cos(angle), x[:, 1], x[:, 2], 0 * angle, np.sin(angle), 0 * angle], axis=1)
        np.testing.assert_allclose(self.KNOWN.seen(array(x)), truth, atol=1e-6)
        assert (self.KNOWN.inputs, self.KNOWN.pairs) == (6, ((0, 4), (3, 5)))

    def test_structure_comes_back(self):
        again = KinematicConstraint.from_configuration(self.KNOWN.configuration(), 4)
        assert again.configuration() == self.KNOWN.configuration()
        assert again.inputs == 6

    def test_files_without_angles(self):
        older = {"positions": [0], "velocities": [1], "invariant": []}
        assert KinematicConstraint.from_configuration(older, 2).frequency is None
