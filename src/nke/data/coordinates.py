"""The dimensionless coordinates in which training runs, and the way back to the user's units."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float64, Shaped

from nke.arrays import Array
from nke.data.trajectories import Trajectories
from nke.errors import InputError

# A coordinate whose values differ by no more than a few roundings of their size is constant.
ROUNDING = 8 * np.finfo(np.float64).eps


@dataclass(frozen=True, eq=False)
class Coordinates:
    """z = (x − shift)/scale and τ = t/time_unit: the law dX = f dt + … becomes one of order one.

    Every method takes NumPy or JAX arrays and computes in float64 NumPy.

    >>> coordinates = Coordinates(shift=np.array([10.0]), scale=np.array([2.0]), time_unit=0.5)
    >>> coordinates.to([[14.0]]).item(), coordinates.drift_back([[1.0]]).item()
    (2.0, 4.0)
    """

    shift: Float64[np.ndarray, " d"]
    scale: Float64[np.ndarray, " d"]
    time_unit: float

    def __post_init__(self):
        for name in ("shift", "scale"):
            vector = np.array(getattr(self, name), dtype=np.float64)
            vector.setflags(write=False)
            object.__setattr__(self, name, vector)
        object.__setattr__(self, "time_unit", float(self.time_unit))
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
        """Mean 0 and (population) standard deviation 1 over the observed rows.

        A constant coordinate is scaled by its own size (by 1 if it is zero), with a warning.
        """
        mean, deviation = _moments(data)
        moving = deviation > 0
        size = np.where(mean != 0, np.abs(mean), 1.0)
        scale = np.where(moving, deviation, size)
        _warn_of_constant([name for name, moves in zip(data.names, moving, strict=True) if not moves])
        return cls(mean, scale, _time_unit(data, scale, moving))

    @classmethod
    def raw(cls, data: Trajectories) -> "Coordinates":
        """The user's own coordinates; only time is scaled."""
        scale = np.ones(data.dimension)
        return cls(np.zeros(data.dimension), scale, _time_unit(data, scale, _moments(data)[1] > 0))

    @property
    def dimension(self) -> int:
        return len(self.shift)

    def to(self, x: Shaped[Array, "*batch d"] | list) -> Float64[np.ndarray, "*batch d"]:
        return (_float64(x) - self.shift) / self.scale

    def back(self, z: Shaped[Array, "*batch d"] | list) -> Float64[np.ndarray, "*batch d"]:
        return _float64(z) * self.scale + self.shift

    def displacement_to(self, dx: Shaped[Array, "*batch d"] | list) -> Float64[np.ndarray, "*batch d"]:
        return _float64(dx) / self.scale

    def step_to(self, step: Shaped[Array, "*batch"] | list | float) -> Float64[np.ndarray, "*batch"]:
        return np.asarray(_float64(step) / self.time_unit)

    def drift_back(self, f: Shaped[Array, "*batch d"] | list) -> Float64[np.ndarray, "*batch d"]:
        return _float64(f) * (self.scale / self.time_unit)

    def diffusion_back(self, a: Shaped[Array, "*batch d d"] | list) -> Float64[np.ndarray, "*batch d d"]:
        return _float64(a) * self.scale[:, None] * self.scale / self.time_unit

    def rate_back(self, r: Shaped[Array, "*batch"] | list | float) -> Float64[np.ndarray, "*batch"]:
        return np.asarray(_float64(r) / self.time_unit)

    def log_density_back(
        self, logp: Shaped[Array, "*batch"] | list | float, axes: Sequence[int] | None = None
    ) -> Float64[np.ndarray, "*batch"]:
        """log p_X(x) = log p_Z(z) − Σ log scale; a density of some of the coordinates where ``axes`` names them."""
        scale = self.scale if axes is None else self.scale[list(axes)]
        return np.asarray(_float64(logp) - np.log(scale).sum())


def _float64(x: Shaped[Array, "..."] | list | float) -> Float64[np.ndarray, "..."]:
    return np.asarray(x, dtype=np.float64)


def _moments(data: Trajectories) -> tuple[Float64[np.ndarray, " d"], Float64[np.ndarray, " d"]]:
    """Mean and population standard deviation of each coordinate over the observed rows."""
    moments = np.array([_moments_of(column) for column in data.observed_states.T])
    return moments[:, 0], moments[:, 1]


def _moments_of(values: Float64[np.ndarray, " R"]) -> tuple[float, float]:
    """Mean and deviation of one coordinate; the deviation of values that differ by rounding only is 0."""
    centred = values - values[0]
    spread = np.abs(centred).max()
    if spread <= max(ROUNDING * np.abs(values).max(), np.finfo(np.float64).tiny):
        return float(values[0]), 0.0
    # Sums run over numbers of order one: no cancellation under a large offset, no overflow.
    centred /= spread
    return float(values[0] + spread * centred.mean()), float(spread * centred.std())


def _time_unit(data: Trajectories, scale: Float64[np.ndarray, " d"], moving: Bool[np.ndarray, " d"]) -> float:
    """Median step over the root mean square displacement: in z and τ, a typical speed is about 1."""
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
