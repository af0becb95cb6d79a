"""Paths of linear systems, simulated exactly."""

import numpy as np
from scipy.linalg import expm

from nke.data import Trajectories

STEP = 0.05
TURN = np.array([[-1.0, 2.0], [-2.0, -1.0]])


def turning(trajectories=256, rows=81, seed=0):
    """Exact paths of dX = A X dt + dW, A = ((−1, 2), (−2, −1)), from the stationary law N(0, I/2)."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((trajectories, 2)) / np.sqrt(2)
    flow, noise = expm(STEP * TURN), np.sqrt(-np.expm1(-2 * STEP) / 2)
    states = [x]
    for _ in range(rows - 1):
        states.append(states[-1] @ flow.T + noise * rng.standard_normal(x.shape))
    return Trajectories(np.stack(states, axis=1), STEP, names=["east", "north"], units=["m", "m"])


def falling(trajectories=128, seed=0):
    """dX = −X dt + 0.3 dW from around 2: without a drift all paths end in the wrong place."""
    rng = np.random.default_rng(seed)
    x = 2 + 0.3 * rng.standard_normal((trajectories, 1))
    states = [x]
    for _ in range(24):
        kick = 0.3 * np.sqrt(-np.expm1(-0.2) / 2) * rng.standard_normal(x.shape)
        states.append(np.exp(-0.1) * states[-1] + kick)
    return Trajectories(np.stack(states, axis=1), 0.1)
