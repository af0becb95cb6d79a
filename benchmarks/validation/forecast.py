"""Forecast densities against grid solutions of the forward equation, and against simulation; how long they take."""

import argparse
import time
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse as sparse
from rich.table import Table
from scipy.linalg import expm
from scipy.sparse.linalg import splu

import nke
from benchmarks.validation.tables import console
from nke.mixtures import GaussianMixture
from nke.model.forecast import Forecast, in_slots
from nke.operators import Advection, Diffusion, Evolution, Generator, PoissonJump
from nke.operators import evolution as algorithm

ADVANCE: dict[str, Any] = {"as it is": eqx.filter_jit(Evolution.advance)}


def generator(drift: Callable, factor: Callable, rate: Callable | None = None) -> Generator:
    """An equation by its coefficients; jumps are standard normal along the first coordinate."""

    def law(x):
        axis = jnp.zeros_like(x).at[0].set(1)
        return GaussianMixture(jnp.ones(1, x.dtype), jnp.zeros((1, len(x)), x.dtype), jnp.outer(axis, axis)[None])

    jump = None if rate is None else PoissonJump.from_functions(rate, law)
    return Generator(Advection(drift), Diffusion(factor), jump)


def true_model(equation: Generator, d: int) -> nke.Model:
    """A model in its own units."""
    coordinates = nke.Coordinates(np.zeros(d), np.ones(d), 1.0)
    return nke.Model(equation, coordinates, 0.02, tuple(f"x{i + 1}" for i in range(d)), ("",) * d)


def forward_1d(drift, noise, rate, grid: np.ndarray, step: float) -> np.ndarray:
    """Propagator of the forward equation on a grid: central differences, jumps by their kernel, exponential."""
    h, n = grid[1] - grid[0], len(grid)
    f, a = drift(grid), noise(grid) ** 2
    up, down = a / (2 * h**2) + f / (2 * h), a / (2 * h**2) - f / (2 * h)
    up[-1], down[0] = 0.0, 0.0
    backward = np.diag(up[:-1], 1) + np.diag(down[1:], -1)
    if rate is not None:
        kernel = np.exp(-((grid - grid[:, None]) ** 2) / 2)
        backward += rate(grid)[:, None] * kernel / kernel.sum(axis=1, keepdims=True)
    backward[np.arange(n), np.arange(n)] -= backward.sum(axis=1)
    return expm(step * backward.T)


def backward_2d(drift, tensor, xs: np.ndarray, ys: np.ndarray) -> sparse.csr_matrix:
    """f·∇ + ½ a:∇∇ by central differences, mirrored at the edges; its transpose conserves mass."""

    def differences(n: int, h: float):
        first = sparse.diags([-np.ones(n - 1), np.ones(n - 1)], [-1, 1]).tolil()  # type: ignore[list-item]
        first[0, 0], first[-1, -1] = -1, 1
        second = sparse.diags([np.ones(n - 1), -2 * np.ones(n), np.ones(n - 1)], [-1, 0, 1]).tolil()  # type: ignore
        second[0, 0] = second[-1, -1] = -1
        return first.tocsr() / (2 * h), second.tocsr() / h**2

    (dx, dxx), (dy, dyy) = differences(len(xs), xs[1] - xs[0]), differences(len(ys), ys[1] - ys[0])
    one_x, one_y = sparse.identity(len(xs)), sparse.identity(len(ys))
    states = np.stack(np.meshgrid(xs, ys, indexing="ij"), axis=-1).reshape(-1, 2)
    f, a = drift(states), tensor(states)
    terms = [
        (f[:, 0], sparse.kron(dx, one_y)),
        (f[:, 1], sparse.kron(one_x, dy)),
        (a[:, 0, 0] / 2, sparse.kron(dxx, one_y)),
        (a[:, 1, 1] / 2, sparse.kron(one_x, dyy)),
        (a[:, 0, 1], sparse.kron(dx, dy)),
    ]
    return sum(sparse.diags(c) @ term for c, term in terms).tocsr()  # type: ignore[union-attr]


