"""Drift, noise and jumps of a model in a few states, as numbers in the user's units."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int

from nke.data.transforms import Periodic

if TYPE_CHECKING:
    from nke.model.model import Model

SAME = 1e-3  # coefficients that vary by less than this part of their size are called the same in every state
QUANTILES = (0.01, 0.25, 0.5, 0.75, 0.99)  # of the data, at which a law of one coordinate is tabulated
GAUSSIAN = (-2.0, -0.67, 0.0, 0.67, 2.0)  # about the same of a Gaussian, in standard deviations


@dataclass(frozen=True, eq=False)
class Coefficients:
    """Drift, noise and jumps in some states, per unit time and in the user's units.

    Attributes:
        names: Of the coordinates.
        units: Of the coordinates.
        unit_of_time: Of the data.
        states: Where the coefficients are taken.
        along: Number of the coordinate that moves from row to row; −1 where there is no such.
        middle: The row of the state in the middle of the data.
        drift: f, without the mean motion of the jumps.
        diffusion: a = g gᵀ.
        jump_rate: λ; zeros where there are no jumps.
        jump_mean: Mean of one jump; zeros where there are none.
        jump_deviation: Standard deviation of one jump.
        jumps: Law of one jump in the middle of the data: weight, mean and standard deviation of each component.

    Example:
        >>> found = model.coefficients([[0.0], [1.0]])
        >>> found.drift.shape, found.volatility.shape, found.noise(0)
        ((2, 1), (2, 1), 'constant')
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    unit_of_time: str
    states: Float[np.ndarray, "n d"]
    along: Int[np.ndarray, " n"]
    middle: int
    drift: Float[np.ndarray, "n d"]
    diffusion: Float[np.ndarray, "n d d"]
    jump_rate: Float[np.ndarray, " n"]
    jump_mean: Float[np.ndarray, "n d"]
    jump_deviation: Float[np.ndarray, "n d"]
    jumps: tuple[tuple[float, tuple[float, ...], tuple[float, ...]], ...] = ()

    @classmethod
    def of(cls, model: "Model", states: Float[np.ndarray, "n d"] | None = None) -> "Coefficients":
        """Takes them from a model.

        Args:
            model: The model.
            states: Where; None: in the middle of the data that it was fitted to, and to both sides of it along every
                coordinate.

        Returns:
            The coefficients.
        """
        if states is None:
            states, along = typical_states(model)
            middle = int(np.flatnonzero(along == 0)[(along == 0).sum() // 2])
        else:
            along, middle = np.full(len(states), -1), len(states) // 2
        zero = np.zeros((len(states), model.dimension))
        mean, deviation, components = zero, zero, ()
        if model.has_jumps:
            laws = model.jump_law(states)
            mean = np.asarray(laws.mean)
            deviation = np.sqrt(np.diagonal(np.asarray(laws.covariance), axis1=-2, axis2=-1))
            law = model.jump_law(states[middle])
            spread = np.sqrt(np.diagonal(np.asarray(law.covariances), axis1=-2, axis2=-1))
            rows = zip(np.asarray(law.weights).tolist(), np.asarray(law.means).tolist(), spread.tolist(), strict=True)
            components = tuple((weight, tuple(m), tuple(s)) for weight, m, s in rows)
        return cls(
            model.names,
            model.units,
            model.unit_of_time,
            states,
            along,
            middle,
            model.drift(states),
            model.diffusion(states),
            model.jump_rate(states),
            mean,
            deviation,
            components,
        )

    @property
    def volatility(self) -> Float[np.ndarray, "n d"]:
        """The root of the diagonal of the diffusion: standard deviation of the noise after a unit of time."""
        return np.sqrt(np.diagonal(self.diffusion, axis1=-2, axis2=-1))

    @property
    def total_drift(self) -> Float[np.ndarray, "n d"]:
        """The mean motion f + λ·E[jump]."""
        return self.drift + self.jump_rate[:, None] * self.jump_mean

    @property
    def has_jumps(self) -> bool:
        """Whether there are any jumps."""
        return bool(self.jumps)

    @property
    def noisy(self) -> list[int]:
        """Coordinates that have noise of their own."""
        return [int(i) for i in np.flatnonzero((self.volatility > 0).any(axis=0))]

    def noise(self, coordinate: int) -> str:
        """Tells how the noise of a coordinate depends on the state.

        Args:
            coordinate: Its number.

        Returns:
            "none", "constant", "relative" (in proportion to a coordinate that is positive) or "state-dependent".
        """
        volatility, size = self.volatility[:, coordinate], self.states[:, coordinate]
        if not volatility.any():
            return "none"
        if same(volatility):
            return "constant"
        return "relative" if (size > 0).all() and same(volatility / size) else "state-dependent"

    @property
    def jumps_are_the_same(self) -> bool:
        """Whether rate and law of the jumps do not depend on the state."""
        moments = np.concatenate([self.jump_mean, self.jump_deviation], axis=1)
        spread = np.abs(moments - moments[0]).max()
        return same(self.jump_rate) and bool(spread <= SAME * max(float(np.abs(moments).max()), 1e-300))

    def to_dict(self) -> dict[str, Any]:
        """Gives the numbers as plain lists, ready for JSON.

        Returns:
            States and coefficients by their names.

        Example:
            >>> sorted(model.coefficients([[0.0]]).to_dict())
            ['drift', 'jump deviation', 'jump mean', 'jump rate', 'states', 'total drift', 'volatility']
        """
        found: Mapping[str, np.ndarray] = {
            "states": self.states,
            "drift": self.drift,
            "total drift": self.total_drift,
            "volatility": self.volatility,
            "jump rate": self.jump_rate,
            "jump mean": self.jump_mean,
            "jump deviation": self.jump_deviation,
        }
        return {name: values.tolist() for name, values in found.items()}


def same(values: Float[np.ndarray, " n"]) -> bool:
    """Tells whether numbers differ by no more than rounding in single precision and a little more.

    Args:
        values: The numbers.

    Returns:
        Whether they are the same.
    """
    return bool(np.ptp(values) <= SAME * np.abs(values).max())


def typical_states(model: "Model") -> tuple[Float[np.ndarray, "n d"], Int[np.ndarray, " n"]]:
    """Chooses states from low to high along every coordinate, with the others in the middle of the data.

    Args:
        model: Whose quantiles, or scales, tell where its data was.

    Returns:
        The states, five in one dimension and three for each coordinate in more; and which coordinate moves.
    """
    coordinates, d = model.coordinates, model.dimension
    if model.quantiles is None:
        values = coordinates.back(np.tile(np.array(GAUSSIAN)[:, None], (1, d))).T
    else:
        values = np.array(model.quantiles)
    for i, transform in enumerate(coordinates.transforms):
        if isinstance(transform, Periodic):
            start = -transform.period / 2 if transform.start is None else transform.start
            values[i] = start + transform.period * np.array([0.1, 0.3, 0.5, 0.7, 0.9])
    if model.borders is not None:
        values = np.clip(values.T, *np.array(model.borders).T).T
    shown = values if d == 1 else values[:, ::2]
    states = np.tile(values[:, len(GAUSSIAN) // 2], (d, shown.shape[1], 1))
    for i in range(d):
        states[i, :, i] = shown[i]
    return states.reshape(-1, d), np.repeat(np.arange(d), shown.shape[1])
