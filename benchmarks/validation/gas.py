"""The rarefied gas: physics to 1 %, one simulator against another, how long each takes (docs/rarefied-gas.md)."""

import resource
import time
from collections.abc import Callable

import numpy as np
from jaxtyping import Float
from rich.table import Table
from scipy.stats import kstest, rayleigh

from benchmarks.validation.tables import console
from nke.systems import RarefiedGas

TIMES = np.linspace(0.0, 5.0, 11)
TRAJECTORIES = 8192  # of each simulator: a standard error of 1 % for the mean squared displacement
RACE = 512
STEP, STEPS = 1e-3, 100  # of the time-stepped reference
METHODS = ("lazy", "box")


def main() -> None:
    """Everything about the gas itself; memory first, before other work raises its peak."""
    memory()
    race()
    replays()
    equilibrium()
    heavy_sphere()
    moving_sphere()


def race() -> None:
    """Simulators one after the other, compilation apart; the time-stepped one over a shorter time."""
    gas = RarefiedGas()
    seconds = {method: _seconds(lambda m=method: gas.simulate_states(RACE, 0, TIMES, method=m)) for method in METHODS}
    seconds["time-stepped"] = _seconds(lambda: _time_stepped(gas)) * RACE * TIMES[-1] / (STEPS * STEP) / _threads()
    for method, value in seconds.items():
        console.print(f"{RACE} trajectories to T = {TIMES[-1]:g}, {method}: {value:.3g} s")
    console.print(f"box over lazy {seconds['box'] / seconds['lazy']:.0f} (target ≥ 50)")
    console.print(f"time-stepped over box {seconds['time-stepped'] / seconds['box']:.0f} (target ≥ 5)")


def _seconds(work: Callable[[], object]) -> float:
    """The second time: the first one compiles."""
    work()
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _threads() -> int:
    from nke.systems.gas.running import threads

    return threads()


def _time_stepped(gas: RarefiedGas) -> None:
    """One trajectory over some steps, on one thread."""
    from nke.systems.gas.reference import time_stepped

    times, stream = np.array([0.0, STEPS * STEP]), np.random.SeedSequence(0).generate_state(4, np.uint64)
    time_stepped(gas.constants, gas.box_side / 2, np.zeros(6), times, stream, np.empty((2, 6)), STEP)


def replays(trajectories: int = 64) -> None:
    """Lazy partners traced back to time 0, and a simulator that looks at all of them after each collision."""
    for gas in (RarefiedGas(), RarefiedGas(duration=5.0), RarefiedGas(mass_ratio=1, radius=3, duration=5.0)):
        gaps = replay_gaps(gas, trajectories, seed=0)
        console.print(
            f"mass ratio {gas.mass_ratio:g}, radius {gas.radius:g}, replayed to T = {gas.duration:g}: "
            f"largest gap in velocity {gaps.max():.1e}, median {np.median(gaps):.1e}"
        )


def replay_gaps(gas: RarefiedGas, trajectories: int, seed: int) -> Float[np.ndarray, " m"]:
    """Largest difference of velocity after a collision, per trajectory; infinite if the collisions are not the same."""
    from nke.systems.gas.reference import replay

    hits, starts = gas.simulate_collisions(trajectories, seed), gas.simulate_states(trajectories, seed)[:, 0]
    gaps = np.full(trajectories, np.inf)
    for m, start in enumerate(starts):
        mine = hits.trajectory == m
        new = mine & ~hits.again
        velocities = hits.particle_before[new]
        points = hits.position[new] + gas.radius * hits.normal[new] - hits.time[new, None] * velocities
        states = replay(gas.constants, start, points, velocities, gas.duration)[1]
        if len(states) == mine.sum():
            gaps[m] = np.abs(states[:, 3:] - hits.after[mine]).max(initial=0.0)
    return gaps