def cubic(x):
    return x - x**3


def varying_rate(x):
    return 1.5 * (1 + np.tanh(3 * x))


WELLS = {
    "no jumps": (None, None),
    "jumps of rate 1": (lambda x: jnp.ones((), x.dtype), np.ones_like),
    "rate 1.5(1 + tanh 3x)": (lambda x: 1.5 * (1 + jnp.tanh(3 * x[0])), varying_rate),
}


def well(name: str) -> Generator:
    return generator(lambda x: x - x**3, lambda x: jnp.full((1, 1), 0.5, x.dtype), WELLS[name][0])


@cache
def well_propagator(name: str, points: int) -> tuple[np.ndarray, np.ndarray]:
    """A grid, and the propagator over a time of 0.2 on it."""
    grid = np.linspace(-6, 6, points)
    return grid, forward_1d(cubic, lambda x: np.full_like(x, 0.5), WELLS[name][1], grid, 0.2)


@cache
def well_truth(name: str, start: float, points: int, times: int = 25) -> tuple[np.ndarray, np.ndarray]:
    """Densities at times 0.2, 0.4, … from a normal law of deviation 0.1 around the start."""
    grid, propagator = well_propagator(name, points)
    p = np.exp(-((grid - start) ** 2) / 0.02)
    p /= p.sum() * (grid[1] - grid[0])
    found = []
    for _ in range(times):
        p = propagator @ p
        found.append(p)
    return grid, np.array(found)


def evolved(
    equation: Generator, start: GaussianMixture, steps: np.ndarray, evolution: Evolution, how: str = "as it is"
):
    """Laws after each step, steps taken, seconds on a warm program."""
    with jax.enable_x64(True):
        law, found, count = in_slots(start.numpy(), evolution.components), [], 0
        ADVANCE[how](evolution, equation, law, jnp.asarray(1e-3))  # compiled
        begin = time.perf_counter()
        for step in steps:
            end = ADVANCE[how](evolution, equation, law, jnp.asarray(step))
            law, count = end.mixture, count + int(end.steps)
            found.append(law)
        seconds = time.perf_counter() - begin
        return [m.numpy() for m in found], count, seconds


def density(law: GaussianMixture, points: np.ndarray) -> np.ndarray:
    used = np.asarray(law.weights) > 0
    parts = [np.asarray(leaf)[used] for leaf in (law.weights, law.means, law.covariances)]
    return np.exp(GaussianMixture(parts[0] / parts[0].sum(), *parts[1:]).log_prob(points))


def narrow(start: list[float], deviation: float) -> GaussianMixture:
    return GaussianMixture([1.0], [start], [deviation**2 * np.eye(len(start))])


def linearised(mixture, end, rule):
    """Expectations by the flow's slope at the mean: a control that must miss."""
    means, slopes = jax.vmap(end)(mixture.means), jax.vmap(jax.jacfwd(end))(mixture.means)
    return GaussianMixture(mixture.weights, means, slopes @ mixture.covariances @ jnp.matrix_transpose(slopes))


