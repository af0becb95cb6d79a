"""Do 90 % intervals hold the truth in 90 % of the cases? Fits to many small data sets of known systems.

``python -m benchmarks.validation coverage [--sets 20] [--systems double-well,...] [--first-seed 0] [--level 0.9]``

Coverage is pointwise: the share of held-out states at which the interval holds the true value, averaged over data sets,
with the standard error of that mean. Numbers that a law knows without error, such as the drift of a position, are not
counted.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

import nke
from nke.data import Trajectories
from nke.systems import System

QUANTITIES = ("drift", "diffusion", "jump_rate")
STATES = 400  # held-out ones, at which intervals are looked at


@dataclass(frozen=True)
class Setting:
    """A system, and how much of it is recorded.

    Attributes:
        system: The truth.
        trajectories: Of a data set.
        rows: Of a single path instead; None: the system's own times.
        options: Of ``nke.fit``.
    """

    system: Callable[[], System]
    trajectories: int
    rows: int | None = None
    options: dict[str, Any] | None = None

    def simulate(self, seed: int) -> Trajectories:
        """One data set."""
        system = self.system()
        if self.rows is None:
            return system.simulate(self.trajectories, seed=seed)
        return system.simulate(self.trajectories, seed=seed, times=_times(system, self.rows))


def _times(system: System, rows: int) -> Float[np.ndarray, " rows"]:
    times = np.asarray(system.simulate(1, seed=0).times[0])
    return float(np.median(np.diff(times))) * np.arange(rows)


SETTINGS: dict[str, Setting] = {
    "ornstein-uhlenbeck": Setting(nke.systems.OrnsteinUhlenbeck, 32),
    "ornstein-uhlenbeck, one path": Setting(nke.systems.OrnsteinUhlenbeck, 1, 5000),
    "double-well": Setting(lambda: nke.systems.DoubleWell(dimension=1), 64),
    "lorenz": Setting(lambda: nke.systems.Lorenz(noise=0.3), 24),
    "black-scholes": Setting(nke.systems.BlackScholes, 64),
    "periodic-potential": Setting(lambda: nke.systems.PeriodicPotential(rate=0.0), 64),
    "periodic-potential with jumps": Setting(nke.systems.PeriodicPotential, 64),
    "pendulum": Setting(nke.systems.Pendulum, 64),
    "repressilator": Setting(nke.systems.Repressilator, 64),
    "predator-prey": Setting(nke.systems.PredatorPrey, 64),
}


@dataclass(frozen=True)
class Row:
    """What came out for one quantity of one data set.

    Attributes:
        covered: Share of the numbers that are within their intervals.
        width: Half of the median width, over the root mean square of the truth.
        error: Root mean square error, likewise.
        scaled: Root mean square of the errors in units of half an interval, 0.61 where these are right.
    """

    covered: float
    width: float
    error: float
    scaled: float


def measure(setting: Setting, seed: int, level: float) -> dict[str, Row]:
    """Fits one data set and looks at its intervals at the states of another."""
    system, data = setting.system(), setting.simulate(seed)
    result = nke.fit(data, progress=False, diagnosis=False, **(setting.options or {}))
    model, states = result.model, setting.simulate(seed + 100_000).observed_states
    x = states[np.random.default_rng(seed).choice(len(states), min(STATES, len(states)), replace=False)]
    rows = {}
    for quantity in QUANTITIES:
        if quantity == "jump_rate" and not (system.has_jumps and model.has_jumps):
            continue
        lower, upper = model.interval(quantity, x, level)
        rows[quantity] = _row(np.asarray(getattr(system, quantity)(x)), getattr(model, quantity)(x), lower, upper)
    facts = f"{result.form}; jumps {model.has_jumps}; seen {model.seen(x).mean():.3f}"
    print(f"    seed {seed}: {facts}; {words(rows)}", flush=True)
    return rows


def words(rows: dict[str, Row]) -> str:
    """The coverage of each quantity."""
    return ", ".join(f"{name} {row.covered:.2f}" for name, row in rows.items())


def _row(truth: np.ndarray, value: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> Row:
    size = np.sqrt(np.mean(truth**2))
    known = (upper - lower <= 1e-6 * size) & (np.abs(value - truth) <= 1e-5 * size)
    truth, value, lower, upper = (a[~known] for a in (truth, value, lower, upper))
    half = np.maximum((upper - lower) / 2, 1e-12 * size)
    return Row(
        float(np.mean((lower <= truth) & (truth <= upper))),
        float(np.median(half) / size),
        float(np.sqrt(np.mean((value - truth) ** 2)) / size),
        float(np.sqrt(np.median(((value - truth) / half) ** 2))),
    )


def main(arguments: Sequence[str] = ()) -> None:
    """Prints the coverage of every quantity of every system."""
    parser = argparse.ArgumentParser("python -m benchmarks.validation coverage", description=__doc__)
    parser.add_argument("--sets", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--systems", default=";".join(SETTINGS), help=f"some of {'; '.join(SETTINGS)}, with ; between")
    parser.add_argument("--level", type=float, default=0.9)
    parser.add_argument("--trajectories", type=int, help="of a data set, instead of each system's own number")
    asked = parser.parse_args(arguments)
    found: dict[tuple[str, str], list[Row]] = {}
    for name in asked.systems.split(";"):
        setting, clock = SETTINGS[name.strip()], time.perf_counter()
        if asked.trajectories:
            setting = Setting(setting.system, asked.trajectories, setting.rows, setting.options)
        for seed in range(asked.first_seed, asked.first_seed + asked.sets):
            for quantity, row in measure(setting, seed, asked.level).items():
                found.setdefault((name, quantity), []).append(row)
        print(f"{name}: {time.perf_counter() - clock:.0f} s", flush=True)
        print(table({key: rows for key, rows in found.items() if key[0] == name}), flush=True)
    print(table(found))


def table(found: dict[tuple[str, str], list[Row]]) -> str:
    """The figures as Markdown."""
    lines = [
        "| system | quantity | data sets | coverage | half width | error |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for (name, quantity), rows in found.items():
        covered = np.array([row.covered for row in rows])
        error = covered.std(ddof=1) / np.sqrt(len(rows)) if len(rows) > 1 else np.nan
        width, missed = (np.median([getattr(row, field) for row in rows]) for field in ("width", "error"))
        lines.append(
            f"| {name} | {quantity} | {len(rows)} | {100 * covered.mean():.0f} ± {100 * error:.0f} % "
            f"| {width:.3f} | {missed:.3f} |"
        )
    return "\n".join(lines)
