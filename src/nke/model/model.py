"""The learned law of a stochastic system, in the user's units."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from nke.arrays import as_numbers
from nke.data import Coordinates, Trajectories
from nke.errors import InputError
from nke.mixtures import GaussianMixture
from nke.model import evaluation
from nke.model.storage import write
from nke.operators import ForwardPacket, Generator, Splitting, Strang, TransitionRule
from nke.progress import ProgressOption, progress_bar


@dataclass(frozen=True)
class Model:
    """dx = f(x) dt + g(x) dW + jumps of rate λ(x): drift, diffusion a = g gᵀ, jump rate and law.

    Everything goes in and comes out in the units of the data, per unit of its time, as NumPy arrays.
    ``step`` is the sampling step of the data that the model was fitted to, ``rule`` the discrete model
    behind ``transition``, ``log_prob`` and ``score``, ``splitting`` how ``sample`` composes a step. ``names``,
    ``units`` and ``unit_of_time`` are those of the data, for axes and tables.
    """

    generator: Generator
    coordinates: Coordinates
    step: float
    names: tuple[str, ...]
    units: tuple[str, ...]
    rule: TransitionRule = field(default_factory=ForwardPacket)
    splitting: Splitting = field(default_factory=Strang)
    unit_of_time: str = ""

    @property
    def dimension(self) -> int:
        return len(self.names)

    @property
    def has_jumps(self) -> bool:
        return self.generator.jump is not None

    def drift(self, x: Any) -> Float[np.ndarray, "*batch d"]:
        """f(x) per unit time, without the mean motion of the jumps.

        Example:
            >>> model.drift([[0.0], [1.0]]).shape
            (2, 1)
        """
        z, batch = self._enter(x)
        f = evaluation.in_blocks(lambda z: evaluation.drift(self.generator, z), z)
        return self.coordinates.drift_back(f).reshape(*batch, self.dimension)

    def diffusion(self, x: Any) -> Float[np.ndarray, "*batch d d"]:
        """a(x) = g(x) g(x)ᵀ per unit time (not a/2)."""
        z, batch = self._enter(x)
        a = evaluation.in_blocks(lambda z: evaluation.diffusion(self.generator, z), z)
        return self.coordinates.diffusion_back(a).reshape(*batch, self.dimension, self.dimension)

    def jump_rate(self, x: Any) -> Float[np.ndarray, "*batch"]:
        """λ(x), jumps per unit time; zeros where the model has no jumps."""
        z, batch = self._enter(x)
        if not self.has_jumps:
            return np.zeros(batch)
        rate = evaluation.in_blocks(lambda z: evaluation.jump_rate(self.generator, z), z)
        return self.coordinates.rate_back(rate).reshape(batch)

    def jump_law(self, x: Any) -> GaussianMixture:
        """Law of one jump at x (weights sum to one)."""
        z, batch = self._enter(x)
        if not self.has_jumps:
            raise InputError("this model has no jumps, so there is no law of a jump; fit with jumps=True")
        law = evaluation.in_blocks(lambda z: evaluation.jump_law(self.generator, z), z)
        law = _reshape(law.numpy(), batch)
        return law.affine(np.zeros(self.dimension), self.coordinates.scale)

    def transition(self, x: Any, step: Any) -> GaussianMixture:
        """Law of the state a time ``step`` after x."""
        z, batch = self._enter(x)
        steps = self._steps(step, batch)
        law = evaluation.in_blocks(lambda z, s: evaluation.displacement(self.rule, self.generator, z, s), z, steps)
        law = _reshape(law.numpy(), batch).affine(np.zeros(self.dimension), self.coordinates.scale)
        start = np.asarray(x, np.float64).reshape(*batch, 1, self.dimension)
        return GaussianMixture(law.weights, law.means + start, law.covariances)

    def log_prob(
        self, x_next: Any, x: Any, step: Any, *, progress: ProgressOption = False
    ) -> Float[np.ndarray, "*batch"]:
        """Log density of being at ``x_next`` a time ``step`` after ``x``, in physical units.

        Where positions follow from their velocities it is the density of the other coordinates; where there is no noise
        at all, of the state read with the resolution that the fit reports. ``progress`` counts the transitions.
        """
        self._enter(x_next)
        z, _ = self._enter(x)
        moved = np.asarray(x_next, np.float64) - np.asarray(x, np.float64)
        batch = moved.shape[:-1]
        z = np.broadcast_to(z.reshape(*np.shape(x)), moved.shape).reshape(-1, self.dimension)
        moved = self.coordinates.displacement_to(moved).reshape(-1, self.dimension)
        steps = self._steps(step, batch)
        with progress_bar(progress) as begin:
            log_density = evaluation.in_blocks(
                lambda z, moved, s: evaluation.log_prob(self.rule, self.generator, z, moved, s),
                z,
                moved,
                steps,
                report=begin("scoring", len(z)),
            )
        constraint = self.generator.constraint
        return self.coordinates.log_density_back(log_density, constraint and constraint.free).reshape(batch)

    def score(self, data: Trajectories, *, progress: ProgressOption = False) -> float:
        """Mean log transition density per transition; ``progress`` counts the transitions."""
        transitions = data.transitions()
        return float(self.log_prob(transitions.y, transitions.x, transitions.step, progress=progress).mean())

    def sample(
        self,
        x0: Any,
        times: Any,
        seed: int = 0,
        paths: int | None = None,
        *,
        substeps: int | None = None,
        splitting: Splitting | None = None,
        progress: ProgressOption = False,
    ) -> Float[np.ndarray, "paths times d"]:
        """Simulated paths from x0, (M, d), or (d,) repeated ``paths`` times; ``times[0]`` is the start.

        Each interval is cut into ``substeps`` (default: enough that none is longer than the step of the data and
        that the coefficients change little over each), composed by ``splitting`` (default: the model's). A path that
        leaves the finite numbers is reported in a warning and kept as it is. ``progress`` counts the intervals between
        ``times``.
        """
        start, times = self._start(x0, paths), _increasing(times)
        splitting = self.splitting if splitting is None else splitting
        intervals = np.diff(times)
        if substeps is None:
            counts = np.ceil(intervals / self.step - 1e-6).astype(int).clip(1)
        elif substeps >= 1:
            counts = np.full(len(intervals), int(substeps))
        else:
            raise InputError(f"expected substeps ≥ 1, but got {substeps}")
        with progress_bar(progress) as begin:
            z = evaluation.sample(
                self.generator,
                splitting,
                jnp.asarray(self.coordinates.to(start), jnp.float32),
                np.asarray(self.coordinates.step_to(intervals), np.float32),
                counts,
                jax.random.key(seed),
                refine=substeps is None and splitting.refined,
                report=begin("simulating", len(intervals)),
            )
        moved = self.coordinates.back(z.astype(np.float64)).swapaxes(0, 1)
        paths_out = np.concatenate([start[:, None], moved], axis=1)
        _report_lost(paths_out, times)
        return paths_out

    def save(self, path: str | Path) -> None:
        """Writes the model to one file, atomically; ``nke.load`` reads it."""
        write(self, path)

    def _enter(self, x: Any) -> tuple[Float[np.ndarray, "n d"], tuple[int, ...]]:
        """Dimensionless states as rows, and the batch shape to give back."""
        x = np.asarray(as_numbers(x, "states"))
        if x.shape[-1:] != (self.dimension,):
            raise InputError(
                f"expected states of shape (..., {self.dimension}) for {', '.join(self.names)}, but got {x.shape}"
                + ("; add an axis: x[..., None]" if self.dimension == 1 else "")
            )
        return self.coordinates.to(x).reshape(-1, self.dimension), x.shape[:-1]

    def _steps(self, step: Any, batch: tuple[int, ...]) -> Float[np.ndarray, " n"]:
        step = np.asarray(as_numbers(step, "step"))
        if not (np.isfinite(step) & (step > 0)).all():
            raise InputError(f"expected a step greater than zero, but got {step}")
        return np.broadcast_to(self.coordinates.step_to(step), batch).ravel()

    def _start(self, x0: Any, paths: int | None) -> Float[np.ndarray, "paths d"]:
        x0 = np.asarray(as_numbers(x0, "x0"))
        if paths is not None and paths < 1:
            raise InputError(f"expected paths ≥ 1, but got {paths}")
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


def _increasing(times: Any) -> Float[np.ndarray, " t"]:
    times = np.asarray(as_numbers(times, "times"))
    if times.ndim != 1 or len(times) < 2 or not np.isfinite(times).all() or (np.diff(times) <= 0).any():
        raise InputError(
            "expected times as an increasing 1-D array of at least two; times[0] is the time of the start states"
        )
    return times


def _reshape(law: GaussianMixture, batch: Sequence[int]) -> GaussianMixture:
    weights, means, covariances = (
        leaf.reshape(*batch, *leaf.shape[1:]) for leaf in (law.weights, law.means, law.covariances)
    )
    return GaussianMixture(weights, means, covariances)


def _report_lost(paths: Float[np.ndarray, "paths times d"], times: Float[np.ndarray, " times"]) -> None:
    lost = np.asarray(~np.isfinite(paths).all(axis=-1))
    if lost.any():
        index = np.flatnonzero(lost.any(axis=1))
        when = times[lost[index[0]].argmax()]
        warnings.warn(
            f"{len(index)} of {len(paths)} simulated paths left the finite numbers, the first is path {index[0]} "
            f"at time {when:g}; the model is not to be trusted that far from its data. Start closer to the data "
            "or pass a larger substeps",
            RuntimeWarning,
            stacklevel=3,
        )
