"""The interface of a system with known truth, and the loop that records its trajectories."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NoReturn

import numpy as np
from jaxtyping import Bool, Float

from nke.arrays import Array, as_numbers, namespace
from nke.data import Trajectories
from nke.errors import DivergenceError, InputError, UnavailableError
from nke.mixtures import GaussianMixture
from nke.progress import ProgressOption, progress_bar


class System(ABC):
    """A Lévy–Itô process with known coefficients,

        dX = f(X) dt + g(X) dW + jumps of rate λ(X) and law h_X.

    Lists and NumPy arrays are computed in float64 NumPy; JAX arrays, traced or not, in JAX.
    """

    duration: ClassVar[float]
    interval: ClassVar[float]
    dimension: int

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """Names of the coordinates."""

    @property
    def times(self) -> Float[np.ndarray, " n"]:
        """The system's own recording grid: from 0 to ``duration`` every ``interval``."""
        return np.linspace(0.0, self.duration, round(self.duration / self.interval) + 1)

    @property
    def has_jumps(self) -> bool:
        return False

    @abstractmethod
    def drift(self, x: Any) -> Float[Array, "*batch d"]:
        """f(x), without the mean motion of the jumps."""

    @abstractmethod
    def noise_matrix(self, x: Any) -> Float[Array, "*batch d m"]:
        """g(x): how the m Brownian motions enter the d coordinates."""

    def diffusion(self, x: Any) -> Float[Array, "*batch d d"]:
        """a(x) = g(x) g(x)ᵀ."""
        g = self.noise_matrix(x)
        return g @ namespace(g).matrix_transpose(g)

    def jump_rate(self, x: Any) -> Float[Array, "*batch"]:
        """λ(x), expected number of jumps per unit time; zeros without jumps."""
        x = self.as_states(x)
        return namespace(x).zeros_like(x[..., 0])

    def jump_law(self, x: Any) -> GaussianMixture:
        """h_x, the law of one jump at x."""
        self.refuse_jump_law()

    def refuse_jump_law(self) -> NoReturn:
        raise InputError(f"{self!r} has no jumps, so no jump law; ask for it only where has_jumps is true")

    def log_prob(self, x_next: Any, x: Any, step: Any) -> Float[np.ndarray, "*batch"]:
        """log p(x_next | x) after ``step``, exactly; all three broadcast against each other."""
        raise UnavailableError(
            f"the transition density of {type(self).__name__} has no closed form; "
            "compare with simulate(..., initial=...) instead"
        )

    @abstractmethod
    def initial(self, trajectories: int, rng: np.random.Generator) -> Float[np.ndarray, "trajectories d"]:
        """Draws states at the start."""

    @abstractmethod
    def advance(self, x: Float[np.ndarray, "m d"], step: float, rng: np.random.Generator) -> Float[np.ndarray, "m d"]:
        """Draws the states a time ``step`` later."""

    def inside(self, x: Float[np.ndarray, "*batch d"]) -> Bool[np.ndarray, "*batch"]:
        """Whether a state lies in the domain of the process."""
        return np.asarray(np.isfinite(x).all(axis=-1))

    def simulate(
        self,
        trajectories: int,
        seed: int,
        times: Any = None,
        initial: Any = None,
        progress: ProgressOption = False,
    ) -> Trajectories:
        """Trajectories recorded at ``times`` (the first is the start; default: the system's own grid).

        ``initial`` (trajectories, d) replaces the drawn start states. The same seed gives the same data.
        ``progress`` shows a bar (True), or a bar on a terminal (None), or is a callback as in ``nke.progress``.
        """
        times = self._recording_times(times)
        states = self.simulate_states(trajectories, seed, times, initial, progress)
        return Trajectories(states, times, names=self.names)

    def simulate_states(
        self,
        trajectories: int,
        seed: int,
        times: Any = None,
        initial: Any = None,
        progress: ProgressOption = False,
    ) -> Float[np.ndarray, "trajectories n d"]:
        """The bare array behind ``simulate``."""
        rng = np.random.default_rng(seed)
        times = self._recording_times(times)
        x = self._start(trajectories, rng, initial)
        states = np.empty((trajectories, len(times), self.dimension))
        states[:, 0] = x
        with progress_bar(progress) as begin:
            advance = begin("simulating", len(times) - 1)
            for n in range(1, len(times)):
                # Overflow needs no warning here: it is an error two lines below.
                with np.errstate(over="ignore", invalid="ignore"):
                    x = self.advance(x, float(times[n] - times[n - 1]), rng)
                self._refuse_lost_paths(x, times[n])
                states[:, n] = x
                advance(1)
        return states

    def as_states(self, x: Any) -> Float[Array, "*batch d"]:
        """The input as an array of states (..., d)."""
        x = as_numbers(x, "states")
        if x.shape[-1:] != (self.dimension,):
            raise InputError(
                f"expected states of {type(self).__name__} of shape (..., {self.dimension}), "
                f"but got shape {x.shape}; put the coordinates on the last axis"
            )
        return x if x.dtype.kind == "f" else x.astype(float)

    def as_transitions(
        self, x_next: Any, x: Any, step: Any
    ) -> tuple[Float[np.ndarray, "*#b d"], Float[np.ndarray, "*#b d"], Float[np.ndarray, "*#b"]]:
        """The arguments of ``log_prob`` as checked float64 NumPy arrays."""
        x_next, x = (np.asarray(self.as_states(value), np.float64) for value in (x_next, x))
        step = np.asarray(as_numbers(step, "step"), np.float64)
        if not (np.isfinite(step) & (step > 0)).all():
            raise InputError(f"expected step to be finite and > 0, but got {step}; pass the time elapsed")
        if not self.inside(x).all():
            raise InputError(
                f"expected x in the domain of {self!r}, but got {x[~self.inside(x)][0]}; "
                "condition on a state that the process can visit"
            )
        return x_next, x, step

    def _recording_times(self, times: Any) -> Float[np.ndarray, " n"]:
        if times is None:
            return self.times
        times = np.asarray(as_numbers(times, "times"), np.float64)
        if times.ndim != 1 or len(times) < 2 or not np.isfinite(times).all():
            raise InputError(
                f"expected times as a 1-D array of at least two finite numbers, but got shape {times.shape}; "
                "the first is the start, the others are when states are recorded"
            )
        if (np.diff(times) <= 0).any():
            row = int(np.argmax(np.diff(times) <= 0))
            raise InputError(
                f"expected increasing times, but they go from {times[row]:g} to {times[row + 1]:g} "
                f"at row {row + 1}; sort them and drop repeats"
            )
        return times

    def _start(self, trajectories: int, rng: np.random.Generator, initial: Any) -> Float[np.ndarray, "trajectories d"]:
        if trajectories < 1:
            raise InputError(f"expected at least one trajectory, but got {trajectories}")
        if initial is None:
            return self.initial(trajectories, rng)
        x = np.asarray(self.as_states(initial), np.float64)
        if x.shape != (trajectories, self.dimension):
            raise InputError(
                f"expected initial states of shape {(trajectories, self.dimension)}, but got {x.shape}; "
                "pass one start state per trajectory"
            )
        if not self.inside(x).all():
            row = int(np.argmin(self.inside(x)))
            raise InputError(
                f"expected initial states in the domain of {self!r}, but trajectory {row} starts at "
                f"{x[row]}; replace it by a state that the process can visit"
            )
        return x

    def _refuse_lost_paths(self, x: Float[np.ndarray, "m d"], time: float):
        finite = np.isfinite(x).all(axis=-1)
        if not finite.all():
            row = int(np.argmin(finite))
            raise DivergenceError(
                f"expected finite states, but trajectory {row} of {self!r} reached {x[row]} by time {time:g} "
                f"({np.count_nonzero(~finite)} of {len(x)} trajectories lost); integrate with a smaller dt "
                "or start closer to the origin"
            )


def scaled_identity(x: Float[Array, "*batch d"], scale: float) -> Float[Array, "*batch d d"]:
    """scale·I at every state: isotropic additive noise."""
    xp = namespace(x)
    return xp.broadcast_to(scale * xp.eye(x.shape[-1], dtype=x.dtype), (*x.shape, x.shape[-1]))


def coordinate_names(symbol: str, dimension: int) -> tuple[str, ...]:
    """("x",) in one dimension, ("x1", "x2", …) in more."""
    return (symbol,) if dimension == 1 else tuple(f"{symbol}{i + 1}" for i in range(dimension))
