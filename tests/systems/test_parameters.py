"""Parameters of systems that make no sense are refused at construction, by name."""

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
    Lorenz,
    NonGradientWell,
    OrnsteinUhlenbeck,
    Pendulum,
    PeriodicPotential,
    PhaseOscillators,
    PredatorPrey,
    Repressilator,
)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Lorenz(noise=-1), "noise of Lorenz to be a finite number ≥ 0, but got -1"),
        (lambda: Lorenz(rho=np.nan), "rho of Lorenz to be a finite number, but got nan"),
        (lambda: Lorenz(dt=0), "dt of Lorenz to be a finite number > 0, but got 0"),
        (lambda: DoubleWell(rate=-1), "rate of DoubleWell"),
        (lambda: DoubleWell(jump_scale=0), "jump_scale of DoubleWell"),
        (lambda: DoubleWell(dimension=0), "dimension of DoubleWell to be a whole number ≥ 1, but got 0"),
        (lambda: OrnsteinUhlenbeck(rate=0), "rate of OrnsteinUhlenbeck"),
        (lambda: GeometricBrownianMotion(volatility=0), "volatility of GeometricBrownianMotion"),
        (lambda: CoxIngersollRoss(start=-0.1), "start of CoxIngersollRoss"),
        (lambda: HarmonicOscillator(damping=-0.1), "damping of HarmonicOscillator"),
        (lambda: HarmonicOscillator(noise=0), "noise of HarmonicOscillator"),
        (lambda: BimodalJumps(dt=np.inf), "dt of BimodalJumps"),
        (lambda: NonGradientWell(dt=-1), "dt of NonGradientWell"),
        (lambda: GeneNetwork(noise=-1), "noise of GeneNetwork"),
        (lambda: Repressilator(volume=0), "volume of Repressilator to be a finite number > 0, but got 0"),
        (lambda: PredatorPrey(capacity=0), "capacity of PredatorPrey"),
        (lambda: PredatorPrey(mortality=0), "mortality of PredatorPrey"),
        (lambda: Pendulum(torque=np.inf), "torque of Pendulum"),
        (lambda: PeriodicPotential(jump_scale=0), "jump_scale of PeriodicPotential"),
        (lambda: PhaseOscillators(spread=-1), "spread of PhaseOscillators"),
        (lambda: PhaseOscillators(dimension=0), "dimension of PhaseOscillators to be a whole number ≥ 1"),
        (lambda: BlackScholes(volatility=(0.2, 0.1)), r"volatility of BlackScholes .* shape \(3,\)"),
        (lambda: BlackScholes(volatility=(0.2, 0.1, 0.0)), "every volatility"),
        (lambda: BlackScholes((0, 0), (1, 1), ((1, 0.5), (0.4, 1))), "symmetric correlation"),
        (lambda: BlackScholes((0, 0), (1, 1), ((1, 2), (2, 1))), "positive definite"),
    ],
)
def test_bad_parameters_are_refused(build, message):
    with pytest.raises(ValueError, match=message):
        build()


@pytest.mark.parametrize("wrong", [{"confinement": "1"}, {"noise": [0.5]}, {"dimension": 1.5}], ids=str)
def test_parameters_that_are_not_numbers_are_refused(wrong):
    with pytest.raises((ValueError, TypeError)):
        DoubleWell(**wrong)
