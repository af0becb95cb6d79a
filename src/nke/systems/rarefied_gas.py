"""A heavy sphere in a gas of light points: molecular dynamics without a time step."""

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

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
    """All collisions of a simulation, trajectory by trajectory, in order of time."""

    trajectory: Int[np.ndarray, " c"]
    time: Float[np.ndarray, " c"]
    position: Float[np.ndarray, "c 3"]  # of the sphere
    normal: Float[np.ndarray, "c 3"]  # from the sphere to the particle
    before: Float[np.ndarray, "c 3"]  # velocity of the sphere
    after: Float[np.ndarray, "c 3"]
    particle_before: Float[np.ndarray, "c 3"]  # velocity of the particle
    particle_after: Float[np.ndarray, "c 3"]
    again: Bool[np.ndarray, " c"]  # the particle had hit the sphere before


@dataclass(frozen=True)
class RarefiedGas(System):
    """Position and velocity of a sphere of mass M in an ideal gas of points of mass m, μ = M/m = ``mass_ratio``.

    The gas has density λ_g = 3/(8R²) √((μ+1)γ/(2πD)) and velocities N(0, σ²I), σ² = (μ+1)Dγ, with γ = ``friction`` and
    D = ``diffusivity``: those of the Langevin equation to which V converges as μ → ∞. Between collisions the sphere
    flies straight, so that dX = V dt without noise, and V moves by jumps alone. Started at the origin in equilibrium.

    Two simulators give the same law. "lazy" draws particles when they hit; "box" follows all particles of a cube around
    the sphere, ``bath_size`` of them on average. The path is not quite a Markov process: a particle may come back.
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
        return coordinate_names("x", 3) + coordinate_names("v", 3)

    @property
    def has_jumps(self) -> bool:
        return True

    @property
    def density(self) -> float:
        """λ_g, particles per volume."""
        return (
            3
            / (8 * self.radius**2)
            * math.sqrt((self.mass_ratio + 1) * self.friction / (2 * math.pi * self.diffusivity))
        )

    @property
    def spread(self) -> float:
        """σ, the standard deviation of each component of a gas particle's velocity."""
        return math.sqrt((self.mass_ratio + 1) * self.diffusivity * self.friction)

    @property
    def box_side(self) -> float:
        return (self.bath_size / self.density) ** (1 / 3)

    @property
    def constants(self) -> Gas:
        return Gas(self.density, self.spread, self.mass_ratio, self.radius)

    def drift(self, x: Any) -> Float[Array, "*batch d"]:
        x = self.as_states(x)
        xp = namespace(x)
        return xp.concatenate([x[..., 3:], xp.zeros_like(x[..., 3:])], axis=-1)

    def noise_matrix(self, x: Any) -> Float[Array, "*batch d d"]:
        return scaled_identity(self.as_states(x), 0.0)

    def jump_rate(self, x: Any) -> Float[Array, "*batch"]:
        """Λ(V) = λ_g πR² E|v − V|, the rate of collisions in an untouched gas."""
        x = self.as_states(x)
        xp = namespace(x)
        square = xp.sum(x[..., 3:] ** 2, axis=-1)
        speed = xp.asarray(xp.sqrt(xp.maximum(square, 1e-20 * self.spread**2)))  # with a derivative at rest
        return xp.asarray(self.density * math.pi * self.radius**2 * mean_relative_speed(speed, self.spread))

    def jump_law(self, x: Any) -> CollisionLaw:  # pyright: ignore[reportIncompatibleMethodOverride]
        """h_V, exactly; no Gaussian mixture, but with the same mean, covariance, sample and log_prob."""
        return CollisionLaw(np.asarray(self.as_states(x), np.float64)[..., 3:], self.mass_ratio, self.spread)

    def log_prob(self, x_next: Any, x: Any, step: Any) -> Float[np.ndarray, "*batch"]:
        raise UnavailableError(
            "the sphere may fly through a step without a collision, so its transition has no density; "
            "compare with simulate(..., initial=...) instead"
        )

    @property
    def velocity_variance(self) -> float:
        """(μ+1)/μ Dγ per component: equipartition."""
        return self.spread**2 / self.mass_ratio

    @property
    def relaxation_rate(self) -> float:
        """γ√(1 + 1/μ): −d/dt of the velocity autocorrelation at 0."""
        return self.friction * math.sqrt(1 + 1 / self.mass_ratio)

    @property
    def collision_rate(self) -> float:
        """¾(μ+1)γ√(1 + 1/μ), the mean of Λ(V) in equilibrium."""
        return 0.75 * (self.mass_ratio + 1) * self.relaxation_rate

    @property
    def jump_scale(self) -> float:
        """2√(Dγ/μ): in equilibrium |ΔV| has the Rayleigh law of this scale, in a uniform direction."""
        return 2 * math.sqrt(self.diffusivity * self.friction / self.mass_ratio)

    def autocorrelation(self, t: Any) -> Float[np.ndarray, "*batch"]:
        """Of the velocity: exp(−γ√(1 + 1/μ) t).

        Exact as t → 0 or μ → ∞; measured, it is within 0.002 of the gas at μ = 10 and within 0.007 at μ = 1.
        """
        return np.asarray(np.exp(-self.relaxation_rate * np.asarray(t, np.float64)))

    def mean_squared_displacement(self, t: Any) -> Float[np.ndarray, "*batch"]:
        """Per component, 2 Var V (νt − 1 + e^{−νt})/ν² with the exponential autocorrelation of rate ν."""
        turns = self.relaxation_rate * np.asarray(t, np.float64)
        return np.asarray(2 * self.velocity_variance * (turns + np.expm1(-turns)) / self.relaxation_rate**2)

    @property
    def langevin(self) -> Langevin:
        """The limit μ → ∞ at the same friction and diffusivity."""
        return Langevin(self.friction, self.diffusivity, self.duration, self.interval)

    def initial(self, trajectories: int, rng: np.random.Generator) -> Float[np.ndarray, "trajectories d"]:
        velocity = math.sqrt(self.velocity_variance) * rng.standard_normal((trajectories, 3))
        return np.hstack([np.zeros((trajectories, 3)), velocity])

    def advance(self, x: Float[np.ndarray, "m d"], step: float, rng: np.random.Generator) -> Float[np.ndarray, "m d"]:
        """From a fresh bath: particles that were hit before ``x`` are not there."""
        return self.simulate_states(len(x), int(rng.integers(2**63)), [0.0, step], x)[:, -1]

    def simulate(
        self,
        trajectories: int,
        seed: int,
        times: Any = None,
        initial: Any = None,
        progress: ProgressOption = False,
        *,
        method: str = "lazy",
    ) -> Trajectories:
        times = self._recording_times(times)
        states = self.simulate_states(trajectories, seed, times, initial, progress, method=method)
        return Trajectories(states, times, names=self.names)

    def simulate_states(
        self,
        trajectories: int,
        seed: int,
        times: Any = None,
        initial: Any = None,
        progress: ProgressOption = False,
        *,
        method: str = "lazy",
    ) -> Float[np.ndarray, "trajectories n d"]:
        """The bare array behind ``simulate``; progress counts trajectories, which are simulated one after the other."""
        return self._run(trajectories, seed, times, initial, method, 0, progress)[0]

    def simulate_collisions(
        self,
        trajectories: int,
        seed: int,
        times: Any = None,
        initial: Any = None,
        progress: ProgressOption = False,
        *,
        method: str = "lazy",
    ) -> Collisions:
        """The collisions of the trajectories that ``simulate`` gives with the same arguments."""
        times = self._recording_times(times)
        expected = 2 * self.collision_rate * (times[-1] - times[0])
        _, rows, counts = self._run(trajectories, seed, times, initial, method, 10 + math.ceil(expected), progress)
        index = np.repeat(np.arange(trajectories), counts)
        time, position, normal, before, after, hit, gone, again = np.split(rows, range(1, 20, 3), axis=1)
        return Collisions(index, time[:, 0], position, normal, before, after, hit, gone, again[:, 0] > 0)

    def _run(
        self, trajectories: int, seed: int, times: Any, initial: Any, method: str, room: int, progress: ProgressOption
    ):
        if method not in ("lazy", "box"):
            raise InputError(f"expected method to be 'lazy' or 'box', but got {method!r}")
        times = self._recording_times(times)
        starts = self._start(trajectories, np.random.default_rng(seed), initial)
        if method == "box":
            self._refuse_a_small_box()
        half = self.box_side / 2 if method == "box" else None
        return _running().run(self.constants, half, starts, times, seed, room, progress)

    def _refuse_a_small_box(self):
        if self.box_side < 4 * self.radius:
            raise InputError(
                f"expected a box with room around the sphere, but {self.bath_size} particles of density "
                f"{self.density:.3g} fill a cube of side {self.box_side:.3g}, less than twice the sphere's diameter, "
                f"{2 * self.radius:g}; pass a larger bath_size or a smaller radius"
            )


def _running():
    """Numba takes a second to import, so it waits until it is needed."""
    try:
        from nke.systems.gas import running
    except ImportError as error:
        raise MissingPackageError(f"RarefiedGas needs Numba ({error}); install it by pip install 'nke[gas]'") from error
    return running
