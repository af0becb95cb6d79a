"""Small fits that several tests look at: data of known systems, and what ``nke.fit`` makes of them."""

import numpy as np

import nke
from nke.fitting import CHUNK, Likelihood, Schedule
from nke.systems import DoubleWell, GeometricBrownianMotion, OrnsteinUhlenbeck

QUICK = Likelihood(schedule=Schedule(steps=CHUNK, particles=256), width=16)


def ornstein_uhlenbeck_in_units(shift: float = 0.0) -> nke.Trajectories:
    """dx = −x dt + dW in other units: u = 1000 x + shift in mm, times 60 in s, so that du/dt = −(u − shift)/60."""
    data = OrnsteinUhlenbeck(rate=1.0).simulate(128, seed=1)
    states, times = np.asarray(data.states) * 1000 + shift, np.asarray(data.times) * 60
    return nke.Trajectories(states, times, names=["u"], units=["mm"], unit_of_time="s")


def double_well() -> nke.Trajectories:
    """f = x − x³, a = 1/4, jumps N(0, 1) at rate 1."""
    return DoubleWell(dimension=1).simulate(64, seed=1)


def geometric_brownian_motion() -> nke.Trajectories:
    """dx = 0.5 x dt + 0.2 x dW."""
    return GeometricBrownianMotion(growth=0.5).simulate(64, seed=1)


def correlated_walk(correlation: float) -> nke.Trajectories:
    """2000 steps of pure noise of variances 1 and 4."""
    covariance = np.array([[1.0, 2 * correlation], [2 * correlation, 4.0]])
    steps = np.random.default_rng(0).multivariate_normal(np.zeros(2), covariance, size=(40, 50))
    return nke.Trajectories(np.cumsum(steps, axis=1), 1.0)


def euler_maruyama(drift, noise, start, rows: int, step: float, jump_rate=None, substeps: int = 10) -> nke.Trajectories:
    """Finely stepped paths of dx = f(x) dt + g(x) dW, with jumps N(0, 1) at a rate that depends on the state."""
    rng, x, fine, states = np.random.default_rng(1), np.asarray(start), step / substeps, []
    for i in range(substeps * (rows - 1) + 1):
        if i % substeps == 0:
            states.append(x)
        moved = fine * drift(x) + np.sqrt(fine) * noise(x) * rng.normal(size=x.shape)
        if jump_rate is not None:
            moved += (rng.random(x.shape) < fine * jump_rate(x)) * rng.normal(size=x.shape)
        x = x + moved
    return nke.Trajectories(np.stack(states, axis=1)[..., None], step, names=["x"])


def one_sided_jumps() -> nke.Trajectories:
    """f = −x, a = 1/4, jumps N(0, 1) at rates from 0 on the left to 3 on the right."""
    start = np.random.default_rng(0).normal(size=128)
    return euler_maruyama(lambda x: -x, lambda x: 0.5, start, 81, 0.05, jump_rate=lambda x: 1.5 * (1 + np.tanh(2 * x)))
