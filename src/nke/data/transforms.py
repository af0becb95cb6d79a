"""Transforms of one column: the coordinate u = T(x) in which its law is learned, and the way back with Itô's terms."""

import abc
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Bool, Float64
from numpy.typing import ArrayLike
from scipy.special import expit

from nke.errors import InputError

Column = Float64[np.ndarray, "*batch"] | np.float64


class Transform(abc.ABC):
    """A smooth, increasing function u = T(x) of one column.

    Example:
        >>> nke.transforms.Log().to(1.0).item(), nke.transforms.Log().back(0.0).item()
        (0.0, 1.0)
    """

    kind: ClassVar[str]
    affine: ClassVar[bool] = False  # whether x is u up to a constant, so that Gaussians stay Gaussians

    @property
    def domain(self) -> str:
        """The domain of x in words.

        Example:
            >>> nke.transforms.Log().domain
            'greater than 0'
        """
        return "finite"

    @abc.abstractmethod
    def to(self, x: ArrayLike) -> Column:
        """Computes u = T(x).

        Args:
            x: Values of the column within its domain.
        """

    @abc.abstractmethod
    def back(self, u: ArrayLike) -> Column:
        """Computes x = T⁻¹(u).

        Args:
            u: Values of the transformed column.
        """

    @abc.abstractmethod
    def first(self, u: ArrayLike) -> Column:
        """Computes x'(u), the first derivative of the way back.

        Args:
            u: Values of the transformed column.
        """

    @abc.abstractmethod
    def second(self, u: ArrayLike) -> Column:
        """Computes x''(u), the second derivative of the way back.

        Args:
            u: Values of the transformed column.
        """

    @abc.abstractmethod
    def log_slope(self, x: ArrayLike) -> Column:
        """Computes log|du/dx|, by which log densities of x and u differ.

        Args:
            x: Values of the column.
        """

    @abc.abstractmethod
    def displacement(self, dx: ArrayLike, x: ArrayLike) -> Column:
        """Computes T(x + dx) − T(x), exact also where dx is small.

        Args:
            dx: Differences of the column.
            x: Values from which they start.
        """

    def inside(self, x: ArrayLike) -> Bool[np.ndarray, "*batch"]:
        """Tells which values are in the domain; NaN counts as inside.

        Args:
            x: Values of the column.
        """
        return np.ones(np.shape(x), bool)

    def name(self, name: str) -> str:
        """Names the transformed column.

        Args:
            name: Of the column.
        """
        return name

    def mean_displacement(self, x: ArrayLike, mean: ArrayLike, variance: ArrayLike) -> Column:
        """Computes E[T⁻¹(T(x) + δ)] − x for a Gaussian δ.

        Args:
            x: Values from which it starts.
            mean: Of δ.
            variance: Of δ.

        Returns:
            The mean, by Gauss–Hermite quadrature unless it has a closed form.
        """
        return _expectation(self.back, self.to(x) + _float64(mean), variance) - _float64(x)

    def mean_first(self, x: ArrayLike, mean: ArrayLike, variance: ArrayLike) -> Column:
        """Computes E[x'(T(x) + δ)] for a Gaussian δ.

        Args:
            x: Values from which it starts.
            mean: Of δ.
            variance: Of δ.

        Returns:
            The mean, by Gauss–Hermite quadrature unless it has a closed form.
        """
        return _expectation(self.first, self.to(x) + _float64(mean), variance)

    def configuration(self) -> dict[str, Any]:
        """Gives kind and options as JSON values.

        Example:
            >>> nke.transforms.Logit(0.0, 1.0).configuration()
            {'kind': 'logit', 'lower': 0.0, 'upper': 1.0}
        """
        return {"kind": self.kind, **vars(self)}


@dataclass(frozen=True)
class Plain(Transform):
    """u = x.

    Args:
        sized: Whether x has a size, so that noise may be in proportion to it. A column that is a logarithm already has
            none: its zero depends on the unit.

    Example:
        >>> nke.transforms.Plain().to([2.0]).tolist()
        [2.0]
    """

    sized: bool = True
    kind: ClassVar[str] = "plain"
    affine: ClassVar[bool] = True

    def configuration(self) -> dict[str, Any]:
        """Gives the kind, as ``Transform.configuration``: what a model keeps are the user's own columns."""
        return {"kind": self.kind}

    def to(self, x: ArrayLike) -> Column:
        """Gives x, as ``Transform.to``."""
        return _float64(x)

    def back(self, u: ArrayLike) -> Column:
        """Gives u, as ``Transform.back``."""
        return _float64(u)

    def first(self, u: ArrayLike) -> Column:
        """Gives 1, as ``Transform.first``."""
        return np.ones(np.shape(u))

    def second(self, u: ArrayLike) -> Column:
        """Gives 0, as ``Transform.second``."""
        return np.zeros(np.shape(u))

    def log_slope(self, x: ArrayLike) -> Column:
        """Gives 0, as ``Transform.log_slope``."""
        return np.zeros(np.shape(x))

    def displacement(self, dx: ArrayLike, x: ArrayLike) -> Column:
        """Gives dx, as ``Transform.displacement``."""
        return _float64(dx)

    def mean_displacement(self, x: ArrayLike, mean: ArrayLike, variance: ArrayLike) -> Column:
        """Gives the mean, as ``Transform.mean_displacement``."""
        return _float64(mean)


