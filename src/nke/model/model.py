"""The learned law of a stochastic system, in the user's units."""

import itertools
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from nke.arrays import as_numbers
from nke.data import Coordinates, Trajectories
from nke.errors import InputError, InputTypeError
from nke.mixtures import GaussianMixture
from nke.model import batched, simulation
from nke.model.coefficients import Coefficients
from nke.model.forecast import Forecast, forecast
from nke.model.html import as_html
from nke.model.interval import Interval, interval
from nke.model.pushforward import displacement_back, law_back
from nke.model.region import DataRegion
from nke.model.stationary import stationary
from nke.model.storage import write
from nke.model.uncertainty import Uncertainty
from nke.model.words import describe, title
from nke.operators import ForwardPacket, Generator, Splitting, Strang, TransitionRule
from nke.progress import ProgressOption, progress_bar

Borders = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Model:
    """dx = f(x) dt + g(x) dW + jumps of rate λ(x): drift, diffusion a = g gᵀ, jump rate and law.

    Everything goes in and comes out in the units of the data, per unit of its time, as NumPy arrays. States have the
    shape (..., d): any number of leading axes, then one number for each coordinate; of a model of one coordinate also
    plain numbers: ``model.drift([15, 20, 30])`` is ``model.drift([[15], [20], [30]])``. Where the law was learned for
    a transformed column, such as the logarithm of one that is positive, results are those of the column itself (by
    Itô's formula), a state out of its domain is an ``InputError``, and simulated states are never out of it. Printed,
    it shows drift, volatility and jumps over the range of the data.

    Attributes:
        generator: The equation in dimensionless coordinates.
        coordinates: The way from the user's units to these and back.
        step: Sampling step of the data that the model was fitted to.
        names: Names of the coordinates.
        units: Their units, for axes and tables.
        rule: The discrete model behind ``transition``, ``log_prob`` and ``score``.
        splitting: How ``sample`` composes a step.
        unit_of_time: The unit of time, for axes and tables.
        borders: Lowest and highest value of each coordinate, at which ``sample`` reflects; infinite where there is
            none, None where there are none at all. Transition densities do not know of them.
        uncertainty: How far the parameters of the generator may be off; None where it is not known.
        region: Where the data was that the model was fitted to; None where it is not known.
        quantiles: Of each coordinate of the data that the model was fitted to, at the shares ``QUANTILES``; None where
            they are not known. They say where a table of the law is of interest.

    Example:
        >>> model.names, model.dimension, model.has_jumps
        (('x',), 1, False)
    """

    generator: Generator
    coordinates: Coordinates
    step: float
    names: tuple[str, ...]
    units: tuple[str, ...]
    rule: TransitionRule = field(default_factory=ForwardPacket)
    splitting: Splitting = field(default_factory=Strang)
    unit_of_time: str = ""
    borders: Borders | None = None
    uncertainty: Uncertainty | None = field(default=None, repr=False)
    region: DataRegion | None = field(default=None, repr=False)
    quantiles: Borders | None = None

    @property
    def dimension(self) -> int:
        """Number of coordinates of the state.

        Example:
            >>> model.dimension
            1
        """
        return len(self.names)

    @property
    def has_jumps(self) -> bool:
        """Whether the model has a jump term.

        Example:
            >>> model.has_jumps
            False
        """
        return self.generator.jump is not None

    def drift(self, x: ArrayLike) -> Float[np.ndarray, "*batch d"]:
        """The drift f(x) per unit time, without the mean motion of the jumps.

        Args:
            x: States (..., d).

        Returns:
            Drift of each state (..., d).

        Raises:
            InputError: If the states have another number of coordinates than the model, or are out of their domain.

        Example:
            >>> model.drift([[0.0], [1.0]]).shape
            (2, 1)
        """
        z, batch = self._enter(x)
        f = batched.in_blocks(lambda z: batched.drift(self.generator, z), z)
        if self.coordinates.is_affine:
            return self.coordinates.drift_back(f).reshape(*batch, self.dimension)
        a = batched.in_blocks(lambda z: batched.diffusion(self.generator, z), z)
        return self.coordinates.drift_back(f, self._rows(x), a).reshape(*batch, self.dimension)

    def diffusion(self, x: ArrayLike) -> Float[np.ndarray, "*batch d d"]:
        """The diffusion tensor a(x) = g(x) g(x)ᵀ per unit time (not a/2).

        Args:
            x: States (..., d).

        Returns:
            Tensor of each state (..., d, d).

        Raises:
            InputError: If the states have another number of coordinates than the model, or are out of their domain.

        Example:
            >>> model.diffusion([[0.0], [1.0]]).shape
            (2, 1, 1)
        """
        z, batch = self._enter(x)
        a = batched.in_blocks(lambda z: batched.diffusion(self.generator, z), z)
        return self.coordinates.diffusion_back(a, self._rows(x)).reshape(*batch, self.dimension, self.dimension)

    def jump_rate(self, x: ArrayLike) -> Float[np.ndarray, "*batch"]:
        """The jump rate λ(x), jumps per unit time.

        Args:
            x: States (..., d).

        Returns:
            Rate of each state (...); zeros where the model has no jumps.

        Raises:
            InputError: If the states have another number of coordinates than the model, or are out of their domain.

        Example:
            >>> model.jump_rate([[0.0], [1.0]]).tolist()
            [0.0, 0.0]
        """
        z, batch = self._enter(x)
        if not self.has_jumps:
            return np.zeros(batch)
        rate = batched.in_blocks(lambda z: batched.jump_rate(self.generator, z), z)
        return self.coordinates.rate_back(rate).reshape(batch)

    def jump_law(self, x: ArrayLike) -> GaussianMixture:
        """The law of one jump at x.

        Where a column was transformed, each Gaussian is the one with the mean and covariance of the pushed-forward
        component: in closed form for a logarithm, by Gauss–Hermite quadrature for a logit.

        Args:
            x: States (..., d).

        Returns:
            Law of each state; its weights sum to one.

        Raises:
            InputError: If the model has no jumps, or the states have another number of coordinates.

        Example:
            >>> model.jump_law([0.0])
            Traceback (most recent call last):
            nke.errors.InputError: this model has no jumps, ...
        """
        z, batch = self._enter(x)
        if not self.has_jumps:
            raise InputError("this model has no jumps, so there is no law of a jump; fit with jumps=True")
        law = batched.in_blocks(lambda z: batched.jump_law(self.generator, z), z)
        return displacement_back(_reshape(law.numpy(), batch), self.coordinates, self._states(x))

    def total_drift(self, x: ArrayLike) -> Float[np.ndarray, "*batch d"]:
        """The mean motion per unit time f(x) + λ(x)·E[jump at x], the first Kramers–Moyal coefficient.

        Args:
            x: States (..., d).

        Returns:
            Mean motion of each state (..., d); the drift where the model has no jumps.

        Raises:
            InputError: If the states have another number of coordinates than the model, or are out of their domain.

        Example:
            >>> bool((model.total_drift([[0.5]]) == model.drift([[0.5]])).all())
            True
        """
        drift = self.drift(x)
        return drift + self.jump_rate(x)[..., None] * self.jump_law(x).mean if self.has_jumps else drift

    def interval(self, quantity: str, x: ArrayLike, level: float = 0.9) -> Interval:
        """Where a quantity lies, given how well the data determines the parameters of the law.

        The form of the law is taken for right, and beyond the data (``seen``) nothing is known of its errors. Of a
        polynomial all terms up to its degree are uncertain, those too that were dropped as too weak to be told from
        zero: the interval says what the data says of them, so that the law need not be in its middle, and now and then
        is outside. Each interval is for one number at one state. Those of variances and rates are on the scale of their
        logarithms, so that they are positive.

        Args:
            quantity: "drift", "diffusion", "jump_rate" or "total_drift".
            x: States (..., d).
            level: Probability with which an interval is to hold the true value.

        Returns:
            Lower and upper ends, each of the shape of the quantity itself.

        Raises:
            InputError: If there is no such quantity or level, the states cannot be used, or nothing is known of the
                uncertainty of the law.

        Example:
            >>> lower, upper = model.interval("drift", [[0.0], [1.0]])
            >>> bool((lower < model.drift([[0.0], [1.0]])).all()), upper.shape
            (True, (2, 1))
        """
        _, batch = self._enter(x)
        found = interval(self, quantity, self._rows(x), level)
        return Interval(*(np.reshape(end, (*batch, *end.shape[1:])) for end in found))

    def seen(self, x: ArrayLike) -> Float[np.ndarray, "*batch"]:
        """How well the data that the model was fitted to covers states.

        Args:
            x: States (..., d).

        Returns:
            One where the data was, falling to zero away from it, also in holes; a number for each state (...).

        Raises:
            InputError: If the model does not know its data, or the states cannot be used.

        Example:
            >>> model.seen([[0.0], [1000.0]]).tolist()
            [1.0, 0.0]
        """
        z, batch = self._enter(x)
        if self.region is None:
            raise InputError(
                "this model does not know where its data was: it was made by hand, or by a version of nke before this; "
                "fit the data again"
            )
        return np.reshape(self.region.covers(np.asarray(self.generator.visible(z))), batch)

    def coefficients(self, x: ArrayLike | None = None) -> Coefficients:
        """Drift, total drift, diffusion and jumps in some states together, as numbers for a table.

        Args:
            x: States (n, d); None: in the middle of the data that the model was fitted to, and to both sides of it.

        Returns:
            The coefficients, with names and units.

        Raises:
            InputError: If the states have another number of coordinates than the model, or are out of their domain.

        Example:
            >>> model.coefficients().states.shape
            (5, 1)
        """
        return Coefficients.of(self, None if x is None else self._rows(x))

    def transition(self, x: ArrayLike, step: ArrayLike) -> GaussianMixture:
        """The law of the state a time ``step`` after x.

        Where a column was transformed, each Gaussian is the one with the mean and covariance of the pushed-forward
        component (see ``jump_law``); ``log_prob`` is the density itself. Angles are not wrapped.

        Args:
            x: States (..., d).
            step: A time, or one for each state.

        Returns:
            Law of the next state of each.

        Raises:
            InputError: If a step is not greater than zero, or the states have another number of coordinates.

        Example:
            >>> model.transition([0.5], 0.1).mean.shape
            (1,)
        """
        z, batch = self._enter(x)
        steps = self._steps(step, batch)
        law = batched.in_blocks(lambda z, s: batched.displacement(self.rule, self.generator, z, s), z, steps)
        law = displacement_back(_reshape(law.numpy(), batch), self.coordinates, self._states(x))
        start = self._states(x).reshape(*batch, 1, self.dimension)
        return GaussianMixture(law.weights, law.means + start, law.covariances)

    def log_prob(
        self,
        x_next: ArrayLike,
        *positional: ArrayLike,
        given: ArrayLike | None = None,
        step: ArrayLike | None = None,
        progress: ProgressOption = False,
    ) -> Float[np.ndarray, "*batch"]:
        """The log density of being at ``x_next`` a time ``step`` after ``given``, in physical units.

        Where positions follow from their velocities it is the density of the other coordinates; where there is no noise
        at all, of the state read with the resolution that the fit reports. An angle that is wrapped moves to the
        nearest turn.

        Args:
            x_next: States at the end (..., d).
            *positional: Nothing; it is there to say what is expected.
            given: States at the start (..., d), or one for all.
            step: A time, or one for each pair.
            progress: Whether to show a progress bar; None for one on a terminal only, or a callback.

        Returns:
            Log density of each pair (...).

        Raises:
            InputTypeError: If start and step are not named: two states look alike, and swapped ones give plausible
                numbers.
            InputError: If a step is not greater than zero, or the states have another number of coordinates.

        Example:
            >>> model.log_prob([[0.6], [0.4]], given=[0.5], step=0.1).shape
            (2,)
        """
        if positional or given is None or step is None:
            raise InputTypeError(
                "expected model.log_prob(x_next, given=x, step=step) with both names, so that the two states are not "
                "swapped"
            )
        z, _ = self._enter(given)
        end, start = self._states(x_next), self._states(given)
        moved = end - start
        batch = moved.shape[:-1]
        z = np.broadcast_to(z.reshape(*start.shape), moved.shape).reshape(-1, self.dimension)
        moved = self.coordinates.displacement_to(moved, start).reshape(-1, self.dimension)
        steps = self._steps(step, batch)
        with progress_bar(progress) as begin:
            log_density = batched.in_blocks(
                lambda z, moved, s: batched.log_prob(self.rule, self.generator, z, moved, s),
                z,
                moved,
                steps,
                advance=begin("scoring", len(z)),
            )
        axes = self.generator.free(self.dimension)
        return self.coordinates.log_density_back(log_density.reshape(batch), axes, end)

    def score(self, data: Trajectories, *, progress: ProgressOption = False) -> float:
        """The mean log transition density per transition.

        Args:
            data: Recorded trajectories with the coordinates of the model.
            progress: Whether to show a progress bar; None for one on a terminal only, or a callback.

        Returns:
            The mean over all transitions.

        Raises:
            InputError: If the data has another number of coordinates than the model.

        Example:
            >>> np.isfinite(model.score(data)).item()
            True
        """
        transitions = data.transitions()
        return float(self.log_prob(transitions.y, given=transitions.x, step=transitions.step, progress=progress).mean())

    def sample(
        self,
        x0: ArrayLike,
        times: ArrayLike,
        seed: int = 0,
        paths: int | None = None,
        *,
        substeps: int | None = None,
        splitting: Splitting | None = None,
        progress: ProgressOption = False,
    ) -> Float[np.ndarray, "paths times d"]:
        """Simulated paths.

        Angles go round as in the data: they count whole turns, or are wrapped into its interval. Where the model has
        borders, paths are reflected there. Paths that become NaN or infinite are named in a warning and kept as they
        are.

        Args:
            x0: Start states (M, d), one for each path; or one (d,) for all.
            times: Increasing times, the first of which is that of the start states.
            seed: Seed of the random numbers.
            paths: How many, with one start state.
            substeps: Parts that each interval between times is cut into; by default enough that none is longer than
                the step of the data and that the coefficients change little over each.
            splitting: How a step is composed; by default as the model says.
            progress: Whether to show a progress bar; None for one on a terminal only, or a callback.

        Returns:
            States (M, T, d) of each path at each time.

        Raises:
            InputError: If a start state, the times, ``paths`` or ``substeps`` cannot be used.

        Example:
            >>> model.sample([0.5], times=[0.0, 0.1, 0.2], seed=1, paths=4).shape
            (4, 3, 1)
        """
        start, times = self._start(x0, paths), _increasing(times)
        self.coordinates.require_inside(start, self.names)
        splitting = self.splitting if splitting is None else splitting
        intervals = np.diff(times)
        if substeps is None:
            counts = np.ceil(intervals / self.step - 1e-6).astype(int).clip(1)
        elif substeps >= 1:
            counts = np.full(len(intervals), int(substeps))
        else:
            raise InputError(f"expected substeps ≥ 1, but got {substeps}")
        with progress_bar(progress) as begin:
            z = simulation.sample(
                self.generator,
                splitting,
                jnp.asarray(self.coordinates.to(start), jnp.float32),
                np.asarray(self.coordinates.step_to(intervals), np.float32),
                counts,
                jax.random.key(seed),
                refine=substeps is None and splitting.refined,
                borders=self._dimensionless_borders(),
                progress=begin,
            )
        moved = (self.coordinates.back(z.astype(np.float64)) + self.coordinates.turns(start)).swapaxes(0, 1)
        if self.borders is not None:
            moved = np.clip(moved, *np.array(self.borders).T)  # what single precision rounds beyond
        paths_out = np.concatenate([start[:, None], moved], axis=1)
        _warn_of_divergence(paths_out, times)
        return paths_out

    def sample_next(
        self, x: ArrayLike, step: ArrayLike, seed: int = 0, *, block: int = batched.BLOCK
    ) -> Float[np.ndarray, "n d"]:
        """Draws the state a time ``step`` after each state, simulated as ``sample`` does, each step of its own length.

        Args:
            x: States (n, d).
            step: A time, or one for each state.
            seed: Seed of the random numbers.
            block: States that are moved together, a power of two; a program is compiled for each number.

        Returns:
            One next state for each, (n, d); NaN or infinite where the simulation diverges.

        Raises:
            InputError: If a step is not greater than zero, or a state cannot be used.

        Example:
            >>> model.sample_next([[0.5], [1.0]], [0.1, 0.2], seed=1).shape
            (2, 1)
        """
        z, batch = self._enter(x)
        start, steps = self._rows(x), self._steps(step, batch)
        blocks, ends = itertools.count(), self._dimensionless_borders()
        ends = None if ends is None else jnp.asarray(ends, jnp.float32)

        def moved(z, steps):
            key = jax.random.fold_in(jax.random.key(seed), next(blocks))
            return simulation.sample_steps(self.generator, self.splitting, z, steps, key, ends)

        found = self.coordinates.back(batched.in_blocks(moved, z, steps, most=block))
        found = found + self.coordinates.turns(start)
        return found if self.borders is None else np.clip(found, *np.array(self.borders).T)

    def forecast(
        self,
        initial: ArrayLike | GaussianMixture | Trajectories,
        times: ArrayLike,
        components: int = 64,
        *,
        progress: ProgressOption = False,
    ) -> Forecast:
        """The density of the state at later times, by the Kolmogorov forward equation on a Gaussian mixture.

        Nothing is sampled, so that there is no noise in the result and no seed. A forecast does not know of
        ``borders``: where paths would be reflected, it lets mass through. Angles are not wrapped.

        Args:
            initial: The state at the start (d,); or a cloud of states (M, d); or its law, a ``GaussianMixture`` in the
                user's units, where a batch of them gives a forecast for each; or one recorded trajectory, whose last
                row it is.
            times: Times since the start, increasing and not below zero.
            components: Most components of the mixture; more are more accurate and slower.
            progress: Whether to show a progress bar; None for one on a terminal only, or a callback.

        Returns:
            The law at each time. A warning says where it leaves the region that the model was trained on, if the model
            knows that region.

        Raises:
            InputError: If the initial state, the times or ``components`` cannot be used.
            DivergenceError: If the density does not stay finite.

        Example:
            >>> forecast = model.forecast([1.0], times=[0.5, 1.0], components=8)
            >>> forecast.mean.shape, forecast.quantile([0.05, 0.5, 0.95]).shape
            ((2, 1), (3, 2, 1))
        """
        return forecast(self, initial, times, components, progress)

    def stationary(self, components: int = 64, *, progress: ProgressOption = False) -> GaussianMixture:
        """The density that forecasts settle at: a long forecast from a wide start, until it changes no more.

        Args:
            components: Most components of the mixture.
            progress: Whether to show a progress bar; None for one on a terminal only, or a callback.

        Returns:
            The invariant law in the user's units; angles are wrapped into one turn. Where a column was transformed,
            each Gaussian is the one with the mean and covariance of the component.

        Raises:
            InputError: If the density does not settle, as that of a random walk.
            DivergenceError: If it does not stay finite.

        Example:
            >>> model.stationary(components=8).dimension
            1
        """
        return law_back(stationary(self, components, progress), self.coordinates)

    def save(self, path: str | Path) -> None:
        """Writes the model to one file, atomically; ``nke.load`` reads it.

        Args:
            path: Name of the file.

        Raises:
            InputTypeError: If a coefficient is no network of nke, such as a plain function.
            OSError: If the file cannot be written.

        Example:
            >>> import tempfile
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     model.save(f"{folder}/model.nke")
        """
        write(self, path)

    def __str__(self) -> str:
        return "\n".join(describe(self))

    def _repr_html_(self) -> str:
        return as_html(str(self), self)

    def __repr__(self) -> str:
        return f"Model({title(self)})"

    def _dimensionless_borders(self) -> Float[np.ndarray, "2 d"] | None:
        """Lowest and highest dimensionless states; a column that has a border is not curved."""
        if self.borders is None:
            return None
        ends, (shift, scale) = np.array(self.borders).T, (self.coordinates.shift, self.coordinates.scale)
        return (ends - shift) / scale

    def _states(self, x: ArrayLike) -> Float[np.ndarray, "*batch d"]:
        """States (..., d); a number, or a row of numbers, is one or more states of a model of one coordinate."""
        x = np.asarray(as_numbers(x, "states"))
        if self.dimension == 1 and x.ndim <= 1 and x.shape != (1,):
            x = x[..., None]
        if x.shape[-1:] != (self.dimension,):
            raise InputError(
                f"expected states of shape (..., {self.dimension}) for {', '.join(self.names)}, but got {x.shape}"
                + ("; add an axis: x[..., None]" if self.dimension == 1 else "")
            )
        self.coordinates.require_inside(x, self.names)
        return np.asarray(x, np.float64)

    def _enter(self, x: ArrayLike) -> tuple[Float[np.ndarray, "n d"], tuple[int, ...]]:
        """Dimensionless states as rows, and the batch shape to give back."""
        x = self._states(x)
        return self.coordinates.to(x).reshape(-1, self.dimension), x.shape[:-1]

    def _rows(self, x: ArrayLike) -> Float[np.ndarray, "n d"]:
        """States in the user's units as rows."""
        return self._states(x).reshape(-1, self.dimension)

    def _steps(self, step: ArrayLike, batch: tuple[int, ...]) -> Float[np.ndarray, " n"]:
        """Dimensionless steps, one for each row."""
        step = np.asarray(as_numbers(step, "step"))
        if not (np.isfinite(step) & (step > 0)).all():
            raise InputError(f"expected a step greater than zero, but got {step}")
        if step.ndim > len(batch) or any(a not in (1, b) for a, b in zip(step.shape[::-1], batch[::-1], strict=False)):
            raise InputError(f"expected one step, or one for each state, {batch}; but got {step.shape}")
        return np.broadcast_to(self.coordinates.step_to(step), batch).ravel()

    def _start(self, x0: ArrayLike, paths: int | None) -> Float[np.ndarray, "paths d"]:
        """A start state for each path."""
        x0 = np.asarray(as_numbers(x0, "x0"))
        if paths is not None and paths < 1:
            raise InputError(f"expected paths ≥ 1, but got {paths}")
        if self.dimension == 1 and x0.ndim <= 1 and x0.shape != (1,):
            x0 = x0[..., None]
        if x0.ndim == 1:
            x0 = np.tile(x0, (1 if paths is None else paths, 1))
        elif paths is not None:
            raise InputError("expected paths only with a single start state (d,); x0 already has one row a path")
        if x0.ndim != 2 or x0.shape[-1] != self.dimension or not np.isfinite(x0).all():
            raise InputError(
                f"expected finite start states (M, {self.dimension}), or ({self.dimension},) with paths=n; "
                f"got shape {x0.shape}"
            )
        return x0


