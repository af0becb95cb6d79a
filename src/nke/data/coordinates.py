"""The dimensionless coordinates in which training runs, and the way back to the user's units."""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float64
from numpy.typing import ArrayLike

from nke.data.trajectories import Trajectories
from nke.data.transforms import Periodic, Plain, Transform
from nke.errors import InputError


@dataclass(frozen=True, eq=False)
class Coordinates:
    """The dimensionless coordinates z = (T(x) − shift)/scale and τ = t/time_unit, in which a law is one of order one.

    T transforms each column on its own: plain (u = x), logarithm, logit between two bounds, or an angle without its
    whole turns. Every method takes anything that NumPy can read and computes in float64. Where a column is curved
    (logarithm or logit) the way back depends on the state, and drift and diffusion go back by Itô's formula.

    Args:
        shift: The origin of z, one number for each coordinate.
        scale: The unit of z, one positive number for each coordinate.
        time_unit: The unit of τ, positive.
        transforms: One of ``nke.transforms`` for each coordinate; None: all plain.

    Raises:
        InputError: If the shapes of shift and scale differ, a number is not finite or not positive, or there is not one
            transform for each coordinate.

    Example:
        >>> coordinates = nke.Coordinates(shift=[10.0], scale=[2.0], time_unit=0.5)
        >>> coordinates.to([[14.0]])
        array([[2.]])
        >>> coordinates.drift_back([[1.0]])
        array([[4.]])
        >>> growth = nke.Coordinates([0.0], [1.0], 1.0, [nke.transforms.Log()])
        >>> growth.drift_back([[0.0]], x=[[3.0]], a=[[[2.0]]])  # Brownian motion of log x: f = x a/2
        array([[3.]])
    """

    shift: Float64[np.ndarray, " d"]
    scale: Float64[np.ndarray, " d"]
    time_unit: float
    transforms: tuple[Transform, ...]

    def __init__(
        self, shift: ArrayLike, scale: ArrayLike, time_unit: float, transforms: Sequence[Transform] | None = None
    ):
        for name, value in (("shift", shift), ("scale", scale)):
            vector = np.array(value, dtype=np.float64)
            vector.setflags(write=False)
            object.__setattr__(self, name, vector)
        object.__setattr__(self, "time_unit", float(time_unit))
        chosen = (Plain(),) * self.shift.size if transforms is None else tuple(transforms)
        object.__setattr__(self, "transforms", chosen)
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
        if len(self.transforms) != len(self.shift) or not all(isinstance(t, Transform) for t in self.transforms):
            raise InputError(
                f"expected one of nke.transforms for each of {len(self.shift)} coordinates, but got {self.transforms}; "
                "use nke.transforms.Plain() for none"
            )

    @classmethod
    def zscore(cls, data: Trajectories, transforms: Sequence[Transform] | None = None) -> "Coordinates":
        """Scales to mean 0 and (population) standard deviation 1 over the observed rows, and to speeds of order one.

        A constant coordinate is scaled by its own size (by 1 if it is zero), with a warning. An angle keeps its zero
        and is scaled to radians.

        Args:
            data: The trajectories.
            transforms: One for each coordinate, after which it is scaled; None: all plain.

        Returns:
            The coordinates that ``nke.fit`` takes by default.

        Raises:
            InputError: If a value is not in the domain of its transform.

        Example:
            >>> nke.Coordinates.zscore(nke.Trajectories([2.0, 4.0, 6.0], 0.1)).shift
            array([4.])
        """
        chosen = (Plain(),) * data.dimension if transforms is None else tuple(transforms)
        data = data if transforms is None else data.transformed(chosen)
        mean, deviation = _moments(data)
        for i, transform in enumerate(chosen):
            if isinstance(transform, Periodic):
                mean[i], deviation[i] = 0.0, transform.period / (2 * math.pi)
        moving = deviation > 0
        size = np.where(mean != 0, np.abs(mean), 1.0)
        scale = np.where(moving, deviation, size)
        _warn_of_constant([name for name, moves in zip(data.names, moving, strict=True) if not moves])
        return cls(mean, scale, _time_unit(data, scale, moving), transforms)

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

    @property
    def is_affine(self) -> bool:
        """Whether no column is curved: displacements and Gaussians are the same at every state, up to their units.

        Example:
            >>> nke.Coordinates([0.0], [1.0], 1.0, [nke.transforms.Log()]).is_affine
            False
        """
        return all(transform.affine for transform in self.transforms)

    @property
    def size(self) -> Float64[np.ndarray, " d"]:
        """A typical size of motion in the user's units: the standard deviation of x where z is standard normal.

        Example:
            >>> nke.Coordinates([10.0], [2.0], 0.5).size
            array([2.])
        """
        nodes, weights = np.polynomial.hermite_e.hermegauss(20)
        u = self.shift[:, None] + self.scale[:, None] * nodes
        x = np.stack([t.back(row) if not t.affine else row for t, row in zip(self.transforms, u, strict=True)])
        mean = np.average(x, axis=1, weights=weights)
        found = np.sqrt(np.average((x - mean[:, None]) ** 2, axis=1, weights=weights))
        return np.where([transform.affine for transform in self.transforms], self.scale, found)

    def of_transformed(self) -> "Coordinates":
        """Gives the coordinates of data whose columns were transformed already, as ``Trajectories.transformed`` does.

        Returns:
            The same shift, scale and time; of the transforms only that angles have a period and logarithms no size.

        Example:
            >>> logarithmic = nke.Coordinates([0.0], [2.0], 1.0, [nke.transforms.Log()])
            >>> logarithmic.of_transformed().to([4.0])
            array([2.])
        """
        left = [
            Periodic(t.period) if isinstance(t, Periodic) else Plain(sized=isinstance(t, Plain))
            for t in self.transforms
        ]
        return Coordinates(self.shift, self.scale, self.time_unit, left)

    def require_inside(self, x: ArrayLike, names: Sequence[str] | None = None) -> None:
        """Refuses states out of the domain of a transform.

        Args:
            x: States, shape (..., d).
            names: Of the coordinates, for the message.

        Raises:
            InputError: If a state is out of the domain; the message names coordinate and place.

        Example:
            >>> nke.Coordinates([0.0], [1.0], 1.0, [nke.transforms.Log()]).require_inside([[-1.0]], ["price"])
            Traceback (most recent call last):
            nke.errors.InputError: expected 'price' greater than 0, since its law was learned there, but got -1 ...
        """
        states = _float64(x)
        for i, transform in enumerate(self.transforms):
            if transform.affine:
                continue
            inside = transform.inside(states[..., i])
            if not inside.all():
                place = np.unravel_index(int(np.argmin(inside)), inside.shape)
                where = f" at state {', '.join(map(str, map(int, place)))}" if place else ""
                raise InputError(
                    f"expected {repr(names[i]) if names else f'coordinate {i}'} {transform.domain}, since its law was "
                    f"learned there, but got {states[(*place, i)]:g}{where}; leave such states out"
                )

    def to(self, x: ArrayLike) -> Float64[np.ndarray, "*batch d"]:
        """Converts states from the user's units to z.

        Args:
            x: States, shape (..., d).

        Returns:
            z = (T(x) − shift)/scale, of the same shape.

        Raises:
            InputError: If a state is out of the domain of a transform.

        Example:
            >>> nke.Coordinates([10.0], [2.0], 0.5).to([14.0])
            array([2.])
        """
        self.require_inside(x)
        return (self._each("to", x) - self.shift) / self.scale

    def back(self, z: ArrayLike) -> Float64[np.ndarray, "*batch d"]:
        """Converts states from z to the user's units.

        Args:
            z: Dimensionless states, shape (..., d).

        Returns:
            x = T⁻¹(shift + scale z), of the same shape; angles that count turns lack those that ``to`` took.

        Example:
            >>> nke.Coordinates([10.0], [2.0], 0.5).back([2.0])
            array([14.])
        """
        return self._each("back", _float64(z) * self.scale + self.shift)

    def turns(self, x: ArrayLike) -> Float64[np.ndarray, "*batch d"]:
        """Computes the whole turns that ``to`` takes from angles that are not wrapped.

        Args:
            x: States, shape (..., d).

        Returns:
            Multiples of the period, and zeros for all other columns.

        Example:
            >>> nke.Coordinates([0.0], [1.0], 1.0, [nke.transforms.Periodic(360.0)]).turns([725.0])
            array([720.])
        """
        x = _float64(x)
        turning = [isinstance(t, Periodic) and t.start is None for t in self.transforms]
        return np.where(turning, x - self._each("to", np.where(turning, x, 1.0)), 0.0) if any(turning) else 0.0 * x

    def displacement_to(self, dx: ArrayLike, x: ArrayLike | None = None) -> Float64[np.ndarray, "*batch d"]:
        """Converts differences of states from the user's units to z.

        Args:
            dx: Displacements, shape (..., d).
            x: The states from which they start; needed only where a column is curved.

        Returns:
            (T(x + dx) − T(x))/scale, of the same shape; to the nearest turn for angles that are wrapped.

        Raises:
            InputError: If a column is curved and there are no states.

        Example:
            >>> nke.Coordinates([10.0], [2.0], 0.5).displacement_to([1.0])
            array([0.5])
        """
        dx = _float64(dx)
        if self._all_plain:
            return dx / self.scale
        start = np.broadcast_to(self._states(x, dx), dx.shape)
        columns = zip(self.transforms, np.moveaxis(dx, -1, 0), np.moveaxis(start, -1, 0), strict=True)
        return np.stack([t.displacement(moved, here) for t, moved, here in columns], axis=-1) / self.scale

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

    def drift_back(
        self, f: ArrayLike, x: ArrayLike | None = None, a: ArrayLike | None = None
    ) -> Float64[np.ndarray, "*batch d"]:
        """Converts a drift from z per τ to the user's units per unit of time, by Itô's formula.

        Args:
            f: Drift in z, shape (..., d).
            x: The states, needed only where a column is curved.
            a: Diffusion in z, shape (..., d, d), needed only where a column is curved.

        Returns:
            x'(u) f + ½ x''(u) a_ii in the units of x and time, of the same shape.

        Raises:
            InputError: If a column is curved and states or diffusion are missing.

        Example:
            >>> nke.Coordinates([10.0], [2.0], 0.5).drift_back([1.0])
            array([4.])
        """
        f = _float64(f) * (self.scale / self.time_unit)
        if self.is_affine:
            return f
        u = self._each("to", self._states(x, f))
        if a is None:
            raise InputError("expected the diffusion, on which the drift of a transformed column depends; pass a=…")
        spread = np.diagonal(_float64(a), axis1=-2, axis2=-1) * self.scale**2 / self.time_unit
        return self._each("first", u) * f + self._each("second", u) * spread / 2

    def diffusion_back(self, a: ArrayLike, x: ArrayLike | None = None) -> Float64[np.ndarray, "*batch d d"]:
        """Converts a diffusion tensor from z² per τ to the user's units.

        Args:
            a: Diffusion in z, shape (..., d, d).
            x: The states, needed only where a column is curved.

        Returns:
            x'(u_i) a_ij x'(u_j) in the units of x and time, of the same shape.

        Raises:
            InputError: If a column is curved and there are no states.

        Example:
            >>> nke.Coordinates([10.0], [2.0], 0.5).diffusion_back([[1.0]])
            array([[8.]])
        """
        a = _float64(a) * self.scale[:, None] * self.scale / self.time_unit
        if self.is_affine:
            return a
        slope = self._each("first", self._each("to", self._states(x, a[..., 0])))
        return slope[..., :, None] * a * slope[..., None, :]

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

    def log_density_back(
        self, logp: ArrayLike, axes: Sequence[int] | None = None, x: ArrayLike | None = None
    ) -> Float64[np.ndarray, "*batch"]:
        """Converts a log density from z to the user's units, log p(x) = log p(z) + Σ log|du/dx| − Σ log scale.

        Args:
            logp: Log densities of z, any shape.
            axes: The coordinates that the density is of; all by default.
            x: The states at which it is taken, shape (..., d); needed only where a column is curved.

        Returns:
            Log densities of x, of the same shape.

        Raises:
            InputError: If a column is curved and there are no states.

        Example:
            >>> np.exp(nke.Coordinates([10.0], [2.0], 0.5).log_density_back(np.log([1.0])))
            array([0.5])
        """
        chosen = list(range(self.dimension) if axes is None else axes)
        logp = np.asarray(_float64(logp) - np.log(self.scale[chosen]).sum())
        if self.is_affine:
            return logp
        return logp + self._each("log_slope", self._states(x, logp))[..., chosen].sum(axis=-1)

    @property
    def _all_plain(self) -> bool:
        return all(isinstance(transform, Plain) for transform in self.transforms)

    def _each(self, method: str, x: ArrayLike) -> Float64[np.ndarray, "*batch d"]:
        """A method of the transforms, column by column."""
        x = _float64(x)
        if self._all_plain and method in ("to", "back"):
            return x
        return np.stack([getattr(t, method)(x[..., i]) for i, t in enumerate(self.transforms)], axis=-1)

    def _states(self, x: ArrayLike | None, instead: Float64[np.ndarray, "..."]) -> Float64[np.ndarray, "..."]:
        """The states, which columns that are not curved can do without."""
        if x is None and not self.is_affine:
            raise InputError("expected the states, on which the way back from transformed columns depends; pass x=…")
        return instead if x is None else _float64(x)


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
