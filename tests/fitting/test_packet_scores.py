"""Scores of the forward packet in NumPy against automatic differentiation of the same density."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest

import nke
from nke.data.transforms import Periodic
from nke.fitting.batches import Steps
from nke.fitting.initial_moments import TransitionSample
from nke.fitting.kinematics import kinematic_constraint
from nke.fitting.packet_scores import _inverse
from nke.fitting.penalised_newton import PenalisedParameters, sums
from nke.fitting.rules import SelectionRules
from nke.fitting.smooth_parameters import smooth_generator, smooth_parameters
from nke.fitting.smooth_regression import SmoothRegression
from nke.operators import ForwardPacket

COUNT = 600


def swinging(kind: str) -> tuple[PenalisedParameters, Steps]:
    """A law near a pendulum with noise that depends on the state, and transitions of different lengths."""
    rng = np.random.default_rng(0)
    x, step = rng.normal(0, 1.5, (COUNT, 2)), rng.uniform(0.05, 0.15, COUNT)
    drift = np.stack([x[:, 1], -np.sin(2 * x[:, 0]) - 0.3 * x[:, 1]], axis=1)
    moved = step[:, None] * drift + np.sqrt(step)[:, None] * rng.normal(size=x.shape) * [0.3, 0.4]
    if kind == "kinetic":
        moved[:, 0] = step * (x[:, 1] + moved[:, 1] / 2)
    states, times = np.stack([x, x + moved], axis=1), np.stack([np.zeros(COUNT), step], axis=1)
    data = nke.Trajectories(states, times, names=["angle", "speed"])
    coordinates = nke.Coordinates(np.zeros(2), np.ones(2), 1.0)
    if kind == "periodic":
        coordinates = replace(coordinates, transforms=(Periodic(), coordinates.transforms[1]))
    known = {"angle": "speed"} if kind == "kinetic" else {}
    constraint = kinematic_constraint(known, (), data.names, data.transitions(), coordinates, SelectionRules())
    sample = TransitionSample(data.transitions(), coordinates, constraint, 0.1)
    regression = SmoothRegression.of(sample, np.ones(COUNT), degree=2, seed=0)
    rough = rng.normal(0, 0.1, regression.noise.weights.shape)  # no symmetry that would hide a mistake
    regression = replace(regression, noise=regression.noise._replace(weights=regression.noise.weights + rough))
    regression = replace(
        regression, noise=regression.noise._replace(precisions=np.ones_like(regression.noise.precisions))
    )
    law = smooth_parameters(smooth_generator(regression, None, constraint), regression, None)
    return law, Steps(*(jnp.asarray(a, jnp.float32) for a in (x, moved, step)))


@pytest.mark.parametrize(("kind", "substeps"), [("plain", 1), ("kinetic", 1), ("periodic", 2)])
def test_sums_are_those_of_automatic_differentiation(kind, substeps):
    """To single precision; with sub-steps but for how the curvature of the drift moves the points."""
    law, steps = swinging(kind)
    rule = ForwardPacket(substeps=substeps)
    found, known = sums(rule, law, steps), sums(rule, replace(law, linear=None), steps)
    assert found.value == pytest.approx(known.value, rel=1e-5)
    scale = np.concatenate([np.sqrt(np.diag(part)) for part in known.information])
    order = np.concatenate(law.blocks)
    far = np.abs(found.gradient - known.gradient)[order] / scale
    assert far.max() < (2e-3 if substeps == 1 else 1.0), far.max()
    if substeps == 1:
        for one, other in zip(found.information, known.information, strict=True):
            np.testing.assert_allclose(one, other, atol=2e-3 * np.abs(other).max())


def test_a_resolution_widens_every_packet():
    law, steps = swinging("plain")
    rule = ForwardPacket(resolution=(0.05, 0.02))
    assert sums(rule, law, steps).value == pytest.approx(sums(rule, replace(law, linear=None), steps).value, rel=1e-5)


def test_parameters_that_leave_no_noise_have_no_likelihood():
    """A trial step may go so far that factors underflow: not a number, so that the step is refused, and no error."""
    assert np.isnan(_inverse(np.zeros((3, 3, 4)))).all()
    eye = np.repeat(np.eye(3)[:, :, None], 4, axis=2)
    np.testing.assert_array_equal(_inverse(2 * eye), eye / 2)
