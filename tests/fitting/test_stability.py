"""Does a law diverge in simulation?"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import nke
from nke.fitting import SelectionRules
from nke.fitting.initial_moments import TransitionSample
from nke.fitting.stability import diverges, exceeds_motions, runs_away
from nke.operators import Advection, ConstantFactor, Diffusion, DriftNetwork, Generator
from nke.systems import Lorenz


def test_a_drift_that_diverges_in_simulation_is_noticed():
    x = np.random.default_rng(0).normal(size=(1000, 1))
    for sign, away in ((1.0, True), (-1.0, False)):
        drift = DriftNetwork(jnp.ones(1), 0, 0, 3, key=jax.random.key(0))
        drift = drift.starting_from(jnp.zeros(1), jnp.array([[0.0, 0.0, sign]]))
        noise = Diffusion(ConstantFactor(jnp.eye(1), key=jax.random.key(0)))
        assert diverges(Generator(Advection(drift), noise, None), x, 0.05, SelectionRules()) == away


def test_a_logarithm_diverges_where_its_column_does():
    """Of constant growth by 30 deviations in all: little for a state, a factor e³⁰ for what it is the logarithm of."""
    x, step = np.random.default_rng(0).normal(size=(1000, 1)), 0.05
    rules = SelectionRules()
    drift = DriftNetwork(jnp.ones(1), 0, 0, 1, key=jax.random.key(0))
    growth = 30 / (step * rules.simulated_steps)
    growing = drift.starting_from(jnp.array([growth]), jnp.zeros((1, 1)))
    generator = Generator(Advection(growing), Diffusion(ConstantFactor(0.1 * jnp.eye(1), key=jax.random.key(0))), None)
    assert not diverges(generator, x, step, rules)
    assert diverges(generator, x, step, rules, np.ones(1))
    assert not diverges(generator, x, step, rules, np.full(1, 10.0))  # e³ of the column: ten deviations are a factor e


def law(degree: int, slopes) -> Generator:
    """A polynomial drift and noise of variance 1."""
    drift = DriftNetwork(jnp.ones(len(slopes)), 0, 0, degree, key=jax.random.key(0))
    drift = drift.starting_from(jnp.zeros(len(slopes)), jnp.asarray(slopes, jnp.float32))
    return Generator(Advection(drift), Diffusion(ConstantFactor(jnp.eye(len(slopes)), key=jax.random.key(0))), None)


# In the order of the monomials: x, y, z, xx, xy, xz, yy, yz, zz.
LORENZ = [[-10, 10] + 7 * [0], [28, -1, 0, 0, 0, -1, 0, 0, 0], [0, 0, -8 / 3, 0, 1, 0, 0, 0, 0]]


@pytest.mark.parametrize(
    ("drift", "degree", "away"),
    [
        ([[-1.0, 0.0, 0.05]], 3, True),  # beyond √20 it leads outwards, where the farthest of 1000 states never are
        ([[1.0, 0.0, -1.0]], 3, False),
        ([[-1.0, 0.1]], 2, False),  # turns at 10, more than twice as far as the farthest state
        ([[0.5]], 1, False),  # grows, but no faster than the state
    ],
)
def test_a_drift_that_runs_away_beyond_the_data_is_noticed(drift, degree, away):
    x = np.random.default_rng(0).normal(size=(1000, 1))
    assert 0.5 * np.sqrt(20) < np.abs(x).max() < np.sqrt(20)
    assert runs_away(law(degree, drift), x, 0.05, SelectionRules()) == away


@pytest.mark.parametrize("step", [0.02, 0.3])
def test_the_lorenz_equations_lead_back_however_coarse_the_step(step):
    states = np.asarray(Lorenz().simulate(16, seed=0).states)[:, 5:].reshape(-1, 3)
    assert not runs_away(law(2, LORENZ), states, step, SelectionRules())


@pytest.mark.parametrize(("drift", "noise", "exceeds"), [(1.0, 1.0, False), (1e4, 1.0, True), (1.0, 1e4, True)])
def test_no_state_may_move_far_beyond_the_largest_recorded_motion(drift, noise, exceeds):
    """Motions of deviation 0.2 in 2000 steps: the largest is about 0.7, ten times of which no state is said to move."""
    step, rng = 0.04, np.random.default_rng(0)
    x = rng.normal(size=(2000, 1))
    data = nke.Trajectories(np.stack([x, x + np.sqrt(step) * rng.normal(size=x.shape)], axis=1), step)
    same = nke.Coordinates(np.zeros(1), np.ones(1), 1.0)
    sample = TransitionSample(data.transitions(), same, None, 0.1)
    body = DriftNetwork(jnp.ones(1), 0, 0, 1, key=jax.random.key(0)).starting_from(
        jnp.array([drift]), jnp.zeros((1, 1))
    )
    factor = ConstantFactor(noise * jnp.eye(1), key=jax.random.key(0))
    generator = Generator(Advection(body), Diffusion(factor), None)
    assert exceeds_motions(generator, sample, SelectionRules()) == exceeds
