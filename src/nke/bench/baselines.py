"""The paper's baselines on the double well and on Lorenz (0.3): ensemble metrics over the oracle floor."""

import numpy as np

from nke import baselines
from nke.bench.tables import print_rows
from nke.evaluation import evaluate, oracle_floor
from nke.fitting import fit
from nke.fitting.entry import Method
from nke.systems import DoubleWell, Lorenz, System

SEEDS = range(2)
TRAIN, TEST = 1024, 256
METHODS: dict[str, Method] = {
    "Euler–Maruyama": baselines.EulerMaruyama(),
    "trajectory flow matching": baselines.TrajectoryFlowMatching(),
    "SDE-GAN": baselines.SDEGAN(),
}
SYSTEMS: dict[str, System] = {"double well": DoubleWell(), "Lorenz (0.3)": Lorenz(noise=0.3)}


def run_seed(method: Method, system: System, seed: int) -> dict[str, float]:
    data, test = system.simulate(TRAIN, seed), system.simulate(TEST, seed + 1000)
    result = fit(data, method, seed=seed)
    measured = evaluate(result.model, test, seed=seed)
    floor = oracle_floor(system, test, np.asarray(result.model.coordinates.scale), seed=seed + 2000).mean
    assert measured.ensemble is not None  # systems record at common times
    row = {f"{name} over floor": value / getattr(floor, name) for name, value in measured.ensemble._asdict().items()}
    seconds = {"seconds": result.timings["total"], "of them compilation": result.timings["compilation"]}
    return row | {"score": measured.score} | seconds


def main() -> None:
    for name, system in SYSTEMS.items():
        for label, method in METHODS.items():
            print_rows(f"{name}: {label}", [run_seed(method, system, seed) for seed in SEEDS])