@dataclass(frozen=True)
class Log(Transform):
    """u = log x, of a column that is positive.

    Example:
        >>> nke.transforms.Log().name("price"), nke.transforms.Log().inside([1.0, 0.0]).tolist()
        ('log price', [True, False])
    """

    kind: ClassVar[str] = "log"

    @property
    def domain(self) -> str:
        """The domain in words, as ``Transform.domain``."""
        return "greater than 0"

    def to(self, x: ArrayLike) -> Column:
        """Computes log x, as ``Transform.to``."""
        return np.log(_float64(x))

    def back(self, u: ArrayLike) -> Column:
        """Computes exp u, as ``Transform.back``."""
        return np.exp(_float64(u))

    def first(self, u: ArrayLike) -> Column:
        """Computes exp u, as ``Transform.first``."""
        return np.exp(_float64(u))

    def second(self, u: ArrayLike) -> Column:
        """Computes exp u, as ``Transform.second``."""
        return np.exp(_float64(u))

    def log_slope(self, x: ArrayLike) -> Column:
        """Computes −log x, as ``Transform.log_slope``."""
        return -np.log(_float64(x))

    def displacement(self, dx: ArrayLike, x: ArrayLike) -> Column:
        """Computes log(1 + dx/x), as ``Transform.displacement``."""
        return np.log1p(_float64(dx) / _float64(x))

    def inside(self, x: ArrayLike) -> Bool[np.ndarray, "*batch"]:
        """Tells which values are positive, as ``Transform.inside``."""
        return np.asarray(~(_float64(x) <= 0))

    def name(self, name: str) -> str:
        """Gives "log x", as ``Transform.name``."""
        return f"log {name}"

    def mean_displacement(self, x: ArrayLike, mean: ArrayLike, variance: ArrayLike) -> Column:
        """Computes the mean of a log-normal variable less x, as ``Transform.mean_displacement``."""
        return _float64(x) * np.expm1(_float64(mean) + _float64(variance) / 2)

    def mean_first(self, x: ArrayLike, mean: ArrayLike, variance: ArrayLike) -> Column:
        """Computes the mean of a log-normal variable, as ``Transform.mean_first``."""
        return _float64(x) * np.exp(_float64(mean) + _float64(variance) / 2)


@dataclass(frozen=True)
class Logit(Transform):
    """u = log((x − lower)/(upper − x)), of a column between two bounds.

    Args:
        lower: The lower bound, which is not reached.
        upper: The upper bound, likewise.

    Raises:
        InputError: If the bounds are not finite, or not in order.

    Example:
        >>> share = nke.transforms.Logit(0.0, 1.0)
        >>> share.to(0.5).item(), share.back(100.0).item() < 1
        (0.0, True)
    """

    kind: ClassVar[str] = "logit"
    lower: float
    upper: float

    def __post_init__(self):
        if not (np.isfinite(self.lower) and np.isfinite(self.upper) and self.lower < self.upper):
            raise InputError(f"expected two finite bounds, lower < upper, but got {self.lower} and {self.upper}")

    @property
    def domain(self) -> str:
        """The domain in words, as ``Transform.domain``."""
        return f"between {self.lower:g} and {self.upper:g}"

    def to(self, x: ArrayLike) -> Column:
        """Computes the logit, as ``Transform.to``."""
        x = _float64(x)
        return np.log(x - self.lower) - np.log(self.upper - x)

    def back(self, u: ArrayLike) -> Column:
        """Computes lower + (upper − lower)/(1 + exp(−u)), as ``Transform.back``."""
        x = self.lower + (self.upper - self.lower) * expit(_float64(u))
        return np.clip(x, np.nextafter(self.lower, self.upper), np.nextafter(self.upper, self.lower))

    def first(self, u: ArrayLike) -> Column:
        """Computes (upper − lower) p (1 − p) with p = 1/(1 + exp(−u)), as ``Transform.first``."""
        u = _float64(u)
        return (self.upper - self.lower) * expit(u) * expit(-u)

    def second(self, u: ArrayLike) -> Column:
        """Computes x'(u) (1 − 2p), as ``Transform.second``."""
        return -self.first(u) * np.tanh(_float64(u) / 2)

    def log_slope(self, x: ArrayLike) -> Column:
        """Computes log((upper − lower)/((x − lower)(upper − x))), as ``Transform.log_slope``."""
        x = _float64(x)
        return math.log(self.upper - self.lower) - np.log(x - self.lower) - np.log(self.upper - x)

    def displacement(self, dx: ArrayLike, x: ArrayLike) -> Column:
        """Computes the difference of the logits, as ``Transform.displacement``."""
        dx, x = _float64(dx), _float64(x)
        return np.log1p(dx / (x - self.lower)) - np.log1p(-dx / (self.upper - x))

    def inside(self, x: ArrayLike) -> Bool[np.ndarray, "*batch"]:
        """Tells which values are between the bounds, as ``Transform.inside``."""
        x = _float64(x)
        return np.asarray(~((x <= self.lower) | (x >= self.upper)))

    def name(self, name: str) -> str:
        """Gives "logit x", as ``Transform.name``."""
        return f"logit {name}"


