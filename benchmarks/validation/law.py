"""A law by its functions of many states, to be simulated and compared with what is learned."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from nke.mixtures import GaussianMixture
from nke.systems.euler_maruyama import EulerMaruyamaScheme

Array = np.ndarray
Field = Callable[[Float[Array, "n d"]], Array]


@dataclass(frozen=True, eq=False)
class Law(EulerMaruyamaScheme):
    """A law by its functions of many states; ``within`` brings states back that a fine step led beyond a border."""

    columns: tuple[str, ...]
    f: Field
    g: Field
    start: Callable[[np.random.Generator, int], Array]
    step: float = 0.1
    rate: Field | None = None
    jump: Callable[[Array], GaussianMixture] | None = None
    within: Field = field(default=lambda x: x)
    trajectories: int = 512
    rows: int = 101

    @property
    def dimension(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return len(self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        return self.columns

    @property
    def times(self) -> Float[Array, " n"]:
        return self.step * np.arange(self.rows)

    @property
    def has_jumps(self) -> bool:
        return self.rate is not None

    def drift(self, x: ArrayLike) -> Float[Array, "*batch d"]:
        states = np.asarray(x, float)
        return self.f(states.reshape(-1, self.dimension)).reshape(states.shape)

    def noise_matrix(self, x: ArrayLike) -> Float[Array, "*batch d d"]:
        states = np.asarray(x, float)
        found = self.g(states.reshape(-1, self.dimension))
        return np.broadcast_to(found, (states.size // self.dimension, *found.shape[-2:])).reshape(
            *states.shape, self.dimension
        )

    def jump_rate(self, x: ArrayLike) -> Float[Array, "*batch"]:
        states = np.asarray(x, float)
        return np.zeros(states.shape[:-1]) if self.rate is None else self.rate(states) + np.zeros(states.shape[:-1])

    def jump_law(self, x: ArrayLike) -> GaussianMixture:
        assert self.jump is not None
        return self.jump(np.asarray(x, float))

    def initial(self, trajectories: int, rng: np.random.Generator) -> Float[Array, "m d"]:
        return self.start(rng, trajectories)

    def advance(self, x: Float[Array, "m d"], step: float, rng: np.random.Generator) -> Float[Array, "m d"]:
        count = max(1, round(step / self.dt))
        for _ in range(count):
            x = self.within(super().advance(x, step / count, rng))
        return x


def diagonal(*columns: Array) -> Array:
    """Independent noise of each coordinate, as matrices."""
    return np.stack(columns, axis=-1)[..., None] * np.eye(len(columns))


def constant(*deviations: float) -> Field:
    """The same independent noise in every state."""
    return lambda x: np.diag(deviations)


def uniform(*ranges: tuple[float, float]) -> Callable[[np.random.Generator, int], Array]:
    """Start states, uniform between two ends for each coordinate."""
    low, high = np.array(ranges).T
    return lambda rng, m: rng.uniform(low, high, (m, len(low)))


def one_gaussian(mean: float, deviation: float) -> Callable[[Array], GaussianMixture]:
    """Jumps of one coordinate that are alike in every state."""

    def law(x: Array) -> GaussianMixture:
        one = np.ones((*x.shape[:-1], 1))
        return GaussianMixture(one, mean * one[..., None], deviation**2 * one[..., None, None])

    return law
