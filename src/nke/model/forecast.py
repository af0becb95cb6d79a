"""The density of the state at later times: mixtures, moments, quantiles, probabilities, scores."""

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike
from scipy.special import ndtr

from nke.arrays import as_numbers, compiled
from nke.data import Coordinates, Trajectories
from nke.data.transforms import Periodic, Transform
from nke.errors import DivergenceError, InputError
from nke.mixtures import GaussianMixture, reduce
from nke.mixtures.gathering import gathered
from nke.model.pushforward import law_back, law_to, unwrapped_back, unwrapped_to
from nke.operators import Evolution, Generator
from nke.progress import ProgressOption, progress_bar

if TYPE_CHECKING:
    from nke.model.model import Model

LEFT = 0.05  # probability outside the region of the data above which a forecast warns
BISECTIONS = 60


@dataclass(frozen=True)
class Forecast:
    """The law of the state at some times after a start, in the user's units.

    With a start that is a batch of mixtures there is a batch axis behind that of the times.

    Attributes:
        times: Times since the start, shape (T,).
        laws: Law at each time in dimensionless coordinates, with the times as its first axis.
        coordinates: The way from these to the user's units.
        names: Names of the coordinates of the state.
        units: Their units.
        unit_of_time: The unit of time.
        outside: Probability at each time of a state outside the region of the data that the model was trained on,
            shape (T, ...); None where the model does not know that region.

    Example:
        >>> forecast = model.forecast([1.0], times=[0.5, 1.0], components=4)
        >>> forecast.mean.shape, forecast.covariance.shape, len(forecast.mixtures)
        ((2, 1), (2, 1, 1), 2)
    """

    times: Float[np.ndarray, " t"]
    laws: GaussianMixture
    coordinates: Coordinates
    names: tuple[str, ...]
    units: tuple[str, ...]
    unit_of_time: str = ""
    outside: Float[np.ndarray, "*law"] | None = None

    @property
    def dimension(self) -> int:
        """Number of coordinates of the state.

        Example:
            >>> model.forecast([1.0], times=[0.5]).dimension
            1
        """
        return self.laws.dimension

    @property
    def mixtures(self) -> tuple[GaussianMixture, ...]:
        """The law at each time.

        Where a column was transformed, each Gaussian is the one with the mean and covariance of the component in the
        user's units; ``log_prob``, ``density``, ``quantile`` and ``probability`` are those of the law itself. Angles
        are not wrapped.

        Example:
            >>> model.forecast([1.0], times=[0.5], components=4).mixtures[0].mean.shape
            (1,)
        """
        law = law_back(self.laws, self.coordinates)
        return tuple(GaussianMixture(*parts) for parts in zip(law.weights, law.means, law.covariances, strict=True))

    @property
    def mean(self) -> Float[np.ndarray, "*law d"]:
        """Mean at each time: in closed form also where a column is a logarithm.

        Example:
            >>> model.forecast([1.0], times=[0.5, 1.0]).mean.shape
            (2, 1)
        """
        return np.asarray(law_back(self.laws, self.coordinates).mean)

    @property
    def covariance(self) -> Float[np.ndarray, "*law d d"]:
        """Covariance at each time.

        Example:
            >>> model.forecast([1.0], times=[0.5, 1.0]).covariance.shape
            (2, 1, 1)
        """
        return np.asarray(law_back(self.laws, self.coordinates).covariance)

    def quantile(self, q: ArrayLike) -> Float[np.ndarray, "..."]:
        """Quantiles of each coordinate at each time.

        Args:
            q: A probability between 0 and 1, or several.

        Returns:
            Quantiles (T, ..., d); with several probabilities these are the first axis.

        Raises:
            InputError: If a probability is not between 0 and 1.

        Example:
            >>> forecast = model.forecast([1.0], times=[0.5, 1.0], components=4)
            >>> low, high = forecast.quantile([0.05, 0.95])
            >>> bool((low < high).all()), low.shape
            (True, (2, 1))
        """
        q = np.asarray(as_numbers(q, "q"))
        if not ((q > 0) & (q < 1)).all():
            raise InputError(f"expected probabilities between 0 and 1, but got {q}")
        weights, means, deviations = self._marginals()
        low, high = (
            np.broadcast_to(end, (*q.shape, *end.shape)).copy()
            for end in ((means - 40 * deviations).min(-1), (means + 40 * deviations).max(-1))
        )
        asked = q.reshape(*q.shape, *[1] * (low.ndim - q.ndim))
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            below = _cumulative(middle, weights, means, deviations) < asked
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return unwrapped_back(self.coordinates, (low + high) / 2)

    def density(self, x: ArrayLike, coordinate: int | str = 0) -> Float[np.ndarray, "*law n"]:
        """Marginal density of one coordinate at each time.

        Args:
            x: Values of the coordinate, shape (n,).
            coordinate: Its number or name.

        Returns:
            Densities per unit of the coordinate (T, ..., n); zero out of the domain of a transformed column.

        Raises:
            InputError: If there is no such coordinate, or the law is a point there.

        Example:
            >>> model.forecast([1.0], times=[0.5], components=4).density(np.linspace(-1, 2, 7)).shape
            (1, 7)
        """
        i, x = self._number(coordinate), np.asarray(as_numbers(x, "x")).ravel()
        transform = self.coordinates.transforms[i]
        inside = transform.inside(x)
        values = np.where(inside, x, x[inside][0] if inside.any() else 1.0)
        z = (transform.to(values) if not transform.affine else values) - self.coordinates.shift[i]
        law = self.laws.marginal(i)
        points = (z / self.coordinates.scale[i]).reshape(len(x), *[1] * (law.weights.ndim - 1), 1)
        found = np.asarray(law.log_prob(points)) + np.reshape(
            transform.log_slope(values) - np.log(self.coordinates.scale[i]), (len(x), *[1] * (law.weights.ndim - 1))
        )
        kept = inside.reshape(len(x), *[1] * (found.ndim - 1))
        return np.moveaxis(np.where(kept, np.exp(found), 0.0), 0, -1)

    def log_prob(self, x: ArrayLike) -> Float[np.ndarray, "*rest"]:
        """Log density of a later observation at each time: the log score of the forecast.

        Args:
            x: A state for each time (T, ..., d), with any axes before.

        Returns:
            Log densities in the user's units; NaN where a state is NaN. An angle that is wrapped is taken at the turn
            nearest to the mean of the forecast.

        Raises:
            InputError: If the shape does not fit, or the law is a point, as it is at time 0 after a known state.

        Example:
            >>> model.forecast([1.0], times=[0.5, 1.0], components=4).log_prob([[0.6], [0.4]]).shape
            (2,)
        """
        x = np.asarray(as_numbers(x, "x"))
        shape = (*self.laws.weights.shape[:-1], self.dimension)
        if x.shape[-len(shape) :] != shape:
            raise InputError(
                f"expected a state for each time, shape (..., {', '.join(map(str, shape))}), got {x.shape}"
            )
        self.coordinates.require_inside(x, self.names)
        known = np.asarray(np.isfinite(x).all(axis=-1))
        middle = self.coordinates.back(np.zeros(self.dimension))
        x = np.where(known[..., None], x, middle)
        z = self._nearest_turn(unwrapped_to(self.coordinates, x))
        found = self.coordinates.log_density_back(np.asarray(self.laws.log_prob(z)), None, x)
        return np.where(known, found, np.nan)

    def probability(self, lower: ArrayLike | None = None, upper: ArrayLike | None = None) -> Float[np.ndarray, "*law"]:
        """Probability of a box at each time.

        Args:
            lower: Lowest value of each coordinate (d,); −∞ or None where there is none.
            upper: Highest value of each coordinate (d,); ∞ or None where there is none.

        Returns:
            Probabilities (T, ...). A box that bounds one coordinate costs no more than a quantile; one that bounds
            several is integrated component by component.

        Raises:
            InputError: If the bounds do not have a number for each coordinate.

        Example:
            >>> forecast = model.forecast([1.0], times=[0.5], components=4)
            >>> bool(forecast.probability(lower=[-9.0], upper=[9.0]) > 0.999)
            True
        """
        low, high = self._bound(lower, -np.inf), self._bound(upper, np.inf)
        bounded = np.flatnonzero(np.isfinite(low) | np.isfinite(high))
        if len(bounded) == 0:
            return np.ones(self.laws.weights.shape[:-1])
        if len(bounded) == 1:
            i = int(bounded[0])
            weights, means, deviations = (part[..., i, :] for part in self._marginals())
            below = [_cumulative(np.asarray(end[i]), weights, means, deviations) for end in (low, high)]
            return np.clip(below[1] - below[0], 0.0, 1.0)
        law = self.laws.marginal(*map(int, bounded))
        inside = np.zeros(law.weights.shape)
        for place in np.argwhere(law.weights > 0):
            k = tuple(place)
            inside[k] = _box(law.means[k], law.covariances[k], low[bounded], high[bounded])
        return np.clip((law.weights * inside).sum(axis=-1), 0.0, 1.0)

    def exceedance(self, level: float, direction: int | str | ArrayLike = 0) -> Float[np.ndarray, "*law"]:
        """Probability at each time that a coordinate, or a combination of them, is above a level.

        Args:
            level: The level.
            direction: Number or name of a coordinate, or a vector n (d,): the half-space n·x > level.

        Returns:
            Probabilities (T, ...).

        Raises:
            InputError: If the direction is a vector and a column was transformed, so that the half-space is none there.

        Example:
            >>> forecast = model.forecast([1.0], times=[0.5], components=4)
            >>> bool(forecast.exceedance(0.2) < forecast.exceedance(0.0, direction=[1.0]))
            True
        """
        if isinstance(direction, int | str):
            bound = np.full(self.dimension, -np.inf)
            bound[self._number(direction)] = level
            return self.probability(lower=bound)
        n = np.asarray(as_numbers(direction, "direction"))
        if n.shape != (self.dimension,):
            raise InputError(f"expected a direction of {self.dimension} numbers, but got shape {n.shape}")
        if not self.coordinates.is_affine:
            raise InputError("expected a single coordinate, since a column was transformed; pass its name")
        law = law_back(self.laws, self.coordinates)
        means, variances = law.means @ n, np.einsum("...ij,i,j->...", law.covariances, n, n)
        return 1 - _cumulative(np.asarray(float(level)), law.weights, means, np.sqrt(np.maximum(variances, 0)))

    def _nearest_turn(self, z: Float[np.ndarray, "*rest d"]) -> Float[np.ndarray, "*rest d"]:
        """States in z whose wrapped angles are taken to the turn nearest to the mean."""
        turn = np.array([_turn(t) for t in self.coordinates.transforms]) / self.coordinates.scale
        if not np.isfinite(turn).any():
            return z
        finite = np.where(np.isfinite(turn), turn, 1.0)
        return np.where(np.isfinite(turn), z - finite * np.round((z - np.asarray(self.laws.mean)) / finite), z)

    def _marginals(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Weights, means and deviations (..., d, K) of each coordinate in z."""
        law = self.laws
        deviations = np.sqrt(np.maximum(np.diagonal(law.covariances, axis1=-2, axis2=-1), 0.0))
        means = np.swapaxes(law.means, -1, -2)
        return np.broadcast_to(law.weights[..., None, :], means.shape), means, np.swapaxes(deviations, -1, -2)

    def _bound(self, given: ArrayLike | None, none: float) -> Float[np.ndarray, " d"]:
        """Ends of a box in z."""
        if given is None:
            return np.full(self.dimension, none)
        bound = np.asarray(as_numbers(given, "bounds"))
        if bound.shape != (self.dimension,) or np.isnan(bound).any():
            raise InputError(f"expected {self.dimension} bounds, one for each of {', '.join(self.names)}; got {given}")
        ends = zip(bound, self.coordinates.transforms, self.coordinates.shift, self.coordinates.scale, strict=True)
        return np.array([_end(x, transform, m, c) for x, transform, m, c in ends])

    def _number(self, coordinate: int | str) -> int:
        if isinstance(coordinate, str):
            if coordinate not in self.names:
                raise InputError(f"expected one of {', '.join(self.names)}, but got {coordinate!r}")
            return self.names.index(coordinate)
        if not -self.dimension <= coordinate < self.dimension:
            raise InputError(f"expected a coordinate below {self.dimension}, but got {coordinate}")
        return int(coordinate) % self.dimension


def forecast(
    model: "Model",
    initial: ArrayLike | GaussianMixture | Trajectories,
    times: ArrayLike,
    components: int = 64,
    progress: ProgressOption = False,
) -> Forecast:
    """Carries the law of the initial state forward; see ``Model.forecast``."""
    times = _times(times)
    start = _initial(model, initial, components)
    laws = _evolved(model, start, times, Evolution(components), progress)
    outside = _outside(model, laws)
    if outside is not None and (outside > LEFT).any():
        first = times[(outside > LEFT).reshape(len(times), -1).any(axis=1).argmax()]
        warnings.warn(
            f"the forecast leaves the states that the model was trained on: at time {first:g} with probability "
            f"{outside.reshape(len(times), -1).max(axis=1)[times == first][0]:.2g}; what it says from there on is "
            "extrapolation",
            UserWarning,
            stacklevel=3,
        )
    return Forecast(times, laws, model.coordinates, model.names, model.units, model.unit_of_time, outside)


def _times(times: ArrayLike) -> Float[np.ndarray, " t"]:
    times = np.atleast_1d(np.asarray(as_numbers(times, "times")))
    if times.ndim != 1 or not len(times) or not np.isfinite(times).all() or times[0] < 0 or (np.diff(times) <= 0).any():
        raise InputError("expected increasing times ≥ 0 since the initial state, as in times=[0.1, 0.2]")
    return times


def _initial(model: "Model", initial: ArrayLike | GaussianMixture | Trajectories, components: int) -> GaussianMixture:
    """The law of the initial state in z."""
    if components < 1:
        raise InputError(f"expected components ≥ 1, but got {components}")
    if isinstance(initial, GaussianMixture):
        if initial.dimension != model.dimension:
            raise InputError(f"expected a mixture of dimension {model.dimension}, but got {initial.dimension}")
        return law_to(initial.numpy(), model.coordinates, model.names)
    if isinstance(initial, Trajectories):
        if len(initial) != 1 or initial.dimension != model.dimension:
            raise InputError(
                f"expected one trajectory of {model.dimension} coordinates, whose last row is the start, but got "
                f"{len(initial)} of {initial.dimension}; pass GaussianMixture.point(states) for a forecast from each"
            )
        initial = initial.observed_states[-1]
    x = np.asarray(as_numbers(cast(ArrayLike, initial), "initial"))
    if x.ndim not in (1, 2) or x.shape[-1] != model.dimension or not len(x) or not np.isfinite(x).all():
        raise InputError(
            f"expected a finite state ({model.dimension},), a cloud of them (M, {model.dimension}) or a "
            f"GaussianMixture, but got shape {x.shape}"
        )
    model.coordinates.require_inside(x, model.names)
    z = unwrapped_to(model.coordinates, x)
    return GaussianMixture.point(z) if x.ndim == 1 else gathered(z, components)


def _evolved(
    model: "Model",
    start: GaussianMixture,
    times: Float[np.ndarray, " t"],
    evolution: Evolution,
    progress: ProgressOption,
) -> GaussianMixture:
    """The law at each time, one compiled program for all of them."""
    steps = np.asarray(model.coordinates.step_to(np.diff(times, prepend=0.0)))
    found = []
    with progress_bar(progress) as begin, jax.enable_x64(True):
        advance = begin("forecasting", len(times))
        law = in_slots(start, evolution.components)
        for time, step in zip(times, steps, strict=True):
            law, left = _program(evolution, model.generator, law, jnp.asarray(step))
            if not (np.asarray(left) == 0).all() and not (np.asarray(left) < 1e-6 * step).all():
                raise DivergenceError(
                    f"expected a density that stays finite, but it diverges or becomes too stiff before time {time:g}; "
                    "ask for earlier times, start closer to the data, or put times in between where they lie far apart"
                )
            found.append(filled(law))
            advance(1)
    leaves = zip(*map(jax.tree.leaves, found), strict=True)
    return GaussianMixture(*(np.stack(parts) for parts in leaves))


def in_slots(law: GaussianMixture, slots: int) -> GaussianMixture:
    """A law, or a batch of them, in JAX in so many slots, so that there is one program for all starts."""
    if law.components > slots:
        with_one_axis = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[law.weights.ndim - 1 :]), law)
        fewer = [reduce(GaussianMixture(*parts), slots) for parts in zip(*jax.tree.leaves(with_one_axis), strict=True)]
        stacked = (np.stack(parts) for parts in zip(*map(jax.tree.leaves, fewer), strict=True))
        batch = law.weights.shape[:-1]
        return GaussianMixture(*(jnp.asarray(part.reshape(*batch, *part.shape[1:])) for part in stacked))
    axis, empty = law.weights.ndim - 1, slots - law.components

    def padded(leaf: np.ndarray) -> jax.Array:
        return jnp.asarray(np.pad(leaf, [(0, empty if i == axis else 0) for i in range(leaf.ndim)]))

    return GaussianMixture(*map(padded, jax.tree.leaves(law)))


def advanced(
    evolution: Evolution, generator: Generator, law: GaussianMixture, step: Float[jax.Array, ""]
) -> tuple[GaussianMixture, Float[jax.Array, " *batch"]]:
    """A law, or each of a batch, after a step; and the time that could not be done."""

    def one(law: GaussianMixture):
        end = evolution.advance(generator, law, step)
        bad = ~jnp.isfinite(end.mixture.weights).all() | ~jnp.isfinite(end.mixture.means).all()
        return end.mixture, jnp.where(bad, jnp.nan, jnp.maximum(end.left, 0.0))

    for _ in range(law.weights.ndim - 1):
        one = jax.vmap(one)
    return one(law)


_program = compiled(advanced)


def filled(law: GaussianMixture) -> GaussianMixture:
    """In NumPy, empty slots given a mean and a covariance that hurt nobody."""
    law = law.numpy()
    used = law.weights > 0
    eye = np.eye(law.dimension)
    return GaussianMixture(
        law.weights,
        np.where(used[..., None], law.means, law.mean[..., None, :]),
        np.where(used[..., None, None], (law.covariances + np.swapaxes(law.covariances, -1, -2)) / 2, eye),
    )


def _outside(model: "Model", laws: GaussianMixture) -> Float[np.ndarray, "*law"] | None:
    """Probability of leaving the region that the drift was learned in, by its most extreme coordinate."""
    if (box := data_box(model)) is None:
        return None
    deviations = np.sqrt(np.maximum(np.diagonal(laws.covariances, axis1=-2, axis2=-1), 0.0))
    deviations = np.maximum(deviations, 1e-9)
    inside = ndtr((box[1] - laws.means) / deviations) - ndtr((box[0] - laws.means) / deviations)
    return 1 - np.einsum("...k,...ki->...i", laws.weights, inside).min(axis=-1)


def data_box(model: "Model") -> Float[np.ndarray, "2 d"] | None:
    """Lowest and highest dimensionless states of the data, if the model knows them; an angle has no end."""
    if model.region is None:
        return None
    centres = model.region.centres[:, : model.dimension].astype(np.float64)
    turning = np.array([isinstance(column, Periodic) for column in model.coordinates.transforms])
    low, high = centres.min(axis=0), centres.max(axis=0)
    return np.stack([np.where(turning, -np.inf, low), np.where(turning, np.inf, high)])


def _cumulative(
    x: np.ndarray, weights: np.ndarray, means: np.ndarray, deviations: np.ndarray
) -> Float[np.ndarray, "..."]:
    """P(≤ x) of mixtures in one dimension; a point mass counts where it is."""
    wide = deviations > 0
    gap = x[..., None] - means
    with np.errstate(invalid="ignore"):
        below = np.where(wide, ndtr(gap / np.where(wide, deviations, 1.0)), gap >= 0)
    return (weights * below).sum(axis=-1)


def _box(
    mean: Float[np.ndarray, " d"],
    covariance: Float[np.ndarray, "d d"],
    low: Float[np.ndarray, " d"],
    high: Float[np.ndarray, " d"],
) -> float:
    """The probability of a box under one Gaussian, which may be singular."""
    from scipy.stats import multivariate_normal  # half a second that other questions need not wait for

    scale = np.sqrt(np.diagonal(covariance))
    if not (scale > 0).all():
        fixed = scale == 0
        if not ((mean >= low) & (mean <= high))[fixed].all():
            return 0.0
        if fixed.all():
            return 1.0
        keep = ~fixed
        return _box(mean[keep], covariance[np.ix_(keep, keep)], low[keep], high[keep])
    correlation: Any = covariance / np.outer(scale, scale)
    low, high = np.clip((low - mean) / scale, -40, 40), np.clip((high - mean) / scale, -40, 40)
    law = multivariate_normal(np.zeros(len(mean)), correlation, allow_singular=True, seed=0)
    return float(law.cdf(high, lower_limit=low))


def _turn(transform: Transform) -> float:
    """A whole turn of an angle that is wrapped; infinite for any other column."""
    return transform.period if isinstance(transform, Periodic) and transform.start is not None else np.inf


def _end(x: float, transform, shift: float, scale: float) -> float:
    """One end of a box in z; beyond the domain of a transform it is infinite."""
    if not np.isfinite(x):
        return x
    if transform.affine:
        return (x - shift) / scale
    if bool(transform.inside(x)):
        return float((transform.to(x) - shift) / scale)
    return -np.inf if x <= transform.back(0.0) else np.inf