def wells() -> None:
    """L1 error of the double well with true coefficients, from the saddle and from a well."""
    table = Table(title="double well, L1 error over 0.2 ≤ t ≤ 5, saddle / well")
    for heading in ("law", "components", "time-mean", "largest", "grid's own", "ms", "target"):
        table.add_column(heading)
    targets = {("no jumps", 32): "≤ 0.010, ≤ 0.02", ("jumps of rate 1", 64): "≤ 0.012, ≤ 0.025"}
    targets["rate 1.5(1 + tanh 3x)", 64] = "≤ 0.025"
    as_it_is = algorithm.carried
    cases = [("no jumps", k, "as it is") for k in (16, 32)]
    cases += [(name, 64, "as it is") for name in list(WELLS)[1:]]
    cases += [("no jumps", 32, "no splitting"), ("no jumps", 32, "linearised")]
    for name, components, how in cases:
        evolution = Evolution(components, tolerance=jnp.inf) if how == "no splitting" else Evolution(components)
        if how == "linearised":
            algorithm.carried = linearised
            ADVANCE[how] = eqx.filter_jit(partial(Evolution.advance))
        errors, own, seconds = [], [], 0.0
        for start in (0.0, 1.0):
            grid, truth = well_truth(name, start, 601)
            coarse, rough = well_truth(name, start, 301)
            own.append(np.abs(rough - truth[:, ::2]).sum(axis=1).mean() * (coarse[1] - coarse[0]))
            advance = how if how == "linearised" else "as it is"
            laws, _, took = evolved(well(name), narrow([start], 0.1), np.full(25, 0.2), evolution, advance)
            found = np.array([density(law, grid[:, None]) for law in laws])
            errors.append(np.abs(found - truth).sum(axis=1) * (grid[1] - grid[0]))
            seconds += took / 2
        if how == "linearised":
            algorithm.carried = as_it_is
        words = [" / ".join(f"{error:.4f}" for error in row) for row in ([e.mean() for e in errors],
                 [e.max() for e in errors], own)]  # fmt: skip
        target = targets.get((name, components), "") if how == "as it is" else f"control: {how}, must miss 0.010"
        console.print(name, components, how, *words)  # as soon as it is known
        table.add_row(name, str(components), *words, f"{1e3 * seconds:.0f}", target)
    console.print(table)


def exceedances() -> None:
    """P(x > level) on the double well with jumps."""
    grid, truth = well_truth("jumps of rate 1", 0.0, 601, 5)
    h = grid[1] - grid[0]
    table = Table(title="double well with jumps, from the saddle, t = 1: P(x > level); target: within 10 % to 1e-3")
    for heading in ("level", "truth", "64 components", "relative error"):
        table.add_column(heading)
    model = true_model(well("jumps of rate 1"), 1)
    forecast = model.forecast(narrow([0.0], 0.1), [0.2, 0.4, 0.6, 0.8, 1.0])
    for level in (1.0, 1.5, 2.0, 2.25, 2.5, 2.75, 3.0, 3.25, 3.5):
        i = np.abs(grid - level).argmin()
        true = h * (truth[-1][i:].sum() - truth[-1][i] / 2)
        found = float(forecast.exceedance(level)[-1])
        table.add_row(f"{level:g}", f"{true:.2e}", f"{found:.2e}", f"{found / true - 1:+.1%}")
    console.print(table)


def van_der_pol_tensor(x, xp):
    q, v = x[..., 0], x[..., 1]
    return xp.stack(
        [xp.stack([0.2 + 0.05 * v**2, 0.05 * q * v], -1), xp.stack([0.05 * q * v, 0.2 + 0.05 * q**2], -1)], -2
    )


def van_der_pol_drift(x, xp):
    return xp.stack([x[..., 1], (1 - x[..., 0] ** 2) * x[..., 1] - x[..., 0]], -1)


def van_der_pol() -> None:
    """Van der Pol's oscillator with state-dependent, coupled noise."""
    truths = {}
    for points in (100, 200):
        xs, ys = np.linspace(-4.5, 4.5, points + 1), np.linspace(-6, 6, points + 1)
        step = 0.02
        backward = backward_2d(lambda x: van_der_pol_drift(x, np), lambda x: van_der_pol_tensor(x, np), xs, ys)
        eye = sparse.identity(len(xs) * len(ys))
        implicit, explicit = splu((eye - step / 2 * backward.T).tocsc()), (eye + step / 2 * backward.T).tocsr()
        states = np.stack(np.meshgrid(xs, ys, indexing="ij"), -1)
        p = np.exp(-((states - [1.5, 0.0]) ** 2).sum(-1).ravel() / (2 * 0.2**2))
        p /= p.sum()
        found = []
        for i in range(1, 251):
            p = implicit.solve(explicit @ p)
            if i % 25 == 0:
                found.append(p.reshape(len(xs), len(ys)))
        cell = (xs[1] - xs[0]) * (ys[1] - ys[0])
        truths[points] = states.reshape(-1, 2), np.array(found) / cell, cell
    states, truth, cell = truths[200]
    own = np.abs(truths[100][1] - truth[:, ::2, ::2]).sum((1, 2)).mean() * truths[100][2]
    equation = generator(lambda x: van_der_pol_drift(x, jnp), lambda x: jnp.linalg.cholesky(van_der_pol_tensor(x, jnp)))
    table = Table(title=f"Van der Pol, a = 0.2 + 0.05 |x|² coupled, t ≤ 5; the grid's own error {own:.4f} / 4")
    for heading in ("components", "time-mean L1", "largest", "steps", "ms", "target"):
        table.add_column(heading)
    for components in (64, 128):
        laws, count, took = evolved(equation, narrow([1.5, 0.0], 0.2), np.full(10, 0.5), Evolution(components))
        error = [np.abs(density(law, states) - p.ravel()).sum() * cell for law, p in zip(laws, truth, strict=True)]
        target = "≤ 0.05" if components == 128 else ""
        figures = (f"{np.mean(error):.4f}", f"{np.max(error):.4f}", str(count), f"{1e3 * took:.0f}")
        table.add_row(str(components), *figures, target)
    console.print(table)