def equilibrium() -> None:
    """Variances, rates, correlations and kicks at equilibrium beside their formulas."""
    gas, table = RarefiedGas(), _table(f"equilibrium, mass ratio 10, {TRAJECTORIES} trajectories")
    for method in METHODS:
        states = gas.simulate_states(TRAJECTORIES, 1, TIMES, method=method)
        hits = gas.simulate_collisions(TRAJECTORIES // 4, 2, TIMES, method=method)
        place, velocity = states[..., :3], states[..., 3:]
        counts = np.bincount(hits.trajectory, minlength=TRAJECTORIES // 4) / TIMES[-1]
        _row(table, f"{method}: variance of V", (velocity**2).mean(axis=(1, 2)), gas.velocity_variance)
        _row(table, f"{method}: collisions per time", counts, gas.collision_rate)
        _row(table, f"{method}: autocorrelation at 1", _correlation(velocity, 2), float(gas.autocorrelation(1.0)))
        moved = (place[:, -1] ** 2).mean(axis=1)
        _row(table, f"{method}: mean squared displacement at 5", moved, float(gas.mean_squared_displacement(5.0)))
        sizes = np.linalg.norm(hits.after - hits.before, axis=1)
        p = kstest(sizes[::5], rayleigh(scale=gas.jump_scale).cdf).pvalue
        table.add_row(f"{method}: |ΔV| is Rayleigh, Kolmogorov–Smirnov p", f"{p:.2g}", f"n = {len(sizes[::5])}", "", "")
    console.print(table)


def heavy_sphere() -> None:
    """Near the Brownian limit the velocity forgets like exp(−t)."""
    gas, table = RarefiedGas(mass_ratio=1000), _table("mass ratio 1000")
    velocity = gas.simulate_states(TRAJECTORIES, 3, np.linspace(0, 2, 5))[..., 3:]
    _row(table, "variance of V", (velocity**2).mean(axis=(1, 2)), 1.001)
    for lag in (1, 2, 4):
        _row(table, f"autocorrelation at {lag / 2:g}", _correlation(velocity, lag), float(np.exp(-lag / 2)))
    console.print(table)


def moving_sphere() -> None:
    """The rate of the first collision of a sphere that starts with a given speed."""
    gas, table, end = RarefiedGas(), _table("rate of the first collision"), 0.5
    for method, trajectories in (("lazy", 40_000), ("box", 2048)):
        for speed in range(0, 9, 2):
            start = np.tile([0.0, 0, 0, speed, 0, 0], (trajectories, 1))
            hits = gas.simulate_collisions(trajectories, 4 + speed, [0.0, end], start, method=method)
            seen, first = np.unique(hits.trajectory, return_index=True)
            exposure = np.full(trajectories, end)
            exposure[seen] = hits.time[first]
            rate, truth = len(seen) / exposure.sum(), float(gas.jump_rate(start[0]))
            _line(table, f"{method}: |V| = {speed}", rate, rate / np.sqrt(len(seen)), truth)
    console.print(table)


def memory() -> None:
    """Peak memory of the process, which no larger work has raised before, and time, as the horizon grows."""
    gas = RarefiedGas()
    gas.simulate_states(8, 0, [0.0, 1.0])
    for end in (10.0, 100.0, 1000.0, 10_000.0):
        began = time.perf_counter()
        gas.simulate_states(8, 0, [0.0, end])
        each = 1e6 * (time.perf_counter() - began) / (8 * end * gas.collision_rate)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        console.print(
            f"8 lazy trajectories to T = {end:g}: {each:.2f} µs a collision, peak of the process {peak:.0f} MB"
        )


def _correlation(velocity: Float[np.ndarray, "m n 3"], lag: int) -> Float[np.ndarray, " m"]:
    """Of each trajectory, normalised by the mean square of all."""
    now, later = velocity[:, :-lag], velocity[:, lag:]
    square = (now**2).mean()
    slope = (now * later).mean() / square
    return slope + (now * (later - slope * now)).mean(axis=(1, 2)) / square


def _table(title: str) -> Table:
    return Table("figure", "measured", "standard error", "truth", "standard errors off", title=title)


def _row(table: Table, figure: str, samples: Float[np.ndarray, " m"], truth: float) -> None:
    _line(table, figure, samples.mean(), samples.std() / np.sqrt(len(samples)), truth)


def _line(table: Table, figure: str, value: float, error: float, truth: float) -> None:
    off = f"{(value - truth) / error:+.1f}"
    table.add_row(figure, f"{value:.4f}", f"{error:.4f} ({100 * error / truth:.1f} %)", f"{truth:.4f}", off)
