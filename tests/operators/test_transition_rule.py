"""Discrete transition models: normalised densities, of the order that is claimed."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nke.model.simulation import sample
from nke.operators import (
    Advection,
    Diffusion,
    EulerMaruyamaRule,
    ForwardPacket,
    Generator,
    Strang,
)
from nke.systems import DoubleWell
from random_generators import total_mass, wild_generator


@eqx.filter_jit
def displacement(rule, generator, x, step):
    """Compiled once for all networks of a size and all steps."""
    return rule.displacement(generator, x, step)


@pytest.mark.parametrize("jumps", [False, True])
@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("step", [0.02, 2.0])
def test_the_density_integrates_to_one_for_any_networks(d, step, jumps):
    """Also where the step is far too coarse for the drift: the trapezoid change of variables fails there."""
    checked = 0
    for seed in range(4):
        generator = wild_generator(d, seed, jumps, size=1.0 if d == 1 else 0.3)
        x = jnp.full(d, 0.3 * seed)
        law = displacement(ForwardPacket(), generator, x, jnp.asarray(step)).numpy()
        round_enough = np.linalg.cond(law.covariances).max() < 1e2  # a slanted needle falls through the grid
        checked += round_enough
        if round_enough:
            assert total_mass(law) == pytest.approx(1, abs=0.01)
    assert checked >= 2


@pytest.mark.usefixtures("double_precision")
def test_second_order_in_mean_and_covariance():
    """Against Gauss–Hermite moments of a finely sub-stepped Euler scheme, for a non-linear drift in 1-D."""
    generator = Generator(Advection(lambda x: x - x**3), Diffusion(lambda x: jnp.array([[0.5]])), None)
    x = jnp.array([0.4])

    def reference(step: float) -> tuple[float, float]:
        """Forward Kolmogorov equation on a grid: explicit in time, central differences."""
        grid = np.linspace(-2.5, 2.5, 1001)
        width, a = grid[1] - grid[0], 0.25
        density = np.exp(-((grid - 0.4) ** 2) / (2 * 1e-4)) / np.sqrt(2 * np.pi * 1e-4)
        density /= density.sum() * width
        steps = int(np.ceil(step / (0.2 * width**2 / a)))
        dt = step / steps
        drift = grid - grid**3
        for _ in range(steps):
            flux = np.gradient(drift * density, width)
            spread = np.zeros_like(density)
            spread[1:-1] = (density[2:] - 2 * density[1:-1] + density[:-2]) / width**2
            density = density + dt * (-flux + a / 2 * spread)
        mean = (grid * density).sum() * width
        return mean, ((grid - mean) ** 2 * density).sum() * width

    errors = []
    for step in (0.2, 0.1):
        law = displacement(ForwardPacket(), generator, x, jnp.asarray(step))
        mean, variance = reference(step)
        growth = np.exp(2 * (1 - 3 * 0.16) * step) * 1e-4  # of the narrow start of the reference
        errors.append((abs(0.4 + float(law.mean[0]) - mean), abs(float(law.covariance[0, 0]) + growth - variance)))
    # Local errors of a second-order rule fall by 8 when the step is halved; a first-order rule's by 4.
    assert errors[0][0] / errors[1][0] > 5.5
    assert errors[0][1] / errors[1][1] > 5.5


@pytest.mark.usefixtures("double_precision")
@pytest.mark.parametrize("jumps", [False, True])
def test_euler_maruyama_freezes_everything_at_the_start(jumps):
    generator = wild_generator(2, 0, jumps)
    x, step = jnp.array([0.3, -0.2]), jnp.asarray(0.1)
    law = displacement(EulerMaruyamaRule(), generator, x, step)
    mean, covariance = (0.1 * eqx.filter_jit(f)(x) for f in (generator.advection.drift, generator.diffusion.tensor))
    np.testing.assert_allclose(law.means[0], mean)
    np.testing.assert_allclose(law.covariances[0], covariance)
    if jumps:
        total = eqx.filter_jit(generator.jump.displacement)(x, step)
        np.testing.assert_allclose(law.mean, mean + total.mean)
        np.testing.assert_allclose(law.covariance, covariance + total.covariance)


@pytest.mark.usefixtures("double_precision")
def test_sampling_with_more_substeps_departs_from_the_transition_as_the_step_grows():
    """Double well, 64 sub-steps of the splitting against one packet.

    The mean motion of a single packet is of second order, so its error grows by about 8 when the step is doubled
    (by 8/√2 = 5.7 in units of the noise; more than 3 is asked for). At the step of the paper's data it is below a
    hundredth of the noise; 4 standard errors of a mean over the paths are allowed for.
    """
    system = DoubleWell(dimension=1, rate=0.0)
    generator = Generator(Advection(system.drift), Diffusion(system.noise_matrix), None)
    start, count, gaps = jnp.array([0.5]), 100_000, {}
    for step in (0.05, 0.8, 1.6):
        law = displacement(ForwardPacket(), generator, start, jnp.asarray(step))
        paths = sample(
            generator, Strang(), jnp.tile(start, (count, 1)), np.array([step]), np.array([64]), jax.random.key(0)
        )[0, :, 0]
        noise = float(jnp.sqrt(law.covariance[0, 0]))
        gaps[step] = abs(float(paths.mean() - start[0] - law.mean[0])) / noise, 4 / np.sqrt(count)
    assert gaps[0.05][0] < 0.01 + gaps[0.05][1]
    assert gaps[0.8][0] > gaps[0.8][1]  # beyond sampling error
    assert gaps[1.6][0] > 3 * gaps[0.8][0]


@pytest.mark.usefixtures("double_precision")
def test_substeps_bring_the_packet_closer_to_a_known_law():
    """dX = ½X dt + X dW over s = 0.5: mean e^{s/2} − 1, variance e^{s}(e^{s} − 1) of the displacement from 1.

    The rule is of first order in the variance for multiplicative noise, so halving the step must at least take
    away a third of its error.
    """
    drift, factor = (lambda x: 0.5 * x), (lambda x: x[:, None])
    generator = Generator(Advection(drift), Diffusion(factor), None)
    exact = np.expm1(0.25), np.exp(0.5) * np.expm1(0.5)
    errors = []
    for substeps in (1, 2, 4):
        law = displacement(ForwardPacket(substeps=substeps), generator, jnp.ones(1), jnp.asarray(0.5))
        errors.append([abs(float(law.mean[0]) - exact[0]), abs(float(law.covariance[0, 0]) - exact[1])])
    errors = np.array(errors)
    assert (errors[1:, 1] < 2 / 3 * errors[:-1, 1]).all(), errors
    assert errors[2, 0] < 1e-3
