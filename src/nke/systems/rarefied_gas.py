"""A heavy sphere in a gas of light points: molecular dynamics without a time step."""

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import ArrayLike

from nke.arrays import Array, namespace
from nke.data import Trajectories
from nke.errors import InputError, MissingPackageError, UnavailableError
from nke.progress import ProgressOption
from nke.systems.base import System, coordinate_names, scaled_identity
from nke.systems.collision_law import CollisionLaw, mean_relative_speed
from nke.systems.gas.constants import Gas
from nke.systems.langevin import Langevin
from nke.systems.parameters import require_count, require_grid, require_numbers


class Collisions(NamedTuple):
    """All collisions of a simulation, trajectory by trajectory, in order of time.

    Attributes:
        trajectory: Number of the trajectory, shape (c,).
        time: When the sphere and the particle meet, shape (c,).
        position: Position of the sphere, shape (c, 3).
        normal: Unit vector from the sphere to the particle, shape (c, 3).
        before: Velocity of the sphere before the collision, shape (c, 3).
        after: Velocity of the sphere after the collision, shape (c, 3).
        particle_before: Velocity of the particle before the collision, shape (c, 3).
        particle_after: Velocity of the particle after the collision, shape (c, 3).
        again: Whether the particle had hit the sphere before, shape (c,).

    Example:
        >>> hits = nke.systems.RarefiedGas().simulate_collisions(2, seed=0)
        >>> bool((hits.time <= 2.0).all()), bool((hits.after != hits.before).all())
        (True, True)
    """

    trajectory: Int[np.ndarray, " c"]
    time: Float[np.ndarray, " c"]
    position: Float[np.ndarray, "c 3"]
    normal: Float[np.ndarray, "c 3"]
    before: Float[np.ndarray, "c 3"]
    after: Float[np.ndarray, "c 3"]
    particle_before: Float[np.ndarray, "c 3"]
    particle_after: Float[np.ndarray, "c 3"]
    again: Bool[np.ndarray, " c"]


