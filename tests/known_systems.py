"""Systems that a battery of tests runs over."""

import numpy as np
import pytest

from nke.systems import (
    BimodalJumps,
    BlackScholes,
    CoxIngersollRoss,
    DoubleWell,
    GeneNetwork,
    GeometricBrownianMotion,
    HarmonicOscillator,
    Langevin,
    Lorenz,
    NonGradientWell,
    OrnsteinUhlenbeck,
    Pendulum,
    PeriodicPotential,
    PhaseOscillators,
    PredatorPrey,
    Repressilator,
)

TWO_ASSETS = BlackScholes(growth=[0.1, -0.1], volatility=[0.3, 0.2], correlation=[[1.0, -0.5], [-0.5, 1.0]])
ONE_DIMENSIONAL = [
    OrnsteinUhlenbeck(),
    OrnsteinUhlenbeck(rate=2, mean=1, noise=0.5),
    GeometricBrownianMotion(),
    CoxIngersollRoss(),
]
EXACT = [
    *ONE_DIMENSIONAL,
    OrnsteinUhlenbeck(rate=2, mean=1, noise=0.5, dimension=2),
    CoxIngersollRoss(speed=1, level=0.1, volatility=1),
    BlackScholes(),
    TWO_ASSETS,
    HarmonicOscillator(),
    HarmonicOscillator(frequency=1, damping=3, noise=2),
    Langevin(friction=2, diffusivity=0.5),
]
FINE_STEPPED = [
    Lorenz(),
    Lorenz(noise=0.3),
    DoubleWell(),
    DoubleWell(rate=0),
    DoubleWell(dimension=1),
    BimodalJumps(),
    NonGradientWell(),
    GeneNetwork(),
    Repressilator(),
    PredatorPrey(),
    Pendulum(),
    PeriodicPotential(),
    PeriodicPotential(rate=0),
    PhaseOscillators(),
]
SYSTEMS = [*EXACT, *FINE_STEPPED]
JUMPING = [system for system in SYSTEMS if system.has_jumps]


def every(systems):
    return pytest.mark.parametrize("system", systems, ids=str)


def states_of(system, count=6):
    """States spread over the domain of the system."""
    rng = np.random.default_rng(7)
    return system.initial(count, rng) * rng.uniform(0.5, 1.5, (count, system.dimension))