def quasi_potential() -> None:
    """DynGMA's two-dimensional system: −log p/10 of the stationary density with true coefficients."""
    system = nke.systems.NonGradientWell()
    xs, ys = np.linspace(-2, 2, 201), np.linspace(-3, 3, 201)
    backward = backward_2d(lambda x: np.asarray(system.drift(x)), lambda x: np.asarray(system.diffusion(x)), xs, ys)
    matrix = backward.T.tolil()
    matrix[0] = 1.0
    p = splu(matrix.tocsc()).solve(np.eye(len(xs) * len(ys), 1).ravel())
    states = np.stack(np.meshgrid(xs, ys, indexing="ij"), -1).reshape(-1, 2)
    true = -np.log(np.maximum(p, 1e-300)) / 10
    true -= true.min()
    near = (true < 1.5) & (p > 0)
    equation = generator(system.drift, lambda x: jnp.asarray(system.noise_matrix(x), x.dtype))
    for components in (64,):
        begin = time.perf_counter()
        law = true_model(equation, 2).stationary(components)
        found = -np.log(np.maximum(density(law, states), 1e-300)) / 10
        found -= found.min()
        relative = [
            np.sqrt(np.sum((found - true)[kept] ** 2) / np.sum(true[kept] ** 2))
            for kept in (near & (true < 0.5), near & (true < 1.0), near)
        ]
        console.print(
            f"quasi-potential, {components} components: relative RMS where it is below 0.5, 1, 1.5: "
            + ", ".join(f"{r:.3f}" for r in relative)
            + f" (target 0.03 below 1.5); {time.perf_counter() - begin:.0f} s with compilation"
        )


