"""The Kolmogorov likelihood: a normalised density, unbiased where the paper's losses are not, resumable."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from nke.model.evaluation import sample

import nke
from nke.bench.true_score import simulated_log_prob
from nke.operators import (
    Advection,
    Diffusion,
    DriftNetwork,
    EulerMaruyamaRule,
    ForwardPacket,
    FullFactor,
    Generator,
    JumpNetwork,
    PoissonJump,
    Simplex,
    Strang,
    trainable,
)
from nke.systems import DoubleWell


def wild_generator(d: int, seed: int, jumps: bool, size: float = 1.0) -> Generator:
    """Networks with large random weights: steep drift, strongly varying noise and rate."""
    keys = jax.random.split(jax.random.key(seed), 3)
    parts = [DriftNetwork(jnp.ones(d), 16, 2, key=keys[0]), FullFactor(jnp.eye(d), 16, 2, key=keys[1])]
    parts.append(JumpNetwork(jnp.ones(d), 0.1 * jnp.eye(d), 2.0, 2, 16, 2, key=keys[2]))
    rng = np.random.default_rng(seed)
    trained, fixed = eqx.partition(parts, trainable(parts))
    shaken = jax.tree.map(lambda leaf: leaf + jnp.asarray(size * rng.normal(size=leaf.shape), leaf.dtype), trained)
    drift, factor, jump = eqx.combine(shaken, fixed)
    return Generator(Advection(drift), Diffusion(factor), PoissonJump(jump) if jumps else None)


def total_mass(law: nke.GaussianMixture) -> float:
    """∫p by the trapezoidal rule on a product grid that resolves every component to ten standard deviations."""
    deviations = np.sqrt(np.diagonal(law.covariances, axis1=-2, axis2=-1))
    count = 400 if law.dimension == 1 else 150
    grids = [
        np.unique(np.linspace(m - 10 * sd, m + 10 * sd, count)) for m, sd in zip(law.means.T, deviations.T, strict=True)
    ]
    mesh = np.stack(np.meshgrid(*grids, indexing="ij"), axis=-1)
    density = np.exp(law.log_prob(mesh))
    for grid in reversed(grids):
        density = np.trapezoid(density, grid, axis=-1)
    return float(density)


@pytest.mark.parametrize("jumps", [False, True])
@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("step", [0.02, 2.0])
def test_the_density_integrates_to_one_for_any_networks(d, step, jumps):
    """Also where the step is far too coarse for the drift: the trapezoid change of variables fails there."""
    checked = 0
    for seed in range(4):
        generator = wild_generator(d, seed, jumps, size=1.0 if d == 1 else 0.3)
        x = jnp.full(d, 0.3 * seed)
        law = ForwardPacket().displacement(generator, x, jnp.asarray(step)).numpy()
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
        law = ForwardPacket().displacement(generator, x, jnp.asarray(step))
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
    law = EulerMaruyamaRule().displacement(generator, x, step)
    mean, covariance = 0.1 * generator.advection.drift(x), 0.1 * generator.diffusion.tensor(x)
    np.testing.assert_allclose(law.means[0], mean)
    np.testing.assert_allclose(law.covariances[0], covariance)
    if jumps:
        total = generator.jump.displacement(x, step)
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
        law = ForwardPacket().displacement(generator, start, jnp.asarray(step))
        paths = sample(
            generator, Strang(), jnp.tile(start, (count, 1)), np.array([step]), np.array([64]), jax.random.key(0)
        )[0, :, 0]
        noise = float(jnp.sqrt(law.covariance[0, 0]))
        gaps[step] = abs(float(paths.mean() - start[0] - law.mean[0])) / noise, 4 / np.sqrt(count)
    assert gaps[0.05][0] < 0.01 + gaps[0.05][1]
    assert gaps[0.8][0] > gaps[0.8][1]  # beyond sampling error
    assert gaps[1.6][0] > 3 * gaps[0.8][0]


def test_a_jump_is_never_smaller_than_the_noise_of_a_step():
    noise = jnp.array([[0.5, 0.0], [0.2, 0.3]])
    network = JumpNetwork(jnp.full(2, 1e-3), noise, 1.0, 3, 8, 1, key=jax.random.key(0))
    np.testing.assert_allclose(network.size_over_noise(jnp.zeros(2)), 1.0, rtol=1e-5)
    large = JumpNetwork(jnp.full(2, 5.0), noise, 1.0, 1, 8, 1, key=jax.random.key(0))
    _, law = large(jnp.zeros(2))
    np.testing.assert_allclose(law.means, 0)
    np.testing.assert_allclose(law.covariances[0], (5.0 * (1 + 1e-3)) ** 2 * np.eye(2), rtol=1e-6)


def test_simplex_rule_has_unit_moments():
    for d in (1, 2, 3, 6):
        nodes, weights = Simplex().nodes(d)
        np.testing.assert_allclose(weights @ nodes, 0, atol=1e-12)
        np.testing.assert_allclose((nodes.T * weights) @ nodes, np.eye(d), atol=1e-12)


def test_simulated_true_score_agrees_with_the_exact_one():
    """Importance sampling over three sub-steps: 4 standard errors of 300 paired differences, and its bias."""
    system = DoubleWell(dimension=2)
    seen = system.simulate(60, seed=6, times=np.arange(6) * 0.05).transitions()
    gap = simulated_log_prob(system, seen, substeps=3, samples=512) - system.log_prob(seen.y, seen.x, seen.step)
    assert abs(gap.mean()) < 4 * gap.std() / np.sqrt(len(gap)) + 0.01
