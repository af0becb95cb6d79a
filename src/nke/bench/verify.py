"""``make verify``: the paper's three systems over five seeds, coefficients and metrics as a table.

``python -m nke.bench.verify likelihood`` runs one method only.
"""

import sys

import numpy as np
from rich.console import Console
from rich.table import Table

from nke.data import Coordinates
from nke.evaluation import evaluate, oracle_floor, recovery
from nke.fitting import Likelihood, MomentMatching, fit
from nke.systems import BlackScholes, DoubleWell, Lorenz, System

SEEDS = range(5)
TRAIN, TEST = 1024, 256
METHODS = {"likelihood": Likelihood(), "moment matching": MomentMatching()}
# What a prototype of moment matching reached: relative L2 error of drift and diffusion, to be no worse than.
PROTOTYPE = {"double well": (0.43, 0.18), "Lorenz (0.3)": (0.041, 0.16), "Black–Scholes": (0.48, 0.20)}
SYSTEMS: dict[str, System] = {
    "double well": DoubleWell(),
    "Lorenz (0.3)": Lorenz(noise=0.3),
    "Black–Scholes": BlackScholes(),
}


def run_seed(name: str, system: System, method: Likelihood | MomentMatching, seed: int) -> dict[str, float]:
    data, test = system.simulate(TRAIN, seed), system.simulate(TEST, seed + 1000)
    raw = Coordinates.raw(data) if name == "Black–Scholes" else None
    result = fit(data, method, jumps=system.has_jumps, seed=seed, coordinates=raw)
    scale = result.model.coordinates.scale
    found = recovery(result.model, system, test.states)
    measured = evaluate(result.model, test, seed=seed).ensemble
    floor = oracle_floor(system, test, scale, seed=seed + 2000).mean
    assert measured is not None  # systems record at common times
    row = {
        "drift": found.drift.relative,
        "drift (median)": found.drift.median,
        "diffusion": found.diffusion.relative,
        "diffusion (median)": found.diffusion.median,
        "score": result.model.score(test),
    }
    if system.has_jumps:
        states = np.asarray(test.states)[:, -1]
        deviations = np.sqrt(np.diagonal(result.model.jump_law(states).covariance.mean(axis=0)))
        row |= {"jump rate": float(result.model.jump_rate(states).mean()), "jump sd": float(deviations[0])}
        row |= {"transverse jump sd": float(deviations[1:].max())}
    for metric, value in measured._asdict().items():
        row |= {metric: value, f"{metric} floor": getattr(floor, metric)}
    return row | {"seconds": result.timings["total"]}


def print_table(console: Console, name: str, method: str, rows: list[dict[str, float]]) -> None:
    table = Table(title=f"{name}: {method}, {len(rows)} seeds")
    for heading in ("figure", "mean ± s.e.", "each seed", "prototype"):
        table.add_column(heading)
    reference: dict[str, float] = {}
    if method == "moment matching":
        reference = dict(zip(("drift", "diffusion"), PROTOTYPE[name], strict=True))
    for figure in rows[0]:
        values = np.array([row[figure] for row in rows])
        spread = values.std(ddof=1) / np.sqrt(len(values))
        each = "  ".join(f"{v:.3g}" for v in values)
        table.add_row(figure, f"{values.mean():.4g} ± {spread:.2g}", each, str(reference.get(figure, "")))
    console.print(table)


def main(chosen: list[str]) -> None:
    console = Console(width=120)
    for method in chosen or METHODS:
        for name, system in SYSTEMS.items():
            rows = []
            for seed in SEEDS:
                rows.append(run_seed(name, system, METHODS[method], seed))
                console.print(
                    f"{method}, {name}, seed {seed}: drift {rows[-1]['drift']:.3f}, a {rows[-1]['diffusion']:.3f}"
                )
            print_table(console, name, method, rows)


if __name__ == "__main__":
    main(sys.argv[1:])
