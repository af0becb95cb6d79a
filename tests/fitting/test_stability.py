"""Does a law diverge in simulation?"""

import jax
import jax.numpy as jnp
import numpy as np

from nke.fitting import SelectionRules
from nke.fitting.stability import diverges
from nke.operators import Advection, ConstantFactor, Diffusion, DriftNetwork, Generator


def test_a_drift_that_diverges_in_simulation_is_noticed():
    x = np.random.default_rng(0).normal(size=(1000, 1))
    for sign, away in ((1.0, True), (-1.0, False)):
        drift = DriftNetwork(jnp.ones(1), 0, 0, 3, key=jax.random.key(0))
        drift = drift.starting_from(jnp.zeros(1), jnp.array([[0.0, 0.0, sign]]))
        noise = Diffusion(ConstantFactor(jnp.eye(1), key=jax.random.key(0)))
        assert diverges(Generator(Advection(drift), noise, None), x, 0.05, SelectionRules()) == away
