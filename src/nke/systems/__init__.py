"""Stochastic systems whose drift, diffusion and jumps are known: data with a truth to recover."""

from nke.systems.base import System
from nke.systems.bimodal_jumps import BimodalJumps
from nke.systems.black_scholes import BlackScholes
from nke.systems.cox_ingersoll_ross import CoxIngersollRoss
from nke.systems.double_well import DoubleWell
from nke.systems.geometric_brownian_motion import GeometricBrownianMotion
from nke.systems.harmonic_oscillator import HarmonicOscillator
from nke.systems.lorenz import Lorenz
from nke.systems.ornstein_uhlenbeck import OrnsteinUhlenbeck

__all__ = [
    "BimodalJumps",
    "BlackScholes",
    "CoxIngersollRoss",
    "DoubleWell",
    "GeometricBrownianMotion",
    "HarmonicOscillator",
    "Lorenz",
    "OrnsteinUhlenbeck",
    "System",
]
