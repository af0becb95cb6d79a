"""The interface of a system with known truth, and the loop that records its trajectories."""

from abc import ABC, abstractmethod
from typing import ClassVar, NoReturn

import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import ArrayLike

from nke.arrays import Array, as_numbers, namespace
from nke.data import Trajectories
from nke.errors import DivergenceError, InputError, InputTypeError, UnavailableError
from nke.mixtures import GaussianMixture
from nke.progress import ProgressOption, progress_bar


class System(ABC):
    """A Lévy–Itô process with known coefficients.

        dX = f(X) dt + g(X) dW + jumps of rate λ(X) and law h_X

    Lists and NumPy arrays are computed in float64 NumPy; JAX arrays, traced or not, in JAX. To add a system, derive
    from this class or, if it is simulated by small steps, from ``nke.systems.euler_maruyama.EulerMaruyamaScheme``.

    Attributes:
        duration: Time at which a recording ends, unless other times are asked for.
        interval: Time between two records of such a recording.
        dimension: Number d of coordinates of a state.

    Example:
        >>> system = nke.systems.DoubleWell()
        >>> isinstance(system, nke.systems.System), system.dimension, system.names
        (True, 3, ('x1', 'x2', 'x3'))
    """

    duration: ClassVar[float]
    interval: ClassVar[float]
    dimension: int

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """Names of the coordinates.

        Example:
            >>> nke.systems.HarmonicOscillator().names
            ('position', 'velocity')
        """

    @property
    def times(self) -> Float[np.ndarray, " n"]:
        """Recording times of the system, shape (n,): from 0 to ``duration`` every ``interval``.

        Example:
            >>> nke.systems.HarmonicOscillator().times[:3].tolist()
            [0.0, 0.1, 0.2]
        """
        return np.linspace(0.0, self.duration, round(self.duration / self.interval) + 1)

    @property
    def has_jumps(self) -> bool:
        """Whether the process jumps.

        Example:
            >>> nke.systems.DoubleWell().has_jumps, nke.systems.DoubleWell(rate=0).has_jumps
            (True, False)
        """
        return False

    @abstractmethod
    def drift(self, x: ArrayLike) -> Float[Array, "*batch d"]:
        """Computes the drift f(x), without the mean motion of the jumps.

        Args:
            x: States, shape (..., d).

        Returns:
            Drift per unit time at each state, shape (..., d).

        Raises:
            InputError: The states have another dimension.

        Example:
            >>> nke.systems.OrnsteinUhlenbeck(rate=2.0).drift([[0.5], [-1.0]]).tolist()
            [[-1.0], [2.0]]
        """

    @abstractmethod
    def noise_matrix(self, x: ArrayLike) -> Float[Array, "*batch d m"]:
        """Computes g(x), by which m Brownian motions drive the d coordinates.

        Args:
            x: States, shape (..., d).

        Returns:
            Noise matrix at each state, shape (..., d, m).

        Example:
            >>> nke.systems.HarmonicOscillator(noise=0.5).noise_matrix([1.0, 0.0]).tolist()
            [[0.0], [0.5]]
        """

    def diffusion(self, x: ArrayLike) -> Float[Array, "*batch d d"]:
        """Computes the diffusion tensor a(x) = g(x) g(x)ᵀ (not a/2).

        Args:
            x: States, shape (..., d).

        Returns:
            Covariance of the noise per unit time at each state, shape (..., d, d).

        Example:
            >>> nke.systems.GeometricBrownianMotion(volatility=0.5).diffusion([[1.0], [2.0]]).tolist()
            [[[0.25]], [[1.0]]]
        """
        g = self.noise_matrix(x)
        return g @ namespace(g).matrix_transpose(g)

    def jump_rate(self, x: ArrayLike) -> Float[Array, "*batch"]:
        """Computes the rate λ(x), the expected number of jumps per unit time; zeros without jumps.

        Args:
            x: States, shape (..., d).

        Returns:
            Jump rate at each state, shape (...).

        Example:
            >>> nke.systems.BimodalJumps().jump_rate([[0.0, 0.0], [50.0, 0.0]]).tolist()
            [1.25, 2.0]
        """
        state = self.as_states(x)
        return namespace(state).zeros_like(state[..., 0])

    def jump_law(self, x: ArrayLike) -> GaussianMixture:
        """Gives the law h_x of one jump at x.

        Args:
            x: States, shape (..., d).

        Returns:
            Law of the displacement by one jump, a batch over the states.

        Raises:
            InputError: The system has no jumps.

        Example:
            >>> law = nke.systems.BimodalJumps().jump_law([0.0, 0.0])
            >>> law.weights.tolist(), law.means.tolist()
            ([0.5, 0.5], [[1.5, 0.0], [-1.5, 0.0]])
        """
        self.refuse_jump_law()

    def refuse_jump_law(self) -> NoReturn:
        """Raises the error of a system that is asked for a jump law and has no jumps.

        Raises:
            InputError: Always.

        Example:
            >>> nke.systems.GeometricBrownianMotion().refuse_jump_law()
            Traceback (most recent call last):
            nke.errors.InputError: GeometricBrownianMotion(growth=0.05, volatility=0.2) has no jumps, ...
        """
        raise InputError(f"{self!r} has no jumps, so no jump law; ask for it only where has_jumps is true")

    def log_prob(
        self,
        x_next: ArrayLike,
        *positional: ArrayLike,
        given: ArrayLike | None = None,
        step: ArrayLike | None = None,
    ) -> Float[np.ndarray, "*batch"]:
        """Computes the exact log transition density, log p(x_next | given) after a time ``step``.

        Args:
            x_next: States reached, shape (..., d).
            *positional: Nothing; it is there to say what is expected.
            given: States started from, shape (..., d).
            step: Time elapsed, shape (...); all three broadcast against each other.

        Returns:
            Log density per volume of state, shape (...); −∞ outside the domain of the process.

        Raises:
            InputTypeError: If start and step are not named: two states look alike, and swapped ones give plausible
                numbers.
            UnavailableError: The density of this system is not known.
            InputError: A step is not positive, or ``given`` is outside the domain of the process.

        Example:
            >>> nke.systems.OrnsteinUhlenbeck().log_prob([[0.0], [0.5]], given=[0.3], step=0.1).round(3).tolist()
            [-0.125, -0.007]
        """
        if positional or given is None or step is None:
            raise InputTypeError(
                "expected system.log_prob(x_next, given=x, step=step) with both names, so that the two states are not "
                "swapped"
            )
        return self.log_density(*self.as_transitions(x_next, given, step))

    def log_density(
        self, x_next: Float[np.ndarray, "*#b d"], x: Float[np.ndarray, "*#b d"], step: Float[np.ndarray, "*#b"]
    ) -> Float[np.ndarray, "*b"]:
        """Computes what ``log_prob`` gives, of arguments that ``as_transitions`` has checked.

        Args:
            x_next: States reached.
            x: States started from.
            step: Time elapsed.

        Returns:
            Log density per volume of state.

        Raises:
            UnavailableError: The density of this system is not known.

        Example:
            >>> system = nke.systems.OrnsteinUhlenbeck()
            >>> system.log_density(*system.as_transitions([[0.0], [0.5]], [0.3], 0.1)).round(3).tolist()
            [-0.125, -0.007]
        """
        raise UnavailableError(
            f"the transition density of {type(self).__name__} has no closed form; "
            "compare with simulate(..., initial=...) instead"
        )

    @abstractmethod
    def initial(self, trajectories: int, rng: np.random.Generator) -> Float[np.ndarray, "trajectories d"]:
        """Draws the states at the start.

        Args:
            trajectories: How many states.
            rng: Generator that is advanced.

        Returns:
            States, shape (trajectories, d).

        Example:
            >>> nke.systems.Lorenz().initial(5, np.random.default_rng(0)).shape
            (5, 3)
        """

    @abstractmethod
    def advance(self, x: Float[np.ndarray, "m d"], step: float, rng: np.random.Generator) -> Float[np.ndarray, "m d"]:
        """Draws the states a time ``step`` later.

        Args:
            x: States now, shape (m, d).
            step: Time to go forward.
            rng: Generator that is advanced.

        Returns:
            One state drawn for each, shape (m, d).

        Example:
            >>> nke.systems.Lorenz().advance(np.ones((5, 3)), 0.01, np.random.default_rng(0)).shape
            (5, 3)
        """

    def inside(self, x: Float[np.ndarray, "*batch d"]) -> Bool[np.ndarray, "*batch"]:
        """Tells whether states lie in the domain of the process.

        Args:
            x: States, shape (..., d).

        Returns:
            True where the process can be, shape (...).

        Example:
            >>> nke.systems.GeometricBrownianMotion().inside(np.array([[1.0], [-1.0]])).tolist()
            [True, False]
        """
        return np.asarray(np.isfinite(x).all(axis=-1))

    def simulate(
        self,
        trajectories: int,
        seed: int,
        times: ArrayLike | None = None,
        initial: ArrayLike | None = None,
        progress: ProgressOption = False,
    ) -> Trajectories:
        """Simulates recorded trajectories; the same seed gives the same trajectories.

        Args:
            trajectories: How many.
            seed: Seed of all random numbers.
            times: Recording times, shape (n,), of which the first is the start; None takes ``self.times``.
            initial: Start states, shape (trajectories, d); None draws them by ``initial``.
            progress: Whether to show a bar; None: on a terminal; or a callback, see ``nke.progress``.

        Returns:
            The trajectories, with the names of the system's coordinates.

        Raises:
            InputError: The times do not increase, or a start state is outside the domain of the process.
            DivergenceError: A path became NaN or infinite.

        Example:
            >>> nke.systems.OrnsteinUhlenbeck(dimension=2).simulate(4, seed=0, times=[0.0, 0.1, 0.3]).states.shape
            (4, 3, 2)
        """
        recorded = self._recording_times(times)
        states = self.simulate_states(trajectories, seed, recorded, initial, progress)
        return Trajectories(states, recorded, names=self.names)

    def simulate_states(
        self,
        trajectories: int,
        seed: int,
        times: ArrayLike | None = None,
        initial: ArrayLike | None = None,
        progress: ProgressOption = False,
    ) -> Float[np.ndarray, "trajectories n d"]:
        """Simulates the bare array of states behind ``simulate``.

        Args:
            trajectories: As in ``simulate``.
            seed: As in ``simulate``.
            times: As in ``simulate``.
            initial: As in ``simulate``.
            progress: As in ``simulate``.

        Returns:
            States, shape (trajectories, n, d).

        Example:
            >>> nke.systems.OrnsteinUhlenbeck(mean=1.0, noise=1e-6).simulate_states(2, 0, [0.0, 0.1]).round(3).tolist()
            [[[1.0], [1.0]], [[1.0], [1.0]]]
        """
        rng = np.random.default_rng(seed)
        recorded = self._recording_times(times)
        x = self._start(trajectories, rng, initial)
        states = np.empty((trajectories, len(recorded), self.dimension))
        states[:, 0] = x
        with progress_bar(progress) as begin:
            advance = begin("simulating", len(recorded) - 1)
            for n in range(1, len(recorded)):
                # Overflow needs no warning here: it is an error two lines below.
                with np.errstate(over="ignore", invalid="ignore"):
                    x = self.advance(x, float(recorded[n] - recorded[n - 1]), rng)
                self._refuse_lost_paths(x, recorded[n])
                states[:, n] = x
                advance(1)
        return states

    def as_states(self, x: ArrayLike) -> Float[Array, "*batch d"]:
        """Converts states to an array and checks their dimension; JAX arrays stay as they are.

        Args:
            x: States, shape (..., d).

        Returns:
            The same states as floating-point numbers.

        Raises:
            InputError: The states have another dimension.

        Example:
            >>> nke.systems.OrnsteinUhlenbeck(dimension=2).as_states([1, 2])
            array([1., 2.])
        """
        states = as_numbers(x, "states")
        if states.shape[-1:] != (self.dimension,):
            raise InputError(
                f"expected states of {type(self).__name__} of shape (..., {self.dimension}), "
                f"but got shape {states.shape}; put the coordinates on the last axis"
            )
        return states if states.dtype.kind == "f" else states.astype(float)

    def as_transitions(
        self, x_next: ArrayLike, x: ArrayLike, step: ArrayLike
    ) -> tuple[Float[np.ndarray, "*#b d"], Float[np.ndarray, "*#b d"], Float[np.ndarray, "*#b"]]:
        """Converts the arguments of ``log_prob`` to float64 NumPy and checks them.

        Args:
            x_next: States reached, shape (..., d).
            x: States started from, shape (..., d).
            step: Time elapsed, shape (...).

        Returns:
            The three as arrays.

        Raises:
            InputError: A step is not positive, or ``x`` is outside the domain of the process.

        Example:
            >>> nke.systems.OrnsteinUhlenbeck().as_transitions([1], [0], 2)
            (array([1.]), array([0.]), array(2.))
        """
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

    def _recording_times(self, times: ArrayLike | None) -> Float[np.ndarray, " n"]:
        """Checks the recording times; None stands for those of the system."""
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

    def _start(
        self, trajectories: int, rng: np.random.Generator, initial: ArrayLike | None
    ) -> Float[np.ndarray, "trajectories d"]:
        """Checks the start states, or draws them."""
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
        """Raises where a state became NaN or infinite."""
        finite = np.isfinite(x).all(axis=-1)
        if not finite.all():
            row = int(np.argmin(finite))
            raise DivergenceError(
                f"expected finite states, but trajectory {row} of {self!r} reached {x[row]} by time {time:g} "
                f"({np.count_nonzero(~finite)} of {len(x)} trajectories lost); integrate with a smaller dt "
                "or start closer to the origin"
            )


def scaled_identity(x: Float[Array, "*batch d"], scale: float) -> Float[Array, "*batch d d"]:
    """Gives scale·I at every state: isotropic additive noise."""
    xp = namespace(x)
    return xp.broadcast_to(scale * xp.eye(x.shape[-1], dtype=x.dtype), (*x.shape, x.shape[-1]))


def coordinate_names(symbol: str, dimension: int) -> tuple[str, ...]:
    """Names coordinates: ("x",) in one dimension, ("x1", "x2", …) in more."""
    return (symbol,) if dimension == 1 else tuple(f"{symbol}{i + 1}" for i in range(dimension))
