"""Coefficients in a plane of two coordinates: arrows of the drift, ellipses of the noise, cells of the jump rate."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from nke.model import Model
from nke.plots.view import View
from nke.systems import System


class DriftField(NamedTuple):
    """Arrows of the drift in a plane of two coordinates, where there is data.

    Attributes:
        states: Where the arrows stand.
        arrows: Directions as seen in a square panel; lengths go with the root of the speed, so that slow regions show
            theirs.
        drift: The drift itself.
        speed: In the plane, in standard deviations of the data per unit time.
    """

    states: Float[np.ndarray, "n d"]
    arrows: Float[np.ndarray, "2 n"]
    drift: Float[np.ndarray, "n d"]
    speed: Float[np.ndarray, " n"]

    @classmethod
    def of(cls, model: Model, view: View, i: int, j: int, side: int, quantity: str = "drift") -> "DriftField":
        """Computes side × side arrows.

        Args:
            model: The model.
            view: The part of the state space.
            i: The coordinate across.
            j: The coordinate upwards.
            side: Cells on each side.
            quantity: "drift" or "total_drift".

        Returns:
            The field.
        """
        states, occupied = view.plane(i, j, side)
        states = states[occupied]
        f = getattr(model, quantity)(states)
        speed = np.linalg.norm((f / model.coordinates.size)[:, [i, j]], axis=-1)
        return cls(states, arrows(f, view.high - view.low, i, j), f, speed)


def arrows(f: Float[np.ndarray, "n d"], extent: Float[np.ndarray, " d"], i: int, j: int) -> Float[np.ndarray, "2 n"]:
    """Directions as seen in the panel, with the root of the speed as length."""
    arrow = (f / extent)[:, [i, j]].T
    root = np.sqrt(np.linalg.norm(arrow, axis=0))
    return arrow / np.where(root > 0, root, 1)


class Ellipses(NamedTuple):
    """Ellipses of one standard deviation that the noise spreads to, in every plane of two coordinates.

    Attributes:
        duration: The time in which it does.
        states: Their middles, a set for each plane.
        outlines: Points around each, (ellipses, 2, points), a set for each plane.
    """

    duration: float
    states: list[Float[np.ndarray, "n d"]]
    outlines: list[Float[np.ndarray, "n 2 p"]]

    @classmethod
    def of(cls, model: Model, view: View, pairs: Sequence[tuple[int, int]], side: int, points: int = 61) -> "Ellipses":
        """Computes side × side ellipses in every plane, where there is data, so large that they hardly overlap.

        Args:
            model: The model.
            view: The part of the state space.
            pairs: The coordinates across and upwards.
            side: Cells on each side.
            points: Of each outline, the first one again at its end.

        Returns:
            The ellipses.
        """
        cell = (view.high - view.low) / side
        planes = [states[occupied] for states, occupied in (view.plane(i, j, side) for i, j in pairs)]
        tensors = [model.diffusion(states)[:, [[i], [j]], [i, j]] for states, (i, j) in zip(planes, pairs, strict=True)]
        widths = [
            np.sqrt(np.diagonal(a, axis1=-2, axis2=-1)) / cell[[i, j]] for a, (i, j) in zip(tensors, pairs, strict=True)
        ]
        widest = max(float(np.percentile(width.max(axis=-1), 90)) for width in widths)
        duration = round_down((0.45 / widest) ** 2) if widest > 0 else 1.0
        outlines = [
            outline(states[:, [i, j]], a * duration, points)
            for states, a, (i, j) in zip(planes, tensors, pairs, strict=True)
        ]
        return cls(duration, planes, outlines)

    def true_outlines(self, truth: System, pairs: Sequence[tuple[int, int]]) -> list[Float[np.ndarray, "n 2 p"]]:
        """The outlines of another law in the same states."""
        return [
            outline(s[:, [i, j]], np.asarray(truth.diffusion(s))[:, [[i], [j]], [i, j]] * self.duration, 61)
            for s, (i, j) in zip(self.states, pairs, strict=True)
        ]


def outline(
    centres: Float[np.ndarray, "n 2"], covariances: Float[np.ndarray, "n 2 2"], points: int
) -> Float[np.ndarray, "n 2 p"]:
    """The ellipses (x − c)ᵀ C⁻¹ (x − c) = 1: images of the unit circle under a root of C."""
    angle = np.linspace(0, 2 * np.pi, points)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    values, vectors = np.linalg.eigh(covariances)
    root = vectors * np.sqrt(np.maximum(values, 0))[:, None]
    return centres[:, :, None] + root @ circle


def round_down(value: float) -> float:
    """Rounds down to one digit: 1, 2 or 5 times a power of ten."""
    power = 10 ** np.floor(np.log10(value))
    return float(max(digit for digit in (1, 2, 5) if digit * power <= value * (1 + 1e-9)) * power)


class RatePlane(NamedTuple):
    """The jump rate in cells of a plane of two coordinates.

    Attributes:
        states: In the middles of the cells, (side, side, d); the first axis is the coordinate upwards.
        rate: NaN where there is no data.
    """

    states: Float[np.ndarray, "n n d"]
    rate: Float[np.ndarray, "n n"]

    @classmethod
    def of(cls, model: Model, view: View, i: int, j: int, side: int = 24) -> "RatePlane":
        """Computes side × side cells.

        Args:
            model: The model.
            view: The part of the state space.
            i: The coordinate across.
            j: The coordinate upwards.
            side: Cells on each side.

        Returns:
            The rates.
        """
        states, occupied = view.plane(i, j, side)
        return cls(states, np.where(occupied, model.jump_rate(states), np.nan))
