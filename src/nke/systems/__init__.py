"""Stochastic systems whose drift, diffusion and jumps are known: data with a truth to recover."""

from nke.systems.base import System
from nke.systems.bimodal_jumps import BimodalJumps
from nke.systems.black_scholes import BlackScholes
from nke.systems.cox_ingersoll_ross import CoxIngersollRoss
from nke.systems.double_well import DoubleWell
from nke.systems.gene_network import GeneNetwork
from nke.systems.geometric_brownian_motion import GeometricBrownianMotion
from nke.systems.harmonic_oscillator import HarmonicOscillator
from nke.systems.langevin import Langevin
from nke.systems.lorenz import Lorenz
from nke.systems.non_gradient_well import NonGradientWell
from nke.systems.ornstein_uhlenbeck import OrnsteinUhlenbeck
from nke.systems.pendulum import Pendulum
from nke.systems.periodic_potential import PeriodicPotential
from nke.systems.phase_oscillators import PhaseOscillators
from nke.systems.predator_prey import PredatorPrey
from nke.systems.rarefied_gas import Collisions, RarefiedGas
from nke.systems.repressilator import Repressilator

__all__ = [
    "BimodalJumps",
    "BlackScholes",
    "Collisions",
    "CoxIngersollRoss",
    "DoubleWell",
    "GeneNetwork",
    "GeometricBrownianMotion",
    "HarmonicOscillator",
    "Langevin",
    "Lorenz",
    "NonGradientWell",
    "OrnsteinUhlenbeck",
    "Pendulum",
    "PeriodicPotential",
    "PhaseOscillators",
    "PredatorPrey",
    "RarefiedGas",
    "Repressilator",
    "System",
]