def lorenz(paths: int = 50_000) -> None:
    """Lorenz with noise 0.3 against simulated paths."""
    system = nke.systems.Lorenz(noise=0.3)
    rng = np.random.default_rng(0)
    times = np.linspace(0, 2, 5)
    start = np.array([5.0, 5.0, 25.0])
    initial = start + rng.standard_normal((paths, 3))
    simulated = np.asarray(system.simulate(paths, seed=1, times=times, initial=initial).states)
    directions = rng.standard_normal((50, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    equation = generator(system.drift, lambda x: jnp.asarray(system.noise_matrix(x), x.dtype))
    table = Table(title=f"Lorenz (0.3), sliced W1 to {paths} simulated paths at t = {times[1:]}")
    for heading in ("components", "at each time", "ms", "target"):
        table.add_column(heading)
    for components in (1, 8, 32, 128):
        cloud = GaussianMixture([1.0], [start], [np.eye(3)])
        laws, _, took = evolved(equation, cloud, np.diff(times), Evolution(components))
        distance = []
        for i, law in enumerate(laws, 1):
            drawn = law.sample(paths, seed=2)
            projected = [np.sort(x @ directions.T, axis=0) for x in (drawn, simulated[:, i])]
            distance.append(np.abs(projected[0] - projected[1]).mean())
        target = "≤ 0.25" if components == 128 else ""
        table.add_row(str(components), "  ".join(f"{d:.3f}" for d in distance), f"{1e3 * took:.0f}", target)
    console.print(table)


def against_monte_carlo() -> None:
    """Time at equal L1 error, double well without jumps: histograms of simulated paths with the best of widths."""
    grid, truth = well_truth("no jumps", 0.0, 601)
    h = grid[1] - grid[0]
    steps = np.full(25, 0.2)
    equation = well("no jumps")
    laws, _, took = evolved(equation, narrow([0.0], 0.1), steps, Evolution(32))
    took = min([took] + [evolved(equation, narrow([0.0], 0.1), steps, Evolution(32))[2] for _ in range(2)])
    ours = np.mean([np.abs(density(law, grid[:, None]) - p).sum() * h for law, p in zip(laws, truth, strict=True)])
    model = true_model(equation, 1)
    for paths in (10_000, 100_000, 1_000_000):
        x0 = 0.1 * np.random.default_rng(0).standard_normal((paths, 1))
        times = np.arange(26) * 0.2
        model.sample(x0, times[:2], substeps=10)
        begin = time.perf_counter()
        drawn = model.sample(x0, times, substeps=10)[:, 1:, 0]
        seconds = time.perf_counter() - begin
        best = np.inf
        for cells in (2, 4, 8, 14, 20):
            edges = np.append(grid[::cells] - h / 2, grid[-1] + h)
            error = []
            for i, p in enumerate(truth):
                heights = np.histogram(drawn[:, i], edges)[0] / paths / np.diff(edges)
                smooth = np.interp(grid, (edges[1:] + edges[:-1]) / 2, heights)
                error.append(np.abs(smooth - p).sum() * h)
            best = min(best, float(np.mean(error)))
        console.print(
            f"{paths} paths: L1 error {best:.4f} in {seconds:.2f} s; forecast with 32 components {ours:.4f} in "
            f"{took:.3f} s: {seconds / took:.0f} times as long"
        )


def calibration() -> None:
    """Coverage of 90 % intervals at 1, 10 and 50 steps, of laws that were fitted to other trajectories."""
    systems = {
        "double well": (nke.systems.DoubleWell(dimension=1), True),
        "Ornstein–Uhlenbeck": (nke.systems.OrnsteinUhlenbeck(), False),
        "geometric Brownian motion": (nke.systems.GeometricBrownianMotion(), False),
    }
    for name, (system, jumps) in systems.items():
        model = nke.fit(system.simulate(256, seed=0), seed=0, jumps=jumps, progress=False, diagnosis=False).model
        held = system.simulate(200, seed=1)
        states, times = np.asarray(held.states), np.asarray(held.times)
        forecast: Forecast = model.forecast(GaussianMixture.point(states[:, 0]), times[[1, 10, 50]] - times[0], 16)
        low, high = forecast.quantile([0.05, 0.95])
        later = np.moveaxis(states[:, [1, 10, 50]], 0, 1)
        inside = ((later >= low) & (later <= high)).mean(axis=(1, 2))
        console.print(f"{name}: 90 % intervals hold {', '.join(f'{share:.1%}' for share in inside)} at 1, 10, 50 steps")


PARTS = {
    "wells": wells,
    "exceedances": exceedances,
    "van-der-pol": van_der_pol,
    "quasi-potential": quasi_potential,
    "lorenz": lorenz,
    "monte-carlo": against_monte_carlo,
    "calibration": calibration,
}


def main(arguments: list[str] | None = None) -> None:
    """Runs the parts that were named, or all of them."""
    parser = argparse.ArgumentParser("python -m benchmarks.validation forecast", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"which of {', '.join(PARTS)} (default: all)")
    asked = parser.parse_args(arguments or []).names
    if unknown := set(asked) - set(PARTS):
        parser.error(f"expected some of {', '.join(PARTS)}, but got {', '.join(sorted(unknown))}")
    for name in asked or PARTS:
        console.rule(name)
        PARTS[name]()
