"""Laws of many kinds that no choice was made for: what a fit with nothing said makes of each."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from benchmarks.validation.nonpolynomial.experiments import Experiment
from benchmarks.validation.nonpolynomial.families import Family
from benchmarks.validation.nonpolynomial.measurement import Sizes, measure
from benchmarks.validation.nonpolynomial.rows import append, one_line
from benchmarks.validation.tables import console
from nke.mixtures import GaussianMixture
from nke.systems.euler_maruyama import EulerMaruyamaScheme

Array = np.ndarray
Field = Callable[[Float[Array, "n d"]], Array]
UNKNOWN = Family(lambda p, x: x, [])  # there is no reference for these laws


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


def _diagonal(*columns: Array) -> Array:
    return np.stack(columns, axis=-1)[..., None] * np.eye(len(columns))


def _constant(*deviations: float) -> Field:
    return lambda x: np.diag(deviations)


def _uniform(*ranges: tuple[float, float]) -> Callable[[np.random.Generator, int], Array]:
    low, high = np.array(ranges).T
    return lambda rng, m: rng.uniform(low, high, (m, len(low)))


def _one_gaussian(mean: float, deviation: float) -> Callable[[Array], GaussianMixture]:
    def law(x: Array) -> GaussianMixture:
        one = np.ones((*x.shape[:-1], 1))
        return GaussianMixture(one, mean * one[..., None], deviation**2 * one[..., None, None])

    return law


def _toggle() -> Law:
    """Two genes that repress each other, demographic noise."""

    def made(x: Array) -> Array:
        u, v = np.maximum(x, 0).T
        return np.stack([0.1 + 4 / (1 + v**3), 0.1 + 4 / (1 + u**3)], axis=1)

    def noise(x: Array) -> Array:
        return _diagonal(*np.sqrt((made(x) + np.maximum(x, 0)) / 40).T)

    return Law(("u", "v"), lambda x: made(x) - x, noise, _uniform((0.1, 4), (0.1, 4)), within=np.abs, dt=0.004)


def _wright_fisher() -> Law:
    """A share under mutation and selection, between 0 and 1."""
    return Law(
        ("share",),
        lambda x: 0.6 * (0.4 - x) + 0.8 * x * (1 - x),
        lambda x: np.sqrt(0.3 * np.clip(x * (1 - x), 0, None))[..., None],
        _uniform((0.05, 0.95)),
        0.05,
        within=lambda x: np.clip(x, 1e-9, 1 - 1e-9),
        dt=0.002,
    )


def _goodwin() -> Law:
    """A chain of three that represses its own start, demographic noise; the first is often near zero."""

    def drift(x: Array) -> Array:
        a, b, c = np.maximum(x, 0).T
        return np.stack([2 / (1 + c**10) - 0.4 * a, a - 0.4 * b, b - 0.4 * c], axis=1)

    noise: Field = lambda x: _diagonal(*(0.12 * np.sqrt(np.maximum(x, 0) + 0.1)).T)  # noqa: E731
    return Law(("m", "p", "r"), drift, noise, _uniform(*[(0.2, 1.8)] * 3), 0.2, within=np.abs, dt=0.008)


def _chemostat() -> Law:
    """Substrate and biomass with inhibition (Haldane), noise in proportion to the state."""

    def drift(x: Array) -> Array:
        s, b = np.maximum(x, 1e-9).T
        growth = 1.2 * s / (0.3 + s + s * s / 2)
        return np.stack([0.4 * (2.5 - s) - growth * b / 0.6, (growth - 0.4) * b], axis=1)

    noise: Field = lambda x: _diagonal(0.08 * x[:, 0], 0.1 * x[:, 1])  # noqa: E731
    start = _uniform((0.2, 2.4), (0.1, 1.5))
    return Law(("substrate", "biomass"), drift, noise, start, 0.2, within=lambda x: np.maximum(x, 1e-6), dt=0.008)


def _mueller_brown() -> Law:
    """A particle in the potential of Müller and Brown: four exponentials, three wells."""
    size = np.array([-2.0, -1.0, -1.7, 0.15])
    a, b, c = np.array([[-1, -1, -6.5, 0.7], [0, 0, 11, 0.6], [-10, -10, -6.5, 0.7]])
    at = np.array([[1, 0, -0.5, -1], [0, 0.5, 1.5, 1]])

    def drift(x: Array) -> Array:
        u, v = x[:, :1] - at[0], x[:, 1:] - at[1]
        each = size * np.exp(a * u * u + b * u * v + c * v * v)
        return -np.stack([np.sum(each * (2 * a * u + b * v), axis=1), np.sum(each * (b * u + 2 * c * v), axis=1)], 1)

    return Law(("x", "y"), drift, _constant(0.35, 0.35), _uniform((-1.2, 1.1), (-0.2, 1.6)), 0.02, dt=0.0008)


def _morris_lecar() -> Law:
    """A barnacle's muscle: voltage in mV and a share of open channels, in very different units."""

    def drift(x: Array) -> Array:
        v, w = x.T
        calcium, potassium = (1 + np.tanh((v + 1.2) / 18)) / 2, (1 + np.tanh((v - 2) / 30)) / 2
        current = 90 - 4.4 * calcium * (v - 120) - 8 * w * (v + 84) - 2 * (v + 60)
        return np.stack([current / 20, 0.04 * (potassium - w) * np.cosh((v - 2) / 60)], axis=1)

    return Law(("V", "w"), drift, _constant(1.5, 0.006), _uniform((-55, 35), (0.05, 0.45)), 1.0, dt=0.04)


