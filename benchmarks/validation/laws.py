"""Laws of many kinds, with their truth."""

from collections.abc import Callable, Mapping

import numpy as np

from benchmarks.validation.law import Array, Field, Law, constant, diagonal, one_gaussian, uniform
from nke.mixtures import GaussianMixture


def _toggle() -> Law:
    """Two genes that repress each other, demographic noise."""

    def made(x: Array) -> Array:
        u, v = np.maximum(x, 0).T
        return np.stack([0.1 + 4 / (1 + v**3), 0.1 + 4 / (1 + u**3)], axis=1)

    def noise(x: Array) -> Array:
        return diagonal(*np.sqrt((made(x) + np.maximum(x, 0)) / 40).T)

    return Law(("u", "v"), lambda x: made(x) - x, noise, uniform((0.1, 4), (0.1, 4)), within=np.abs, dt=0.004)


def _wright_fisher() -> Law:
    """A share under mutation and selection, between 0 and 1."""
    return Law(
        ("share",),
        lambda x: 0.6 * (0.4 - x) + 0.8 * x * (1 - x),
        lambda x: np.sqrt(0.3 * np.clip(x * (1 - x), 0, None))[..., None],
        uniform((0.05, 0.95)),
        0.05,
        within=lambda x: np.clip(x, 1e-9, 1 - 1e-9),
        dt=0.002,
    )


def _goodwin() -> Law:
    """A chain of three that represses its own start, demographic noise; the first is often near zero."""

    def drift(x: Array) -> Array:
        a, b, c = np.maximum(x, 0).T
        return np.stack([2 / (1 + c**10) - 0.4 * a, a - 0.4 * b, b - 0.4 * c], axis=1)

    noise: Field = lambda x: diagonal(*(0.12 * np.sqrt(np.maximum(x, 0) + 0.1)).T)  # noqa: E731
    return Law(("m", "p", "r"), drift, noise, uniform(*[(0.2, 1.8)] * 3), 0.2, within=np.abs, dt=0.008)


def _chemostat() -> Law:
    """Substrate and biomass with inhibition (Haldane), noise in proportion to the state."""

    def drift(x: Array) -> Array:
        s, b = np.maximum(x, 1e-9).T
        growth = 1.2 * s / (0.3 + s + s * s / 2)
        return np.stack([0.4 * (2.5 - s) - growth * b / 0.6, (growth - 0.4) * b], axis=1)

    noise: Field = lambda x: diagonal(0.08 * x[:, 0], 0.1 * x[:, 1])  # noqa: E731
    start = uniform((0.2, 2.4), (0.1, 1.5))
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

    return Law(("x", "y"), drift, constant(0.35, 0.35), uniform((-1.2, 1.1), (-0.2, 1.6)), 0.02, dt=0.0008)


def _morris_lecar() -> Law:
    """A barnacle's muscle: voltage in mV and a share of open channels, in very different units."""

    def drift(x: Array) -> Array:
        v, w = x.T
        calcium, potassium = (1 + np.tanh((v + 1.2) / 18)) / 2, (1 + np.tanh((v - 2) / 30)) / 2
        current = 90 - 4.4 * calcium * (v - 120) - 8 * w * (v + 84) - 2 * (v + 60)
        return np.stack([current / 20, 0.04 * (potassium - w) * np.cosh((v - 2) / 60)], axis=1)

    return Law(("V", "w"), drift, constant(1.5, 0.006), uniform((-55, 35), (0.05, 0.45)), 1.0, dt=0.04)


def _chua() -> Law:
    """Chua's circuit: chaos by a resistor whose characteristic has kinks."""

    def drift(x: Array) -> Array:
        u, v, w = x.T
        through = -0.714 * u - 0.2145 * (np.abs(u + 1) - np.abs(u - 1))
        return np.stack([9 * (v - u - through), u - v + w, -14.28 * v], axis=1)

    start = uniform((-2, 2), (-0.4, 0.4), (-2.5, 2.5))
    return Law(("x", "y", "z"), drift, constant(0.15, 0.08, 0.15), start, 0.05, dt=0.002)


