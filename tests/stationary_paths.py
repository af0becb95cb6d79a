"""Exact stationary paths of dX = −X dt + dW, and a quick moment matching for them.

Compilation rules the time of a small fit, and packets of each time step apart have shapes that follow from the number
of trajectories alone. So most fits use ``MOMENTS`` on 128 trajectories of 41 rows.
"""

import math

import numpy as np

from nke.fitting import MomentMatching, Schedule

# A quarter is held out: 32 trajectories, of which packets of 16 can be formed.
MOMENTS = MomentMatching(
    neighbours=16,
    pool=False,
    held_out=0.25,
    width=16,
    depth=1,
    schedule=Schedule(steps=400, learning_rate=1e-2, particles=512),
)
TRAJECTORIES, ROWS, STEP = 128, 41, 0.05
GRID = np.linspace(-1, 1, 21)[:, None]


def stationary(d=1, correlation=0.0, seed=0):
    """Exact trajectories, the noise correlated between coordinates, from the stationary law."""
    rng = np.random.default_rng(seed)
    tensor = (1 - correlation) * np.eye(d) + correlation
    decay = math.exp(-STEP)
    lower = np.linalg.cholesky(tensor * (1 - decay**2) / 2)
    x = rng.standard_normal((TRAJECTORIES, d)) @ np.linalg.cholesky(tensor / 2).T
    states = [x]
    for _ in range(ROWS - 1):
        x = decay * x + rng.standard_normal(x.shape) @ lower.T
        states.append(x)
    return np.stack(states, axis=1)


STATES = stationary()