@dataclass(frozen=True)
class RarefiedGas(System):
    """Position X and velocity V of a heavy sphere in an ideal gas of points, simulated without a time step.

        dX = V dt,  V jumps at the rate Λ(V) of collisions by the law h_V (``jump_rate``, ``jump_law``)

    The gas has density λ_g = 3/(8R²) √((μ+1)γ/(2πD)) and velocities N(0, σ²I), σ² = (μ+1)Dγ: then V converges to the
    Langevin equation with friction γ and diffusivity D as μ → ∞. Paths start at the origin in equilibrium.

    Two simulators give the same law. "lazy" draws particles when they hit; "box" follows all particles of a cube around
    the sphere. The path is not quite a Markov process: a particle may come back. Simulation needs Numba
    (``pip install 'nke[gas]'``).

    Args:
        mass_ratio: Mass μ of the sphere in masses of a particle, > 0.
        friction: Friction γ of the Langevin limit, > 0.
        diffusivity: Diffusivity D of the Langevin limit, > 0.
        radius: Radius R of the sphere, > 0.
        bath_size: Mean number of particles in the cube of the "box" simulator, ≥ 1.
        duration: Time at which a recording ends.
        interval: Time between two records; ``duration`` is a whole number of them.

    Example:
        >>> gas = nke.systems.RarefiedGas(mass_ratio=10.0)
        >>> gas.simulate(4, seed=0).states.shape
        (4, 101, 6)
    """

    mass_ratio: float = 10.0
    friction: float = 1.0
    diffusivity: float = 1.0
    radius: float = 0.25
    bath_size: int = 20_000
    duration: float = 2.0  # pyright: ignore[reportIncompatibleVariableOverride]
    interval: float = 0.02  # pyright: ignore[reportIncompatibleVariableOverride]
    dimension: int = field(default=6, init=False, repr=False)

    def __post_init__(self):
        require_numbers(self, "mass_ratio", "friction", "diffusivity", "radius", above=0)
        require_count(self, "bath_size", "the mean number of particles in the box")
        require_grid(self)

    @property
    def names(self) -> tuple[str, ...]:
        """The names x1, x2, x3 of the position and v1, v2, v3 of the velocity.

        Example:
            >>> nke.systems.RarefiedGas().names
            ('x1', 'x2', 'x3', 'v1', 'v2', 'v3')
        """
        return coordinate_names("x", 3) + coordinate_names("v", 3)

    @property
    def has_jumps(self) -> bool:
        """True: every collision is a jump of the velocity.

        Example:
            >>> nke.systems.RarefiedGas().has_jumps
            True
        """
        return True

    @property
    def density(self) -> float:
        """Density λ_g of the gas, particles per volume.

        Example:
            >>> round(nke.systems.RarefiedGas().density, 3)
            7.939
        """
        return (
            3
            / (8 * self.radius**2)
            * math.sqrt((self.mass_ratio + 1) * self.friction / (2 * math.pi * self.diffusivity))
        )

    @property
    def spread(self) -> float:
        """Standard deviation σ of each component of a gas particle's velocity.

        Example:
            >>> round(nke.systems.RarefiedGas().spread, 4)
            3.3166
        """
        return math.sqrt((self.mass_ratio + 1) * self.diffusivity * self.friction)

    @property
    def box_side(self) -> float:
        """Side of the cube that holds ``bath_size`` particles on average.

        Example:
            >>> round(nke.systems.RarefiedGas().box_side, 3)
            13.607
        """
        return (self.bath_size / self.density) ** (1 / 3)

    @property
    def constants(self) -> Gas:
        """The numbers that the compiled kernels need.

        Example:
            >>> nke.systems.RarefiedGas().constants.mass_ratio
            10.0
        """
        return Gas(self.density, self.spread, self.mass_ratio, self.radius)

    def drift(self, x: ArrayLike) -> Float[Array, "*batch d"]:
        """Computes (V, 0), as ``System.drift``."""
        state = self.as_states(x)
        xp = namespace(state)
        return xp.concatenate([state[..., 3:], xp.zeros_like(state[..., 3:])], axis=-1)

    def noise_matrix(self, x: ArrayLike) -> Float[Array, "*batch d d"]:
        """Gives zeros: between collisions nothing is random."""
        return scaled_identity(self.as_states(x), 0.0)

    def jump_rate(self, x: ArrayLike) -> Float[Array, "*batch"]:
        """Computes Λ(V) = λ_g πR² E|v − V|, the rate of collisions in an untouched gas, as ``System.jump_rate``."""
        state = self.as_states(x)
        xp = namespace(state)
        square = xp.sum(state[..., 3:] ** 2, axis=-1)
        speed = xp.asarray(xp.sqrt(xp.maximum(square, 1e-20 * self.spread**2)))  # with a derivative at rest
        return xp.asarray(self.density * math.pi * self.radius**2 * mean_relative_speed(speed, self.spread))

    def jump_law(self, x: ArrayLike) -> CollisionLaw:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Gives the law h_V of one jump exactly.

        Args:
            x: States, shape (..., 6).

        Returns:
            The law, not a Gaussian mixture, but with ``mean``, ``covariance``, ``sample`` and ``log_prob`` like one.

        Example:
            >>> law = nke.systems.RarefiedGas().jump_law([0.0, 0.0, 0.0, 5.0, 0.0, 0.0])
            >>> law.mean[3].round(2)  # collisions slow a fast sphere down
            np.float64(-0.55)
        """
        return CollisionLaw(np.asarray(self.as_states(x), np.float64)[..., 3:], self.mass_ratio, self.spread)

    def log_density(
        self, x_next: Float[np.ndarray, "*#b d"], x: Float[np.ndarray, "*#b d"], step: Float[np.ndarray, "*#b"]
    ) -> Float[np.ndarray, "*b"]:
        """Refuses: the transition has no density.

        Raises:
            UnavailableError: Always.
        """
        raise UnavailableError(
            "the sphere may fly through a step without a collision, so its transition has no density; "
            "compare with simulate(..., initial=...) instead"
        )

    @property
    def velocity_variance(self) -> float:
        """Variance (μ+1)/μ Dγ of each component of the velocity in equilibrium (equipartition).

        Example:
            >>> round(nke.systems.RarefiedGas().velocity_variance, 3)
            1.1
        """
        return self.spread**2 / self.mass_ratio

    @property
    def relaxation_rate(self) -> float:
        """Rate γ√(1 + 1/μ) at which the velocity autocorrelation falls at t = 0.

        Example:
            >>> round(nke.systems.RarefiedGas().relaxation_rate, 4)
            1.0488
        """
        return self.friction * math.sqrt(1 + 1 / self.mass_ratio)

    @property
    def collision_rate(self) -> float:
        """Collisions per unit time, ¾(μ+1)γ√(1 + 1/μ): the mean of Λ(V) in equilibrium.

        Example:
            >>> round(nke.systems.RarefiedGas().collision_rate, 3)
            8.653
        """
        return 0.75 * (self.mass_ratio + 1) * self.relaxation_rate

    @property
    def jump_scale(self) -> float:
        """Scale 2√(Dγ/μ) of the Rayleigh law of |ΔV| in equilibrium; its direction is uniform.

        Example:
            >>> round(nke.systems.RarefiedGas().jump_scale, 3)
            0.632
        """
        return 2 * math.sqrt(self.diffusivity * self.friction / self.mass_ratio)

    def autocorrelation(self, t: ArrayLike) -> Float[np.ndarray, "*batch"]:
        """Computes the autocorrelation of the velocity, exp(−γ√(1 + 1/μ) t).

        It is exact as t → 0 or μ → ∞; measured, it is within 0.002 of the gas at μ = 10 and within 0.007 at μ = 1.

        Args:
            t: Times elapsed, shape (...).

        Returns:
            Correlation of each component of the velocity with itself, shape (...).

        Example:
            >>> nke.systems.RarefiedGas().autocorrelation([0.0, 1.0]).round(4).tolist()
            [1.0, 0.3504]
        """
        return np.asarray(np.exp(-self.relaxation_rate * np.asarray(t, np.float64)))

    def mean_squared_displacement(self, t: ArrayLike) -> Float[np.ndarray, "*batch"]:
        """Computes the mean squared displacement of each component, 2 Var V (νt − 1 + e^{−νt})/ν².

        Here ν is the rate of the exponential autocorrelation of the velocity.

        Args:
            t: Times elapsed, shape (...).

        Returns:
            Mean squared displacement, shape (...).

        Example:
            >>> nke.systems.RarefiedGas().mean_squared_displacement(5.0).round(2)
            np.float64(8.5)
        """
        turns = self.relaxation_rate * np.asarray(t, np.float64)
        return np.asarray(2 * self.velocity_variance * (turns + np.expm1(-turns)) / self.relaxation_rate**2)

    @property
    def langevin(self) -> Langevin:
        """Langevin equation of the limit μ → ∞, with the same friction and diffusivity.

        Example:
            >>> nke.systems.RarefiedGas(friction=2.0).langevin.friction
            2.0
        """
        return Langevin(self.friction, self.diffusivity, self.duration, self.interval)

    def initial(self, trajectories: int, rng: np.random.Generator) -> Float[np.ndarray, "trajectories d"]:
        """Draws velocities in equilibrium at the origin, as ``System.initial``."""
        velocity = math.sqrt(self.velocity_variance) * rng.standard_normal((trajectories, 3))
        return np.hstack([np.zeros((trajectories, 3)), velocity])

    def advance(self, x: Float[np.ndarray, "m d"], step: float, rng: np.random.Generator) -> Float[np.ndarray, "m d"]:
        """Draws the states a time ``step`` later in a fresh gas: particles that were hit before are not there."""
        return self.simulate_states(len(x), int(rng.integers(2**63)), [0.0, step], x)[:, -1]

    def simulate(
        self,
        trajectories: int,
        seed: int,
        times: ArrayLike | None = None,
        initial: ArrayLike | None = None,
        progress: ProgressOption = False,
        *,
        method: str = "lazy",
    ) -> Trajectories:
        """Simulates recorded trajectories, as ``System.simulate``; the same seed gives the same trajectories.

        Args:
            trajectories: How many.
            seed: Seed of all random numbers.
            times: Recording times, shape (n,), of which the first is the start; None takes ``self.times``.
            initial: Start states, shape (trajectories, 6); None draws them by ``initial``.
            progress: Whether to show a bar; None: on a terminal; or a callback, see ``nke.progress``.
            method: The simulator, "lazy" or "box".

        Returns:
            The trajectories of positions and velocities.

        Raises:
            InputError: An argument is not as stated, or the cube of "box" has no room around the sphere.
            MissingPackageError: Numba is not installed.

        Example:
            >>> gas = nke.systems.RarefiedGas(bath_size=200)
            >>> gas.simulate(2, seed=0, times=[0.0, 0.5, 1.0], method="box").states.shape
            (2, 3, 6)
        """
        recorded = self._recording_times(times)
        states = self.simulate_states(trajectories, seed, recorded, initial, progress, method=method)
        return Trajectories(states, recorded, names=self.names)

    def simulate_states(
        self,
        trajectories: int,
        seed: int,
        times: ArrayLike | None = None,
        initial: ArrayLike | None = None,
        progress: ProgressOption = False,
        *,
        method: str = "lazy",
    ) -> Float[np.ndarray, "trajectories n d"]:
        """Simulates the bare array of states behind ``simulate``, trajectory by trajectory.

        Args:
            trajectories: As in ``simulate``.
            seed: As in ``simulate``.
            times: As in ``simulate``.
            initial: As in ``simulate``.
            progress: As in ``simulate``.
            method: As in ``simulate``.

        Returns:
            States, shape (trajectories, n, 6).

        Example:
            >>> nke.systems.RarefiedGas().simulate_states(2, 0, [0.0, 1.0])[:, 0, :3].tolist()
            [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
        """
        return self._run(trajectories, seed, times, initial, method, 0, progress)[0]

    def simulate_collisions(
        self,
        trajectories: int,
        seed: int,
        times: ArrayLike | None = None,
        initial: ArrayLike | None = None,
        progress: ProgressOption = False,
        *,
        method: str = "lazy",
    ) -> Collisions:
        """Gives the collisions of the trajectories that ``simulate`` gives with the same arguments.

        Args:
            trajectories: How many.
            seed: Seed of all random numbers.
            times: Recording times, of which only the first and the last matter; None takes ``self.times``.
            initial: Start states, shape (trajectories, 6); None draws them by ``initial``.
            progress: As in ``simulate``.
            method: The simulator, "lazy" or "box".

        Returns:
            The collisions, trajectory by trajectory, in order of time.

        Raises:
            InputError: An argument is not as stated, or the cube of "box" has no room around the sphere.
            MissingPackageError: Numba is not installed.

        Example:
            >>> hits = nke.systems.RarefiedGas().simulate_collisions(100, seed=0)
            >>> bool(abs(len(hits.time) / 200 - 8.653) < 1)  # per unit time
            True
        """
        recorded = self._recording_times(times)
        expected = 2 * self.collision_rate * (recorded[-1] - recorded[0])
        _, rows, counts = self._run(trajectories, seed, recorded, initial, method, 10 + math.ceil(expected), progress)
        index = np.repeat(np.arange(trajectories), counts)
        time, position, normal, before, after, hit, gone, again = np.split(rows, range(1, 20, 3), axis=1)
        return Collisions(index, time[:, 0], position, normal, before, after, hit, gone, again[:, 0] > 0)

    def _run(
        self,
        trajectories: int,
        seed: int,
        times: ArrayLike | None,
        initial: ArrayLike | None,
        method: str,
        room: int,
        progress: ProgressOption,
    ):
        """States, collisions and their numbers by one of the two simulators."""
        if method not in ("lazy", "box"):
            raise InputError(f"expected method to be 'lazy' or 'box', but got {method!r}")
        recorded = self._recording_times(times)
        starts = self._start(trajectories, np.random.default_rng(seed), initial)
        if method == "box":
            self._refuse_a_small_box()
        half = self.box_side / 2 if method == "box" else None
        return _running().run(self.constants, half, starts, recorded, seed, room, progress)

    def _refuse_a_small_box(self):
        """Refuses a cube that the sphere nearly fills."""
        if self.box_side < 4 * self.radius:
            raise InputError(
                f"expected a box with room around the sphere, but {self.bath_size} particles of density "
                f"{self.density:.3g} fill a cube of side {self.box_side:.3g}, less than twice the sphere's diameter, "
                f"{2 * self.radius:g}; pass a larger bath_size or a smaller radius"
            )


def _running():
    """Imports the kernels when they are needed: Numba takes a second to import."""
    try:
        from nke.systems.gas import running
    except ImportError as error:
        raise MissingPackageError(f"RarefiedGas needs Numba ({error}); install it by pip install 'nke[gas]'") from error
    return running
