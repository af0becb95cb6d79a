"""Laws with networks on the paper's systems: errors and large roll-outs, beside the automatic fit and the floor."""

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.validation.tables import console, print_rows
from nke.bench.measure import nothing_compiled_before
from nke.bench.protocol import Case, Data, Protocol, Stream, cases, common_times, simulate
from nke.evaluation import EnsembleMetrics, ensemble_metrics, recovery
from nke.fitting import FitResult, Likelihood, fit

SYSTEMS = ("double-well", "lorenz-0.3", "black-scholes")
METHODS = {"networks": Likelihood(networks=True), "automatic": Likelihood()}
PROTOCOL = Protocol(large_replicates=8, large_draws=4)


def main(arguments: Sequence[str] = ()) -> None:
    """Measures the systems one seed after the other and prints a table for each."""
    options = _parser().parse_args(arguments)
    for name in options.systems.split(","):
        case, rows = cases()[name], {method: [] for method in options.methods.split(",")}
        for seed in range(options.first_seed, options.first_seed + options.seeds):
            data = simulate(case, PROTOCOL, seed)
            floor = _floor(case, data, seed)
            for method, found in rows.items():
                found.append(_measure(case, data, method, floor, seed))
                if options.output:
                    with options.output.open("a") as file:
                        file.write(json.dumps({"system": name, "seed": seed, "method": method, **found[-1]}) + "\n")
        for method, found in rows.items():
            print_rows(f"{case.label}, {method}", found, {"W1 over floor": "≤ 1.1"})


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m benchmarks.validation networks", description=__doc__)
    parser.add_argument("--systems", default=",".join(SYSTEMS))
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--first-seed", type=int, default=61)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--output", type=Path, help="file to which each row is appended as a JSON line")
    return parser


def _floor(case: Case, data: Data, seed: int) -> EnsembleMetrics:
    """The true system simulated afresh from the start states of the test set, averaged."""
    test, runs = data.large, range(PROTOCOL.large_replicates)
    seeds = [Stream.LARGE_REPLICATE.seed(seed, replicate=i) for i in runs]
    paths = (case.system.simulate_states(len(test), s, common_times(test), test.initial) for s in seeds)
    return _average([_compare(path, data) for path in paths])


def _measure(case: Case, data: Data, method: str, floor: EnsembleMetrics, seed: int) -> dict[str, float]:
    own, processor = data.coordinates if case.raw else None, time.process_time()
    with nothing_compiled_before():
        result = fit(data.train, METHODS[method], seed=seed, coordinates=own, progress=False)
    seconds, test = time.process_time() - processor, data.large
    console.print(*map(str, result.decisions), sep="\n", markup=False, highlight=False)
    seeds = [Stream.DRAW.seed(seed, replicate=i) for i in range(PROTOCOL.large_draws)]
    paths = [np.asarray(result.model.sample(test.initial, common_times(test), seed=s)) for s in seeds]
    over = np.array(_average([_compare(path, data) for path in paths])) / np.array(floor)
    names = {name: f"{words} over floor" for name, words in WORDS.items()}
    figures = _errors(result, case, data) | dict(zip(names.values(), over.tolist(), strict=True))
    console.print({k: round(v, 4) for k, v in figures.items()}, round(seconds))
    return figures | {"processor seconds": seconds}


WORDS = {"mean_mse": "Mean MSE", "covariance_mse": "Cov MSE", "wasserstein": "W1"}


def _errors(result: FitResult, case: Case, data: Data) -> dict[str, float]:
    found: Any = recovery(result.model, case.system, np.asarray(data.test.states))
    errors = {"drift": found.drift.relative, "drift (median)": found.drift.median, "a": found.diffusion.relative}
    return errors | ({} if found.jump_rate is None else {"rate": found.jump_rate.relative})


def _compare(paths: np.ndarray, data: Data) -> EnsembleMetrics:
    scale = data.coordinates.scale
    return ensemble_metrics(paths / scale, np.asarray(data.large.states) / scale)


def _average(rows: Sequence[EnsembleMetrics]) -> EnsembleMetrics:
    return EnsembleMetrics(*np.mean(np.array(rows), axis=0).tolist())
