"""Gaussian mixtures: the space in which densities move, spread and split."""

from nke.mixtures.gaussian_mixture import GaussianMixture
from nke.mixtures.reduction import merge, reduce, split

__all__ = ["GaussianMixture", "merge", "reduce", "split"]
