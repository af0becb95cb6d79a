"""Networks of one state: drift, factor of the diffusion tensor, law of the jumps.

All of them live in dimensionless coordinates; ``scale`` vectors carry the sizes read off the data, so
that what is learned is of order one. Heads start small: training begins at the data's own averages.
"""

from nke.operators.networks.diffusion_factors import (
    ConstantFactor,
    DiagonalFactor,
    FullFactor,
    RelativeFactor,
    ScalarFactor,
)
from nke.operators.networks.drift import DriftNetwork
from nke.operators.networks.jumps import JumpMixture, JumpNetwork, MixtureDensityNetwork
from nke.operators.networks.parameters import Fixed, trainable
from nke.operators.networks.polynomial import PolynomialPlusMLP, monomial_degrees, monomial_variables, monomials
from nke.operators.networks.seen_states import SeenStates
from nke.operators.networks.smooth import Curve, SmoothBasis, SmoothDrift, SmoothFactor, SmoothFunction

__all__ = [
    "ConstantFactor",
    "Curve",
    "DiagonalFactor",
    "DriftNetwork",
    "Fixed",
    "FullFactor",
    "JumpMixture",
    "JumpNetwork",
    "MixtureDensityNetwork",
    "PolynomialPlusMLP",
    "RelativeFactor",
    "ScalarFactor",
    "SeenStates",
    "SmoothBasis",
    "SmoothDrift",
    "SmoothFactor",
    "SmoothFunction",
    "monomial_degrees",
    "monomial_variables",
    "monomials",
    "trainable",
]
