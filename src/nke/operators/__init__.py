"""The Kolmogorov forward equation: advection, diffusion and jumps acting on packets and particles."""

from nke.operators.advection import Advection
from nke.operators.diffusion import Diffusion
from nke.operators.evolution import Evolution, Evolved
from nke.operators.generator import Generator
from nke.operators.jump import FiniteTimeJump, Jump, PoissonJump
from nke.operators.kinetic import KinematicConstraint, KineticDrift, KineticFactor, KineticJump, KineticMixture
from nke.operators.networks import (
    ConstantFactor,
    Curve,
    DiagonalFactor,
    DriftNetwork,
    Fixed,
    FullFactor,
    JumpNetwork,
    MixtureDensityNetwork,
    PolynomialPlusMLP,
    RelativeFactor,
    ScalarFactor,
    SeenStates,
    SmoothBasis,
    SmoothDrift,
    SmoothFactor,
    SmoothFunction,
    monomial_degrees,
    monomial_variables,
    monomials,
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
    "Curve",
    "DiagonalFactor",
    "Diffusion",
    "DriftNetwork",
    "Euler",
    "EulerMaruyamaRule",
    "Evolution",
    "Evolved",
    "FiniteTimeJump",
    "Fixed",
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
    "KineticMixture",
    "LieTrotter",
    "MixtureDensityNetwork",
    "Noise",
    "Operator",
    "PacketRate",
    "PoissonJump",
    "PolynomialPlusMLP",
    "Quadrature",
    "RelativeFactor",
    "ScalarFactor",
    "SeenStates",
    "Simplex",
    "SmoothBasis",
    "SmoothDrift",
    "SmoothFactor",
    "SmoothFunction",
    "Splitting",
    "Strang",
    "TransitionRule",
    "monomial_degrees",
    "monomial_variables",
    "monomials",
    "trainable",
]
