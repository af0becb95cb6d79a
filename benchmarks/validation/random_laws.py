"""Laws drawn at random: cases that nobody chose, each from its number."""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.validation.law import Array, Field, Law
from nke.mixtures import GaussianMixture

SHAPES: tuple[Callable[[Array], Array], ...] = (
    np.tanh,
    np.sin,
    lambda u: np.exp(-u * u),
    lambda u: u / (1 + u * u),
    lambda u: np.maximum(u, 0) / (1 + np.maximum(u, 0)),
    np.arctan,
    lambda u: u * np.exp(-u * u / 2),
)


def random_law(number: int) -> Law:
    """A law of one to four coordinates on the whole line, or positive: drift, noise, jumps, step and size at random."""
    rng = np.random.default_rng([number, 20])
    return _positive(rng) if rng.random() < 0.35 else _line(rng)


def _line(rng: np.random.Generator) -> Law:
    """−Kx + cubic + a sum of ridge functions; noise constant, coupled or of the state; jumps now and then."""
    d = int(rng.choice([1, 1, 2, 2, 2, 3, 3, 4]))
    turn = np.triu(rng.normal(size=(d, d)), 1)
    linear = np.diag(rng.uniform(0.5, 1.5, d)) + rng.uniform(0, 1.5) * (turn - turn.T)
    cubic = rng.uniform(0, 0.5, d) * (rng.random() < 0.3)
    ridges = [_ridge(rng, d) for _ in range(int(rng.integers(0, 3)) + 1 + d // 2)]
    tilt = rng.normal(size=d) * 0.3

    def drift(x: Array) -> Array:
        return tilt - x @ linear.T - cubic * x**3 + sum((ridge(x) for ridge in ridges), np.zeros_like(x))

    spread = rng.uniform(0.3, 0.8, d)
    noise = _noise(rng, d, spread)
    step = float(rng.choice([0.02, 0.05, 0.1]))
    rate, jump = _jumps(rng, d, spread * np.sqrt(step)) if rng.random() < 0.3 else (None, None)
    names = tuple("xyzw"[:d])
    start = lambda r, m: r.normal(size=(m, d)) * 0.8  # noqa: E731
    return Law(names, drift, noise, start, step, rate, jump, dt=step / 20, **_size(rng, d))


def _positive(rng: np.random.Generator) -> Law:
    """Birth by Hill functions, death in proportion; noise of demography or in proportion to the state."""
    d = int(rng.choice([1, 2, 2, 3]))
    base, strength = rng.uniform(0.05, 0.4, d), rng.uniform(1, 4, d)
    power, half = rng.choice([1.0, 2.0, 4.0], d), rng.uniform(0.5, 1.5, d)
    source, up, death = rng.integers(0, d, d), rng.random(d) < 0.4, rng.uniform(0.5, 1.5, d)
    size, demographic = rng.uniform(0.08, 0.3, d), rng.random() < 0.5

    def born(x: Array) -> Array:
        level = (np.maximum(x, 0)[:, source] / half) ** power
        return base + strength * np.where(up, level / (1 + level), 1 / (1 + level))

    def noise(x: Array) -> Array:
        x = np.maximum(x, 0)
        deviation = np.sqrt(born(x) + death * x) / 2 if demographic else x
        return (size * deviation)[..., None] * np.eye(d)

    within: Field = np.abs if demographic else (lambda x: np.maximum(x, 1e-9))
    step = float(rng.choice([0.05, 0.1, 0.2]))
    start = lambda r, m: r.uniform(0.2, 3, (m, d))  # noqa: E731
    drift: Field = lambda x: born(x) - death * x  # noqa: E731
    return Law(tuple("abc"[:d]), drift, noise, start, step, within=within, dt=step / 20, **_size(rng, d))


def _ridge(rng: np.random.Generator, d: int) -> Field:
    shape = SHAPES[rng.integers(len(SHAPES))]
    direction, shift = rng.normal(size=d) * rng.uniform(0.7, 2.0), rng.normal() * 0.7
    into = rng.normal(size=d) * rng.uniform(0.5, 1.5)
    return lambda x: shape(x @ direction + shift)[:, None] * into


def _noise(rng: np.random.Generator, d: int, spread: Array) -> Field:
    mixed = np.linalg.qr(rng.normal(size=(d, d)))[0] if rng.random() < 0.5 else np.eye(d)
    matrix, kind = mixed * spread, int(rng.integers(4))
    direction = rng.normal(size=d)
    if kind < 2:  # constant
        return lambda x: matrix
    if kind == 2:  # between half and twice
        return lambda x: matrix * np.exp(0.7 * np.tanh(x @ direction))[:, None, None]
    return lambda x: matrix * np.sqrt(0.5 + (x @ direction) ** 2 / 2)[:, None, None]


def _jumps(rng: np.random.Generator, d: int, widths: Array) -> tuple[Field, Callable[[Array], GaussianMixture]]:
    """Jumps of 5 to 15 widths of the noise of a step, rate constant or set by the state."""
    mean = rng.normal(size=d)
    mean *= rng.uniform(5, 15) * np.linalg.norm(widths) / np.linalg.norm(mean) * (rng.random() < 0.7)
    deviation, level = rng.uniform(2, 6) * np.linalg.norm(widths), rng.uniform(0.3, 1.0)
    direction = rng.normal(size=d) * (rng.random() < 0.5)

    def law(x: Array) -> GaussianMixture:
        one = np.ones((*x.shape[:-1], 1))
        return GaussianMixture(one, mean * one[..., None], deviation**2 * one[..., None, None] * np.eye(d))

    return lambda x: level * 2 / (1 + np.exp(-2 * x @ direction)), law


def _size(rng: np.random.Generator, d: int) -> dict[str, Any]:
    transitions = 10 ** rng.uniform(3.7, 4.7) * (1 + d / 4)
    trajectories = int(rng.choice([1, 20, 200]))
    return {"trajectories": trajectories, "rows": int(transitions / trajectories) + 1}