def _neuron() -> Law:
    """A voltage that fires the more often the higher it is, and is reset by it."""
    return Law(
        ("v",),
        lambda x: 2 - x,
        lambda x: (0.3 + 0.1 * np.cos(2 * x))[..., None],
        uniform((-1, 2)),
        0.05,
        rate=lambda x: 4 / (1 + np.exp(-5 * (x[..., 0] - 1.2))),
        jump=one_gaussian(-1.5, 0.15),
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
    return Law(("price",), lambda x: 0.08 * x, noise, uniform((50, 150)), 1 / 252, rate=rate, jump=jump, **sizes)


def _active_particle() -> Law:
    """A swimmer in a trap whose heading turns: one column is an angle, and nobody says so."""

    def drift(x: Array) -> Array:
        u, v, heading = x.T
        return np.stack([1.5 * np.cos(heading) - 0.8 * u, 1.5 * np.sin(heading) - 0.8 * v, 0.6 + 0 * u], axis=1)

    start = uniform((-1.5, 1.5), (-1.5, 1.5), (0, 2 * np.pi))
    return Law(("x", "y", "heading"), drift, constant(0.2, 0.2, 0.7), start, dt=0.004)


def _power_noise() -> Law:
    """A rate that returns to one, with noise by a power of it: one long path."""
    noise: Field = lambda x: 0.5 * np.abs(x[..., None]) ** 1.4  # noqa: E731
    sizes = {"trajectories": 1, "rows": 10_001, "dt": 0.002}
    return Law(("rate",), lambda x: 2 * (1 - x), noise, uniform((0.5, 1.5)), 0.05, within=np.abs, **sizes)


def _wilson_cowan() -> Law:
    """Two populations of neurons with sigmoid responses and correlated noise."""

    def drift(x: Array) -> Array:
        e, i = x.T
        excited, inhibited = _sigmoid(6 * (1.2 * e - i - 0.1)), _sigmoid(5 * (1.5 * e - 0.4 * i - 0.45))
        return np.stack([excited - e - 0.05, 0.6 * (inhibited - i)], axis=1)

    noise: Field = lambda x: np.array([[0.06, 0.0], [0.03, 0.05]])  # noqa: E731
    return Law(("E", "I"), drift, noise, uniform((0, 1), (0, 1)), trajectories=128, rows=201, dt=0.005)


def _ice() -> Law:
    """A temperature with two stable states by a saturating feedback: one long path."""
    sizes = {"trajectories": 1, "rows": 20_001, "dt": 0.01}
    return Law(("T",), lambda x: np.tanh(3 * x) - 0.9 * x + 0.05, constant(0.35), uniform((-1, 1)), **sizes)


def _van_der_pol() -> Law:
    """Relaxation oscillations with noise that depends on the state and is coupled."""

    def noise(x: Array) -> Array:
        u, v = x.T
        zero = np.zeros_like(u)
        return np.stack([0.2 + zero, zero, 0.15 * u, 0.3 * np.sqrt(1 + v * v / 4)], axis=1).reshape(-1, 2, 2)

    drift: Field = lambda x: np.stack([x[:, 1], 1.5 * (1 - x[:, 0] ** 2) * x[:, 1] - x[:, 0]], axis=1)  # noqa: E731
    return Law(("x", "y"), drift, noise, uniform((-2, 2), (-2, 2)), 0.05, trajectories=200, dt=0.002)


def _friction() -> Law:
    """A particle whose friction, and with it its noise, depends on where it is."""
    rub: Field = lambda q: 0.3 + 0.8 / (1 + q * q)  # noqa: E731

    def drift(x: Array) -> Array:
        q, p = x.T
        return np.stack([p, -np.sin(2 * q) - 0.4 * q - rub(q) * p], axis=1)

    noise: Field = lambda x: diagonal(0 * x[:, 0], np.sqrt(0.8 * rub(x[:, 0])))  # noqa: E731
    return Law(("q", "p"), drift, noise, uniform((-2, 2), (-1, 1)), 0.05, trajectories=100, rows=401, dt=0.0025)


def _broad_jumps() -> Law:
    """Upward jumps of very different sizes."""

    def jump(x: Array) -> GaussianMixture:
        one = np.ones((*x.shape[:-1], 1))
        means, deviations = np.array([0.3, 0.7, 1.3, 2.4])[:, None], np.array([0.15, 0.25, 0.4, 0.7])[:, None, None]
        return GaussianMixture(one * np.full(4, 0.25), one[..., None] * means, one[..., None, None] * deviations**2)

    rate: Field = lambda x: np.full(x.shape[:-1], 0.8)  # noqa: E731
    sizes = {"trajectories": 50, "rows": 401, "dt": 0.0025}
    return Law(("x",), lambda x: -1.2 * x, constant(0.3), uniform((-1, 2)), 0.05, rate=rate, jump=jump, **sizes)


def _harvests() -> Law:
    """Two populations with noise and harvests in proportion to them."""

    def drift(x: Array) -> Array:
        a, b = x.T
        return np.stack([a * (1.2 - a / 2), b * (0.9 - b / (1 + a))], axis=1)

    def noise(x: Array) -> Array:
        a, b = x.T
        return np.stack([0.15 * a, 0 * a, 0.06 * b, 0.12 * b], axis=1).reshape(-1, 2, 2)

    def jump(x: Array) -> GaussianMixture:
        one = np.ones((*x.shape[:-1], 1))
        covariance = (0.1 * x)[..., None, :, None] ** 2 * np.eye(2)
        return GaussianMixture(one, x[..., None, :] * np.array([-0.4, -0.2]), covariance)

    rate: Field = lambda x: np.full(x.shape[:-1], 0.4)  # noqa: E731
    sizes = {"trajectories": 200, "dt": 0.005, "within": lambda x: np.maximum(x, 1e-6)}
    return Law(("a", "b"), drift, noise, uniform((1, 3), (1, 3)), rate=rate, jump=jump, **sizes)


def _threshold() -> Law:
    """Drift and noise that are others beyond a threshold: one long path."""
    drift: Field = lambda x: np.where(x > 0.5, 0.3 - 2 * (x - 0.5), 0.3 - 0.2 * (x - 0.5))  # noqa: E731
    noise: Field = lambda x: np.where(x > 0.5, 0.8, 0.3)[..., None]  # noqa: E731
    sizes = {"trajectories": 1, "rows": 20_001, "dt": 0.0025}
    return Law(("x",), drift, noise, uniform((-1, 2)), 0.05, **sizes)


def _two_neurons() -> Law:
    """Two neurons (FitzHugh and Nagumo) that are coupled by a saturating current."""

    def drift(x: Array) -> Array:
        v, w, u, z = x.T
        first = 2 * (v - v**3 / 3 - w + 0.5 + 0.4 * np.tanh(u - v))
        second = 2 * (u - u**3 / 3 - z + 0.4 + 0.4 * np.tanh(v - u))
        return np.stack([first, 0.16 * (v + 0.7 - 0.8 * w), second, 0.16 * (u + 0.7 - 0.8 * z)], axis=1)

    start = uniform(*[(-1.5, 1.5)] * 4)
    noise = constant(0.15, 0.05, 0.15, 0.05)
    return Law(("v", "w", "u", "z"), drift, noise, start, 0.2, trajectories=100, rows=201, dt=0.01)


def _heston() -> Law:
    """A price whose variance returns to a mean, both recorded daily: eight paths of four years."""

    def noise(x: Array) -> Array:
        v = np.sqrt(np.maximum(x[:, 1], 0))
        return np.stack([v, 0 * v, -0.24 * v, 0.32 * v], axis=1).reshape(-1, 2, 2)

    drift: Field = lambda x: np.stack([0.05 - x[:, 1] / 2, 3 * (0.04 - x[:, 1])], axis=1)  # noqa: E731
    start = lambda rng, m: np.stack([np.zeros(m), rng.gamma(1.5, 0.0267, m)], axis=1)  # noqa: E731
    within: Field = lambda x: np.stack([x[:, 0], np.abs(x[:, 1])], axis=1)  # noqa: E731
    sizes = {"trajectories": 8, "rows": 1001, "dt": 1 / 2520}
    return Law(("log_price", "variance"), drift, noise, start, 1 / 252, within=within, **sizes)


def _glycolysis() -> Law:
    """Selkov's oscillator with saturation, demographic noise."""

    def drift(x: Array) -> Array:
        a, b = np.maximum(x, 0).T
        made = a * a * b / (1 + 0.2 * a * a)
        return np.stack([0.08 * b - a + made, 0.6 - 0.08 * b - made], axis=1)

    noise: Field = lambda x: diagonal(*0.08 * np.sqrt(np.maximum(x, 0)).T)  # noqa: E731
    start = uniform((0.2, 2), (0.3, 2.5))
    return Law(("ADP", "F6P"), drift, noise, start, 0.2, within=np.abs, trajectories=128, dt=0.005)


def _activity() -> Law:
    """Jumps that come most often in the middle, beside noise that depends on the state."""
    rate: Field = lambda x: 3 * np.exp(-2 * x[..., 0] ** 2)  # noqa: E731
    noise: Field = lambda x: (0.25 + 0.15 * np.tanh(x))[..., None]  # noqa: E731
    drift: Field = lambda x: 0.5 * np.sin(3 * x) - 1.5 * x  # noqa: E731
    sizes = {"trajectories": 100, "rows": 201, "dt": 0.0025}
    return Law(("x",), drift, noise, uniform((-1, 2)), 0.05, rate=rate, jump=one_gaussian(0.8, 0.2), **sizes)


def _competition() -> Law:
    """Four species, each in competition with the next, with noise in proportion to them."""
    growth, others = np.array([0.5, 0.4, 0.3, 0.6]), np.array([0.6, 0.5, 0.4, 0.3])
    drift: Field = lambda x: growth * x * (1 - x - others * np.roll(x, -1, axis=1))  # noqa: E731
    noise: Field = lambda x: diagonal(*(0.15 * x.T))  # noqa: E731
    sizes = {"trajectories": 100, "dt": 0.01, "within": lambda x: np.maximum(x, 1e-6)}
    return Law(tuple("abcd"), drift, noise, uniform(*[(0.3, 1.2)] * 4), 0.5, **sizes)


def _wells_in_a_ring() -> Law:
    """Four particles in double wells, each drawn to the one before it."""
    drift: Field = lambda x: x - x**3 + 0.5 * (np.roll(x, 1, axis=1) - x)  # noqa: E731
    start = lambda rng, m: rng.normal(size=(m, 4))  # noqa: E731
    return Law(tuple("abcd"), drift, constant(*[0.5] * 4), start, trajectories=100, dt=0.005)


def _weather() -> Law:
    """Six sites on a circle of latitude (Lorenz 1996), forced a little."""
    drift: Field = lambda x: (  # noqa: E731
        (np.roll(x, -1, axis=1) - np.roll(x, 2, axis=1)) * np.roll(x, 1, axis=1) - x + 4
    )
    start = lambda rng, m: 2 + rng.normal(size=(m, 6))  # noqa: E731
    return Law(tuple("abcdef"), drift, constant(*[0.8] * 6), start, 0.05, trajectories=100, dt=0.0025)


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


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
    "power-noise": _power_noise,
    "wilson-cowan": _wilson_cowan,
    "ice": _ice,
    "van-der-pol": _van_der_pol,
    "friction": _friction,
    "broad-jumps": _broad_jumps,
    "harvests": _harvests,
    "threshold": _threshold,
    "two-neurons": _two_neurons,
    "heston": _heston,
    "glycolysis": _glycolysis,
    "activity": _activity,
    "competition": _competition,
    "wells-in-a-ring": _wells_in_a_ring,
    "weather": _weather,
}
POSITIVE = {
    "toggle",
    "wright-fisher",
    "goodwin",
    "chemostat",
    "merton",
    "power-noise",
    "harvests",
    "glycolysis",
    "competition",
}
