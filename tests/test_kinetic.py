"""Positions that follow their velocities, coordinates that do not matter, and motion without noise."""

import jax.numpy as jnp
import numpy as np
import pytest

from nke.data import Coordinates
from nke.model import Model
from nke.operators import (
    Advection,
    Diffusion,
    Fixed,
    ForwardPacket,
    Generator,
    KinematicConstraint,
    KineticDrift,
    KineticFactor,
)
from nke.systems import HarmonicOscillator

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
        found = exact(SYSTEM).log_prob(seen.y, seen.x, seen.step)
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
