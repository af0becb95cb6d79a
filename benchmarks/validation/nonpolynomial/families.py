"""The true drifts as families of parameters: what the data allows to someone who knows the equations."""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from benchmarks.validation.nonpolynomial.truths import TankReactor
from nke.bench.flow_fit import fit_flow
from nke.data import Transitions
from nke.evaluation import relative_error
from nke.systems import System

Array = np.ndarray
HALF = 0.5  # concentration at which the gene network's Hill functions are a half


@dataclass(frozen=True)
class Family:
    """A drift with parameters, and their true values."""

    drift: Callable[[Float[Array, " p"], Float[Array, "n d"]], Float[Array, "n d"]]
    true: Sequence[float]

    def error(self, seen: Transitions, truth: System, points: Float[Array, "n d"]) -> float:
        """Computes the relative drift error over points of the member that fits the transitions best."""
        return relative_error(self.fitted(seen, truth).drift(points), true=np.asarray(truth.drift(points))).relative

    def fitted(self, seen: Transitions, truth: System) -> System:
        """Gives the system whose drift is the member that fits the transitions best; noise and jumps are the true."""
        found = fit_flow(self.drift, self.true, seen, truth).parameters
        fitted = copy.copy(truth)
        kind = type("Fitted", (type(truth),), {"drift": lambda _, x: self.drift(found, np.asarray(x))})
        object.__setattr__(fitted, "__class__", kind)  # systems are frozen
        return fitted


def fields(truth: Any, *names: str) -> Family:
    """Makes a family of positive fields of a system."""
    true = [getattr(truth, name) for name in names]

    def drift(values: Array, x: Array) -> Array:
        positive = np.maximum(values, 1e-6).tolist()
        return np.asarray(replace(truth, **dict(zip(names, positive, strict=True))).drift(x))

    return Family(drift, true)


def linear(rows: Sequence[Sequence[tuple[float, Callable[..., Array]]]]) -> Family:
    """Makes a family of sums: for each coordinate true coefficients and functions of the columns of the state."""
    true = [coefficient for row in rows for coefficient, _ in row]

    def drift(values: Array, x: Array) -> Array:
        left, columns = iter(values), x.T
        return np.stack([sum(next(left) * term(*columns) for _, term in row) for row in rows], axis=1)

    return Family(drift, true)


def pendulum() -> Family:
    """torque − strength sin q − damping v; that q' = v is known."""
    return Family(
        lambda p, x: np.stack([x[:, 1], p[0] - p[1] * np.sin(x[:, 0]) - p[2] * x[:, 1]], axis=1), [0.5, 1.0, 0.2]
    )


def phase_oscillators(truth: Any) -> Family:
    """A frequency for each oscillator, one coupling."""

    def drift(p: Array, x: Array) -> Array:
        pull = np.sin(x[:, None, :] - x[:, :, None]).mean(axis=2)
        return p[:-1] + p[-1] * pull

    return Family(drift, [*truth.frequencies, truth.coupling])


def non_gradient_well() -> Family:
    """The terms of DynGMA's planar system, each with a coefficient."""
    first = [
        (0.2, lambda x, y: x),
        (-0.2, lambda x, y: x**3),
        (1.0, lambda x, y: y),
        (1.0, lambda x, y: y * np.sin(x)),
    ]
    second = [
        (-1.0, lambda x, y: y),
        (2.0, lambda x, y: x),
        (-2.0, lambda x, y: x**3),
        (2.0, lambda x, y: x * np.sin(x)),
        (-2.0, lambda x, y: x**3 * np.sin(x)),
    ]
    return linear([first, second])


def jumping_oscillator() -> Family:
    """q' = c v, v' a sum of q, q³ and v."""
    velocity = [(1.0, lambda q, v: q), (-1.0, lambda q, v: q**3), (-0.5, lambda q, v: v)]
    return linear([[(1.0, lambda q, v: v)], velocity])


def tank_reactor() -> Family:
    """All four parameters of the reaction."""
    return fields(TankReactor(), "damkohler", "heat", "cooling", "activation")


def scaled_lorenz() -> Family:
    """σ, ρ and β."""

    def drift(p: Array, state: Array) -> Array:
        x, y, z = state.T
        return np.stack([p[0] * (y - x), x * (p[1] - 10 * z) - y, 10 * x * y - p[2] * z], axis=1)

    return Family(drift, [10.0, 28.0, 8 / 3])


def gene_network() -> Family:
    """Each production by a Hill function and each decay with a coefficient; the exponents are known."""

    def on(i: int, n: int) -> Callable[..., Array]:
        return lambda *y: y[i - 1] ** n / (HALF**n + y[i - 1] ** n)

    def off(i: int, n: int) -> Callable[..., Array]:
        return lambda *y: HALF**n / (HALF**n + y[i - 1] ** n)

    def itself(i: int) -> Callable[..., Array]:
        return lambda *y: y[i - 1]

    def both(*y: Array) -> Array:
        return y[6] * y[9]

    rows: list[list[tuple[float, Callable[..., Array]]]] = [
        [(0.8, off(1, 1)), (0.8, off(5, 2)), (0.8, off(7, 4))],
        [(0.2, on(1, 1)), (0.2, on(2, 2)), (0.8, off(4, 6)), (0.8, off(6, 4))],
        [(0.2, on(3, 2)), (0.2, on(9, 4)), (0.8, off(6, 4))],
        [(0.2, on(3, 4)), (0.8, off(1, 1)), (0.8, off(2, 3))],
        [(0.8, off(1, 1)), (0.8, off(2, 2))],
        [(0.8, off(2, 4)), (0.8, off(3, 4))],
        [(0.8, on(7, 2)), (7.0, on(8, 5)), (0.8, off(9, 4)), (-4.0, both)],
        [(0.8, off(1, 4)), (0.8, off(10, 1))],
        [(0.2, on(9, 2)), (0.8, off(7, 4))],
        [(0.1, lambda *y: np.ones_like(y[0])), (4.0, lambda *y: 1 / (1 + y[9] ** 3)), (-4.0, both)],
    ]
    return linear([[*row, (-1.0, itself(i + 1))] for i, row in enumerate(rows)])
