"""The dimensionless coordinates in which training runs, and the way back to the user's units."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float64
from numpy.typing import ArrayLike

from nke.data.trajectories import Trajectories
from nke.errors import InputError


@dataclass(frozen=True, eq=False)
class Coordinates:
    """The dimensionless coordinates z = (x − shift)/scale and τ = t/time_unit, in which a law becomes one of order one.

    Every method takes anything that NumPy can read and computes in float64.

    Args:
        shift: The origin of z, one number for each coordinate.
        scale: The unit of z, one positive number for each coordinate.
        time_unit: The unit of τ, positive.

    Raises:
        InputError: If the shapes of shift and scale differ, or a number is not finite or not positive.

    Example:
        >>> coordinates = nke.Coordinates(shift=[10.0], scale=[2.0], time_unit=0.5)
        >>> coordinates.to([[14.0]])
        array([[2.]])
        >>> coordinates.drift_back([[1.0]])
        array([[4.]])
    """

    shift: Float64[np.ndarray, " d"]
    scale: Float64[np.ndarray, " d"]
    time_unit: float

    def __init__(self, shift: ArrayLike, scale: ArrayLike, time_unit: float):
        for name, value in (("shift", shift), ("scale", scale)):
            vector = np.array(value, dtype=np.float64)
            vector.setflags(write=False)
            object.__setattr__(self, name, vector)
        object.__setattr__(self, "time_unit", float(time_unit))
        self._check()

    def _check(self):
        if self.shift.ndim != 1 or self.shift.shape != self.scale.shape:
            raise InputError(
                "expected shift and scale with one number per coordinate, "
                f"but got shapes {self.shift.shape} and {self.scale.shape}; pass two vectors of equal length"
            )
        if not np.isfinite(self.shift).all():
            raise InputError(f"expected a finite shift, but got {self.shift}; use 0 for no shift")
        if not (np.isfinite(self.scale).all() and (self.scale > 0).all()):
            raise InputError(f"expected positive finite scales, but got {self.scale}; use 1 for no scaling")
        if not (np.isfinite(self.time_unit) and self.time_unit > 0):
            raise InputError(f"expected a positive finite time_unit, but got {self.time_unit}; use 1 for none")

    @classmethod
    def zscore(cls, data: Trajectories) -> "Coordinates":
        """Scales to mean 0 and (population) standard deviation 1 over the observed rows, and to speeds of order one.

        A constant coordinate is scaled by its own size (by 1 if it is zero), with a warning.

        Args:
            data: The trajectories.

        Returns:
            The coordinates that ``nke.fit`` takes by default.

        Example:
            >>> nke.Coordinates.zscore(nke.Trajectories([2.0, 4.0, 6.0], 0.1)).shift
            array([4.])
        """
        mean, deviation = _moments(data)
        moving = deviation > 0
        size = np.where(mean != 0, np.abs(mean), 1.0)
        scale = np.where(moving, deviation, size)
        _warn_of_constant([name for name, moves in zip(data.names, moving, strict=True) if not moves])
        return cls(mean, scale, _time_unit(data, scale, moving))

    @classmethod
    def raw(cls, data: Trajectories) -> "Coordinates":
        """Keeps the user's own coordinates and scales time only.

        Args:
            data: The trajectories, which give the unit of time.

        Returns:
            Coordinates with shift 0 and scale 1.

        Example:
            >>> nke.Coordinates.raw(nke.Trajectories([2.0, 4.0, 6.0], 0.1)).time_unit
            0.05
        """
        scale = np.ones(data.dimension)
        return cls(np.zeros(data.dimension), scale, _time_unit(data, scale, _moments(data)[1] > 0))

    @property
    def dimension(self) -> int:
        """The number of coordinates d.

        Example:
            >>> nke.Coordinates([0.0, 0.0], [1.0, 2.0], 1.0).dimension
            2
        """
        return len(self.shift)

    def to(self, x: ArrayLike) -> Float64[np.ndarray, "*batch d"]:
        """Converts states from the user's units to z.

        Args:
            x: States, shape (..., d).

        Returns:
            z = (x − shift)/scale, of the same shape.

        Example:
            >>> nke.Coordinates([10.0], [2.0], 0.5).to([14.0])
            array([2.])
        """
        return (_float64(x) - self.shift) / self.scale

    def back(self, z: ArrayLike) -> Float64[np.ndarray, "*batch d"]:
        """Converts states from z to the user's units.

        Args:
            z: Dimensionless states, shape (..., d).

        Returns:
            x = shift + scale z, of the same shape.

        Example:
            >>> nke.Coordinates([10.0], [2.0], 0.5).back([2.0])
            array([14.])
        """
        return _float64(z) * self.scale + self.shift

    def displacement_to(self, dx: ArrayLike) -> Float64[np.ndarray, "*batch d"]:
        """Converts differences of states from the user's units to z.

        Args:
            dx: Displacements, shape (..., d).

        Returns:
            dx/scale, of the same shape.

        Example:
            >>> nke.Coordinates([10.0], [2.0], 0.5).displacement_to([1.0])
            array([0.5])
        """
        return _float64(dx) / self.scale

    def step_to(self, step: ArrayLike) -> Float64[np.ndarray, "*batch"]:
        """Converts time steps from the user's unit to τ.

        Args:
            step: Steps, any shape.

        Returns:
            step/time_unit, of the same shape.

        Example:
            >>> nke.Coordinates([10.0], [2.0], 0.5).step_to([0.1, 0.2])
            array([0.2, 0.4])
        """
        return np.asarray(_float64(step) / self.time_unit)

    def drift_back(self, f: ArrayLike) -> Float64[np.ndarray, "*batch d"]:
        """Converts a drift from z per τ to the user's units per unit of time.

        Args:
            f: Drift in z, shape (..., d).

        Returns:
            f scale/time_unit, of the same shape.

        Example:
            >>> nke.Coordinates([10.0], [2.0], 0.5).drift_back([1.0])
            array([4.])
        """
        return _float64(f) * (self.scale / self.time_unit)

    def diffusion_back(self, a: ArrayLike) -> Float64[np.ndarray, "*batch d d"]:
        """Converts a diffusion tensor from z² per τ to the user's units.

        Args:
            a: Diffusion in z, shape (..., d, d).

        Returns:
            a_ij scale_i scale_j/time_unit, of the same shape.

        Example:
            >>> nke.Coordinates([10.0], [2.0], 0.5).diffusion_back([[1.0]])
            array([[8.]])
        """
        return _float64(a) * self.scale[:, None] * self.scale / self.time_unit

    def rate_back(self, r: ArrayLike) -> Float64[np.ndarray, "*batch"]:
        """Converts a rate from one per τ to one per unit of the user's time.

        Args:
            r: Rates, any shape.

        Returns:
            r/time_unit, of the same shape.

        Example:
            >>> nke.Coordinates([10.0], [2.0], 0.5).rate_back([1.0])
            array([2.])
        """
        return np.asarray(_float64(r) / self.time_unit)

    def log_density_back(self, logp: ArrayLike, axes: Sequence[int] | None = None) -> Float64[np.ndarray, "*batch"]:
        """Converts a log density from z to the user's units, log p(x) = log p(z) − Σ log scale.

        Args:
            logp: Log densities of z, any shape.
            axes: The coordinates that the density is of; all by default.

        Returns:
            Log densities of x, of the same shape.

        Example:
            >>> np.exp(nke.Coordinates([10.0], [2.0], 0.5).log_density_back(np.log([1.0])))
            array([0.5])
        """
        scale = self.scale if axes is None else self.scale[list(axes)]
        return np.asarray(_float64(logp) - np.log(scale).sum())


def _float64(x: ArrayLike) -> Float64[np.ndarray, "..."]:
    return np.asarray(x, dtype=np.float64)


def _moments(data: Trajectories) -> tuple[Float64[np.ndarray, " d"], Float64[np.ndarray, " d"]]:
    """Returns mean and population standard deviation of each coordinate over the observed rows."""
    moments = np.array([_moments_of(column) for column in data.observed_states.T])
    return moments[:, 0], moments[:, 1]


def _moments_of(values: Float64[np.ndarray, " R"]) -> tuple[float, float]:
    """Returns mean and deviation of one coordinate; the deviation of values that differ by rounding only is 0."""
    centred = values - values[0]
    spread = np.abs(centred).max()
    number = np.finfo(np.float64)
    if spread <= max(8 * number.eps * np.abs(values).max(), number.tiny):  # a few roundings
        return float(values[0]), 0.0
    # Sums run over numbers of order one: no cancellation under a large offset, no overflow.
    centred /= spread
    return float(values[0] + spread * centred.mean()), float(spread * centred.std())


def _time_unit(data: Trajectories, scale: Float64[np.ndarray, " d"], moving: Bool[np.ndarray, " d"]) -> float:
    """Returns the median step over the root mean square displacement: in z and τ, a typical speed is about 1."""
    transitions = data.transitions()
    step = float(np.median(transitions.step))
    displacement = (transitions.displacement / scale)[:, moving]
    largest = np.abs(displacement).max(initial=0.0)
    if largest == 0:
        return step
    return step / float(largest * np.sqrt(np.mean((displacement / largest) ** 2)))


def _warn_of_constant(names: list[str]):
    if names:
        warnings.warn(
            f"coordinate {', '.join(map(repr, names))} is constant in the data, so nothing can be learned "
            "along it; remove it from the states",
            UserWarning,
            stacklevel=3,
        )
