"""The Kolmogorov forward equation: advection, diffusion and jumps acting on packets and particles."""

from nke.operators.advection import Advection
from nke.operators.diffusion import Diffusion
from nke.operators.generator import Generator
from nke.operators.jump import FiniteTimeJump, Jump, PoissonJump
from nke.operators.kinetic import KinematicConstraint, KineticDrift, KineticFactor, KineticJump
from nke.operators.networks import (
    ConstantFactor,
    DiagonalFactor,
    DriftNetwork,
    FullFactor,
    JumpNetwork,
    MixtureDensityNetwork,
    RelativeFactor,
    ScalarFactor,
    monomial_degrees,
    monomials,
    multiplied,
    trainable,
)
from nke.operators.operator import Noise, Operator, PacketRate
from nke.operators.quadrature import Cubature, GaussHermite, Quadrature, Simplex
from nke.operators.splitting import Euler, LieTrotter, Splitting, Strang
from nke.operators.transition_rule import EulerMaruyamaRule, ForwardPacket, TransitionRule

__all__ = [
    "Advection",
    "ConstantFactor",
    "Cubature",
    "DiagonalFactor",
    "Diffusion",
    "DriftNetwork",
    "Euler",
    "EulerMaruyamaRule",
    "FiniteTimeJump",
    "ForwardPacket",
    "FullFactor",
    "GaussHermite",
    "Generator",
    "Jump",
    "JumpNetwork",
    "KinematicConstraint",
    "KineticDrift",
    "KineticFactor",
    "KineticJump",
    "LieTrotter",
    "MixtureDensityNetwork",
    "Noise",
    "Operator",
    "PacketRate",
    "PoissonJump",
    "Quadrature",
    "RelativeFactor",
    "ScalarFactor",
    "Simplex",
    "Splitting",
    "Strang",
    "TransitionRule",
    "monomial_degrees",
    "monomials",
    "multiplied",
    "trainable",
]
