"""Single steps drawn from known laws in the plane, and polynomial laws to fit to them."""

import jax
import jax.numpy as jnp
import numpy as np

from nke.fitting import Steps
from nke.operators import (
    Advection,
    ConstantFactor,
    Diffusion,
    DriftNetwork,
    Generator,
    JumpNetwork,
    PoissonJump,
)

STEP = 0.1
MATRIX = np.array([[-1.0, 0.5], [0.0, -2.0]])


def polynomial(degree: int = 1, inputs: int = 2, jumps: bool = False) -> Generator:
    """Without networks, at f = 0 and a = I."""
    key, eye = jax.random.key(0), jnp.eye(inputs)
    drift = DriftNetwork(jnp.full(inputs, 2.0), 0, 0, degree, key=key)
    jump = PoissonJump(JumpNetwork(jnp.ones(inputs), STEP * eye, 1.0, 1, 0, 0, key=key)) if jumps else None
    return Generator(Advection(drift), Diffusion(ConstantFactor(eye, key=key)), jump)


def drawn_steps(drift, noise=lambda x: 1.0, count: int = 20_000, seed: int = 0, jump_chance=None) -> Steps:
    """Euler–Maruyama steps in the plane from independent N(0, I) states; jumps are N(0, I)."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count, 2))
    moved = STEP * drift(x) + np.sqrt(STEP) * noise(x) * rng.normal(size=(count, 2))
    if jump_chance is not None:
        moved += (rng.random(count) < jump_chance(x))[:, None] * rng.normal(size=(count, 2))
    return Steps(*(jnp.asarray(a, jnp.float32) for a in (x, moved, np.full(count, STEP))))


def linear(x):
    """f(x) = A x + b; one slope and one constant are zero."""
    return x @ MATRIX.T + np.array([0.3, 0.0])