def _chua() -> Law:
    """Chua's circuit: chaos by a resistor whose characteristic has kinks."""

    def drift(x: Array) -> Array:
        u, v, w = x.T
        through = -0.714 * u - 0.2145 * (np.abs(u + 1) - np.abs(u - 1))
        return np.stack([9 * (v - u - through), u - v + w, -14.28 * v], axis=1)

    start = _uniform((-2, 2), (-0.4, 0.4), (-2.5, 2.5))
    return Law(("x", "y", "z"), drift, _constant(0.15, 0.08, 0.15), start, 0.05, dt=0.002)


def _neuron() -> Law:
    """A voltage that fires the more often the higher it is, and is reset by it."""
    return Law(
        ("v",),
        lambda x: 2 - x,
        lambda x: (0.3 + 0.1 * np.cos(2 * x))[..., None],
        _uniform((-1, 2)),
        0.05,
        rate=lambda x: 4 / (1 + np.exp(-5 * (x[..., 0] - 1.2))),
        jump=_one_gaussian(-1.5, 0.15),
        dt=0.002,
    )


def _merton() -> Law:
    """A price with noise and downward jumps in proportion to it."""

    def jump(x: Array) -> GaussianMixture:
        one = np.ones((*x.shape[:-1], 1))
        return GaussianMixture(one, -0.08 * x[..., None, :], (0.06 * x[..., None, :, None]) ** 2)

    noise: Field = lambda x: 0.2 * x[..., None]  # noqa: E731
    sizes = {"trajectories": 200, "rows": 253, "dt": 1 / 2520}
    rate: Field = lambda x: np.full(x.shape[:-1], 3.0)  # noqa: E731
    return Law(("price",), lambda x: 0.08 * x, noise, _uniform((50, 150)), 1 / 252, rate=rate, jump=jump, **sizes)


def _active_particle() -> Law:
    """A swimmer in a trap whose heading turns: one column is an angle, and nobody says so."""

    def drift(x: Array) -> Array:
        u, v, heading = x.T
        return np.stack([1.5 * np.cos(heading) - 0.8 * u, 1.5 * np.sin(heading) - 0.8 * v, 0.6 + 0 * u], axis=1)

    start = _uniform((-1.5, 1.5), (-1.5, 1.5), (0, 2 * np.pi))
    return Law(("x", "y", "heading"), drift, _constant(0.2, 0.2, 0.7), start, dt=0.004)


LAWS: Mapping[str, Callable[[], Law]] = {
    "toggle": _toggle,
    "wright-fisher": _wright_fisher,
    "goodwin": _goodwin,
    "chemostat": _chemostat,
    "mueller-brown": _mueller_brown,
    "morris-lecar": _morris_lecar,
    "chua": _chua,
    "neuron": _neuron,
    "merton": _merton,
    "active-particle": _active_particle,
}
POSITIVE = {"toggle", "wright-fisher", "goodwin", "chemostat", "merton"}


def main(arguments: Sequence[str] = ()) -> None:
    """Fits the laws with nothing said, and prints errors, roll-outs over the floor and warnings."""
    parser = argparse.ArgumentParser("python -m benchmarks.validation further", description=__doc__)
    parser.add_argument("--laws", default=",".join(LAWS))
    parser.add_argument("--first-seed", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--trajectories", type=int, help="of the training set, instead of each law's own number")
    parser.add_argument("--output", type=Path, help="file to which each row is appended as a JSON line")
    options = parser.parse_args(arguments)
    sizes = Sizes() if options.trajectories is None else Sizes(64, 2, 1)
    for seed in range(options.first_seed, options.first_seed + options.seeds):
        for name in options.laws.split(","):
            law = LAWS[name]()
            count = options.trajectories or law.trajectories
            experiment = Experiment(name, law, UNKNOWN, trajectories=count, times=tuple(law.times))
            row = measure(replace(experiment, positive=name in POSITIVE), seed, "automatic", sizes)
            if options.output:
                append(options.output, row)
            said = "; ".join(row.get("warnings", [])) or "no warning"
            borders = row.get("decisions", {}).get("borders", "")
            console.print(one_line(row), said, borders, markup=False, highlight=False, soft_wrap=True)
