"""Gaussian mixtures: the space in which densities move, spread and split."""

from nke.mixtures.gaussian_mixture import GaussianMixture

__all__ = ["GaussianMixture"]