def _increasing(times: ArrayLike) -> Float[np.ndarray, " t"]:
    """The times, refused if they do not increase."""
    times = np.asarray(as_numbers(times, "times"))
    if times.ndim != 1 or len(times) < 2 or not np.isfinite(times).all() or (np.diff(times) <= 0).any():
        raise InputError(
            "expected times as an increasing 1-D array of at least two; times[0] is the time of the start states"
        )
    return times


def _reshape(law: GaussianMixture, batch: Sequence[int]) -> GaussianMixture:
    """A law for each row, with the batch shape back."""
    weights, means, covariances = (
        leaf.reshape(*batch, *leaf.shape[1:]) for leaf in (law.weights, law.means, law.covariances)
    )
    return GaussianMixture(weights, means, covariances)


def _warn_of_divergence(paths: Float[np.ndarray, "paths times d"], times: Float[np.ndarray, " times"]) -> None:
    """Names the simulated paths that became NaN or infinite."""
    lost = np.asarray(~np.isfinite(paths).all(axis=-1))
    if lost.any():
        index = np.flatnonzero(lost.any(axis=1))
        when = times[lost[index[0]].argmax()]
        warnings.warn(
            f"{len(index)} of {len(paths)} simulated paths became NaN or infinite, the first is path {index[0]} "
            f"at time {when:g}; the model is not to be trusted that far from its data. Start closer to the data "
            "or pass a larger substeps",
            RuntimeWarning,
            stacklevel=3,
        )