@dataclass(frozen=True)
class Periodic(Transform):
    """An angle: u is x without its whole turns, and the law is the same after each turn.

    Args:
        period: A whole turn.
        start: Where the interval begins into which the angle is wrapped; None: it counts whole turns.

    Raises:
        InputError: If the period is not positive and finite, or the start not finite.

    Example:
        >>> turning, wrapped = nke.transforms.Periodic(period=360.0), nke.transforms.Periodic(360.0, start=0.0)
        >>> turning.back(370.0).item(), wrapped.back(370.0).item()
        (370.0, 10.0)
    """

    kind: ClassVar[str] = "periodic"
    affine: ClassVar[bool] = True
    period: float = 2 * math.pi
    start: float | None = None

    def __post_init__(self):
        if not (np.isfinite(self.period) and self.period > 0):
            raise InputError(f"expected a positive finite period, but got {self.period}; 2π is the default")
        if self.start is not None and not np.isfinite(self.start):
            raise InputError(f"expected a finite start of the interval, or None, but got {self.start}")

    def to(self, x: ArrayLike) -> Column:
        """Takes whole turns away, as ``Transform.to``: the rest is around 0, or in the interval of wrapped angles."""
        return _wrapped(x, self.period, -self.period / 2 if self.start is None else self.start)

    def back(self, u: ArrayLike) -> Column:
        """Wraps the angle where the column is wrapped, as ``Transform.back``."""
        return _float64(u) if self.start is None else _wrapped(u, self.period, self.start)

    def first(self, u: ArrayLike) -> Column:
        """Gives 1, as ``Transform.first``."""
        return np.ones(np.shape(u))

    def second(self, u: ArrayLike) -> Column:
        """Gives 0, as ``Transform.second``."""
        return np.zeros(np.shape(u))

    def log_slope(self, x: ArrayLike) -> Column:
        """Gives 0, as ``Transform.log_slope``."""
        return np.zeros(np.shape(x))

    def displacement(self, dx: ArrayLike, x: ArrayLike) -> Column:
        """Gives dx, to the nearest turn where the column is wrapped, as ``Transform.displacement``."""
        return _float64(dx) if self.start is None else _wrapped(dx, self.period, -self.period / 2)

    def mean_displacement(self, x: ArrayLike, mean: ArrayLike, variance: ArrayLike) -> Column:
        """Gives the mean, which is not wrapped, as ``Transform.mean_displacement``."""
        return _float64(mean)


TRANSFORMS: Mapping[str, Callable[..., Transform]] = {kind.kind: kind for kind in (Plain, Log, Logit, Periodic)}


def from_configuration(configuration: Mapping[str, Any]) -> Transform:
    """Builds the transform of a configuration.

    Args:
        configuration: What ``Transform.configuration`` gave.

    Returns:
        The transform.

    Raises:
        InputError: If its kind is not known.

    Example:
        >>> nke.transforms.from_configuration({"kind": "log"})
        Log()
    """
    options = dict(configuration)
    kind = options.pop("kind")
    if kind not in TRANSFORMS:
        raise InputError(f"expected a transform of a column, one of {', '.join(TRANSFORMS)}, but got {kind!r}")
    return TRANSFORMS[kind](**options)


def _float64(x: ArrayLike) -> Column:
    return np.asarray(x, dtype=np.float64)


def _wrapped(x: ArrayLike, period: float, start: float) -> Column:
    x = _float64(x)
    return x - period * np.floor((x - start) / period)


def _expectation(function: Callable[[Column], Column], mean: Column, variance: ArrayLike, nodes: int = 20) -> Column:
    """E[function(u)] for u from N(mean, variance), by Gauss–Hermite quadrature."""
    points, weights = np.polynomial.hermite_e.hermegauss(nodes)
    deviation = np.sqrt(np.maximum(_float64(variance), 0.0))
    return function(np.expand_dims(mean, -1) + deviation[..., None] * points) @ (weights / weights.sum())
