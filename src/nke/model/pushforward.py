"""Gaussian laws of a displacement in z, pushed forward to the user's coordinates with matched moments."""

import numpy as np
from jaxtyping import Float

from nke.data import Coordinates
from nke.data.transforms import Log, Transform
from nke.mixtures import GaussianMixture

NODES = 12  # of the quadrature in each of two coordinates


def displacement_back(
    law: GaussianMixture, coordinates: Coordinates, x: Float[np.ndarray, "*batch d"]
) -> GaussianMixture:
    """Pushes the law of a displacement from the states x forward, each component with its own mean and covariance.

    Of plain columns and angles it is exact. Of a logarithm the moments are those of the log-normal law, in closed form;
    of a logit they are computed by Gauss–Hermite quadrature.

    Args:
        law: Law of the displacement in z for each state, NumPy.
        coordinates: From the user's coordinates to z.
        x: States in the user's coordinates.

    Returns:
        The law of the displacement in the user's coordinates.
    """
    scale = coordinates.scale
    if coordinates.is_affine:
        return law.affine(np.zeros(coordinates.dimension), scale)
    mean, covariance = np.asarray(law.means) * scale, np.asarray(law.covariances) * np.outer(scale, scale)
    start, variance = np.asarray(x, np.float64)[..., None, :], np.diagonal(covariance, axis1=-2, axis2=-1)
    columns = [(transform, start[..., i], mean[..., i], variance[..., i]) for i, transform in _numbered(coordinates)]
    moved = np.stack([t.mean_displacement(*rest) for t, *rest in columns], axis=-1)
    slope = np.stack([np.broadcast_to(t.mean_first(*rest), rest[1].shape) for t, *rest in columns], axis=-1)
    spread = np.empty_like(covariance)
    for i, first in _numbered(coordinates):
        for j, second in _numbered(coordinates):
            if j > i:
                continue
            shared = covariance[..., i, j]
            if first.affine or second.affine:
                found = slope[..., i] * slope[..., j] * shared  # Stein's identity; one of the slopes is 1
            elif isinstance(first, Log) and isinstance(second, Log):
                found = slope[..., i] * slope[..., j] * np.expm1(shared)
            else:
                ends = [t.to(s) + m for t, s, m, _ in (columns[i], columns[j])]
                found = _covariance((first, second), ends, (variance[..., i], variance[..., j]), shared)
            spread[..., i, j] = spread[..., j, i] = found
    return GaussianMixture(law.weights, moved, spread)


def _numbered(coordinates: Coordinates) -> list[tuple[int, Transform]]:
    return list(enumerate(coordinates.transforms))


def _covariance(transforms, means, variances, shared) -> Float[np.ndarray, "*batch"]:
    """The covariance of two transformed Gaussians, by quadrature over both."""
    points, weights = np.polynomial.hermite_e.hermegauss(NODES)
    weights = weights / weights.sum()
    one, other = (np.sqrt(np.maximum(variance, 0.0)) for variance in variances)
    along = np.where(one > 0, shared / np.where(one > 0, one, 1.0), 0.0)
    across = np.sqrt(np.maximum(other**2 - along**2, 0.0))
    first = transforms[0].back((means[0][..., None] + one[..., None] * points)[..., None])
    inner = means[1][..., None, None] + along[..., None, None] * points[:, None] + across[..., None, None] * points
    second = transforms[1].back(inner)
    table = weights[:, None] * weights
    centre = [np.sum(table * value, axis=(-2, -1)) for value in (first, second)]
    return np.sum(table * (first - centre[0][..., None, None]) * (second - centre[1][..., None, None]), axis=(-2, -1))


def unwrapped_to(coordinates: Coordinates, x: Float[np.ndarray, "*batch d"]) -> Float[np.ndarray, "*batch d"]:
    """States in z with the whole turns of their angles."""
    columns = [x[..., i] if t.affine else t.to(x[..., i]) for i, t in _numbered(coordinates)]
    return (np.stack(columns, axis=-1) - coordinates.shift) / coordinates.scale


def unwrapped_back(coordinates: Coordinates, z: Float[np.ndarray, "*batch d"]) -> Float[np.ndarray, "*batch d"]:
    """States in the user's units with the whole turns of their angles."""
    u = z * coordinates.scale + coordinates.shift
    return np.stack([u[..., i] if t.affine else t.back(u[..., i]) for i, t in _numbered(coordinates)], axis=-1)


def law_back(law: GaussianMixture, coordinates: Coordinates) -> GaussianMixture:
    """Pushes the law of a state in z forward to the user's units, each component with its own mean and covariance.

    Args:
        law: Law of the state in z, NumPy.
        coordinates: From the user's coordinates to z.

    Returns:
        The law in the user's coordinates; angles are not wrapped.
    """
    if coordinates.is_affine:
        return law.affine(coordinates.shift, coordinates.scale)
    origin = coordinates.back(np.zeros(coordinates.dimension))
    start = np.broadcast_to(origin, (*law.weights.shape[:-1], coordinates.dimension))
    moved = displacement_back(law, coordinates, start)
    return GaussianMixture(moved.weights, np.asarray(moved.means) + origin, moved.covariances)


def law_to(law: GaussianMixture, coordinates: Coordinates, names: tuple[str, ...]) -> GaussianMixture:
    """Takes the law of a state in the user's units to z, each component with its own mean and covariance.

    Of a logarithm the component becomes the log-normal law of the same mean and covariance; of a logit it is linearised
    at its mean.

    Args:
        law: Law of the state in the user's units, NumPy.
        coordinates: From the user's coordinates to z.
        names: Of the coordinates, for the message of an error.

    Returns:
        The law in z.
    """
    coordinates.require_inside(law.means, names)
    if coordinates.is_affine:
        return law.affine(-coordinates.shift / coordinates.scale, 1 / coordinates.scale)
    x, spread = np.asarray(law.means), np.asarray(law.covariances)
    logs = np.array([isinstance(t, Log) for t in coordinates.transforms])
    slope = np.stack([np.exp(t.log_slope(x[..., i])) for i, t in _numbered(coordinates)], axis=-1)
    linear = slope[..., :, None] * spread * slope[..., None, :]
    both = logs[:, None] & logs
    shared = np.where(both, np.log1p(np.where(both, linear, 0.0)), linear)  # cov of logs: log(1 + C_ij/(m_i m_j))
    half = np.where(logs, np.diagonal(shared, axis1=-2, axis2=-1) / 2, 0.0)
    scale = coordinates.scale
    return GaussianMixture(law.weights, unwrapped_to(coordinates, x) - half / scale, shared / np.outer(scale, scale))
