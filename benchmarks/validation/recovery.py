"""Coefficients, metrics and held-out scores on the paper's three systems, method beside method."""

import functools

import numpy as np

from benchmarks.validation.tables import console, mean_and_error, print_rows
from nke.bench.true_score import true_log_prob
from nke.data import Coordinates, Trajectories
from nke.evaluation import EnsembleMetrics, evaluate, oracle_floor, recovery
from nke.fitting import Likelihood, MomentMatching, fit
from nke.model import Model
from nke.operators import EulerMaruyamaRule
from nke.systems import BlackScholes, DoubleWell, Lorenz, System

SEEDS = range(5)
TRAIN, TEST = 1024, 256
SCORED = 4000  # unseen transitions on which the true law is scored
METHODS = {
    "likelihood": Likelihood(networks=True),
    "Euler–Maruyama likelihood": Likelihood(networks=True, rule=EulerMaruyamaRule()),
    "moment matching": MomentMatching(),
}
SYSTEMS: dict[str, System] = {
    "double well": DoubleWell(),
    "Lorenz (0.3)": Lorenz(noise=0.3),
    "Black–Scholes": BlackScholes(),
}
TARGETS = {
    ("likelihood", "double well"): {
        "drift": "≤ 0.18",
        "drift (median)": "≤ 0.09",
        "diffusion": "≤ 0.035",
        "jump rate": "0.97 … 1.03",
        "jump sd": "0.95 … 1.05",
        "transverse jump sd": "≤ 0.05",
    },
    ("likelihood", "Lorenz (0.3)"): {"drift": "≤ 0.05", "diffusion": "≤ 0.10"},
    ("likelihood", "Black–Scholes"): {"drift": "≤ 0.35", "diffusion": "≤ 0.05"},
    # What a prototype of moment matching reached.
    ("moment matching", "double well"): {"drift": "≤ 0.43", "diffusion": "≤ 0.18"},
    ("moment matching", "Lorenz (0.3)"): {"drift": "≤ 0.041", "diffusion": "≤ 0.16"},
    ("moment matching", "Black–Scholes"): {"drift": "≤ 0.48", "diffusion": "≤ 0.20"},
}
HALF_TARGETS = {"drift (median)": "≤ 0.12", "diffusion": "≤ 0.05", "jump rate": "0.93 … 1.07"}


def coefficient_errors(model: Model, system: System, test: Trajectories) -> dict[str, float]:
    """Relative errors over unseen states and, with jumps, their mean rate and deviations."""
    found = recovery(model, system, test.states)
    row = {
        "drift": found.drift.relative,
        "drift (median)": found.drift.median,
        "diffusion": found.diffusion.relative,
        "diffusion (median)": found.diffusion.median,
    }
    if system.has_jumps:
        states = np.asarray(test.states)[:, -1]
        deviations = np.sqrt(np.diagonal(model.jump_law(states).covariance.mean(axis=0)))
        row |= {"jump rate": float(model.jump_rate(states).mean()), "jump sd": float(deviations[0])}
        row |= {"transverse jump sd": float(deviations[1:].max())}
    return row


@functools.cache
def _floor(name: str, seed: int, scale: tuple[float, ...]) -> EnsembleMetrics:
    system = SYSTEMS[name]
    return oracle_floor(system, system.simulate(TEST, seed + 1000), np.array(scale), seed=seed + 2000).mean


@functools.cache
def _truth(name: str, seed: int) -> np.ndarray:
    system = SYSTEMS[name]
    return true_log_prob(system, _scored(system.simulate(TEST, seed + 1000)))


def _scored(test: Trajectories):
    seen = test.transitions()
    return seen.take(np.sort(np.random.default_rng(0).choice(len(seen), SCORED, replace=False)))


def run_seed(method: str, name: str, seed: int) -> dict[str, float]:
    """Fits a method to one data set and measures everything about it."""
    system = SYSTEMS[name]
    data, test = system.simulate(TRAIN, seed), system.simulate(TEST, seed + 1000)
    raw = Coordinates.raw(data) if name == "Black–Scholes" else None
    result = fit(
        data, METHODS[method], jumps=None if method == "likelihood" else system.has_jumps, seed=seed, coordinates=raw
    )
    row = coefficient_errors(result.model, system, test)
    if isinstance(system, BlackScholes):
        best = recovery(BlackScholes.maximum_likelihood(data), system, test.states)
        row |= {"drift, parametric fit": best.drift.relative, "diffusion, parametric fit": best.diffusion.relative}
    measured = evaluate(result.model, test, seed=seed).ensemble
    floor = _floor(name, seed, tuple(result.model.coordinates.size.tolist()))
    assert measured is not None  # systems record at common times
    for metric, value in measured._asdict().items():
        row |= {metric: value, f"{metric} over floor": value / getattr(floor, metric)}
    part = _scored(test)
    gain = result.model.log_prob(part.y, given=part.x, step=part.step) - _truth(name, seed)
    row |= {"score": result.model.score(test), "score over true law": float(gain.mean())}
    return row | {"its s.e.": float(gain.std() / np.sqrt(len(gain))), "seconds": result.timings["total"]}


def compare(name: str) -> None:
    """Every method on one system, then the scores paired over the seeds."""
    scores: dict[str, np.ndarray] = {}
    for method in METHODS:
        rows = [run_seed(method, name, seed) for seed in SEEDS]
        print_rows(f"{name}: {method}", rows, TARGETS.get((method, name)))
        scores[method] = np.array([row["score"] for row in rows])
    for other in list(METHODS)[1:]:
        gain = mean_and_error((scores["likelihood"] - scores[other]).tolist())
        console.print(f"{name}: held-out score of likelihood minus {other}: {gain} nats per transition")


def half_of_the_rows() -> None:
    """Double well, each row removed with probability one half: steps of 0.05, 0.10, 0.15 and so on."""
    system, rows = DoubleWell(), []
    for seed in SEEDS:
        data, test = system.simulate(TRAIN, seed), system.simulate(TEST, seed + 1000)
        states = np.array(data.states)
        states[np.random.default_rng(seed).random(states.shape[:2]) < 0.5] = np.nan
        result = fit(Trajectories(states, np.asarray(data.times)), METHODS["likelihood"], jumps=True, seed=seed)
        rows.append(coefficient_errors(result.model, system, test) | {"seconds": result.timings["total"]})
    print_rows("double well with half of its rows", rows, HALF_TARGETS)
