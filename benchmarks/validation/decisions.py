"""Where networks are needed: what they reach, and what a drift without network does beside them."""

import equinox as eqx
import jax
import numpy as np

from benchmarks.validation.tables import print_rows
from nke.evaluation import jump_law_distance, recovery
from nke.evaluation.ensemble import wasserstein
from nke.fitting import Likelihood, fit
from nke.fitting.result import FitResult
from nke.systems import BimodalJumps, CoxIngersollRoss, DoubleWell, Lorenz, System

SEEDS = range(61, 66)
TRAIN, TEST = 1024, 256
REPLICATES = 50  # of the true system, for the floor
SIZES = (32, 128, 512, 1024)


def heavy_noise() -> None:
    """Lorenz with noise 3: relative noise, a quadratic skip and sub-steps are what it takes."""
    targets = {
        "drift (median)": "≤ 0.2",
        "diffusion (median)": "≤ 0.2",
        "W1 over floor": "≤ 1.2",
        "W1 of asinh over floor": "≤ 1.3",
        "non-finite paths": "0",
    }
    print_rows("Lorenz (3)", [_heavy(seed) for seed in SEEDS], targets)


def _heavy(seed: int) -> dict[str, float]:
    system = Lorenz(noise=3.0)
    data, test = system.simulate(TRAIN, seed), system.simulate(TEST, seed + 1000)
    result = fit(data, Likelihood(networks=True), seed=seed)
    found, states = recovery(result.model, system, test.states), np.asarray(test.states)
    times = np.asarray(test.times).reshape(-1, states.shape[1])[0]
    generated = result.model.sample(states[:, 0], times, seed=seed)
    start = np.tile(states[:, 0], (REPLICATES, 1))
    truth = np.asarray(system.simulate(len(start), seed + 2000, times=times, initial=start).states)
    runs, scale = truth.reshape(REPLICATES, *states.shape), result.model.coordinates.size

    def over_floor(view) -> float:
        floor = np.mean([wasserstein(view(run), view(states)).mean() for run in runs])
        return float(wasserstein(view(generated), view(states)).mean() / floor)

    return {
        "drift (median)": found.drift.median,
        "diffusion (median)": found.diffusion.median,
        "W1 over floor": over_floor(lambda x: x / scale),
        "W1 of asinh over floor": over_floor(np.arcsinh),
        "non-finite paths": float((~np.isfinite(generated)).any(axis=(1, 2)).sum()),
        "jumps found": float(result.model.has_jumps),
        "seconds": result.timings["total"],
    }


def state_dependent_jumps() -> None:
    """Jumps of two kinds whose rate depends on the state."""
    targets = {
        "drift": "≤ 0.06",
        "diffusion": "≤ 0.04",
        "rate function": "≤ 0.08",
        "W1 of the law": "≤ 0.10",
        "mean rate": "0.96 … 1.04",
        "components": "2",
    }
    print_rows("state-dependent bimodal jumps", [_bimodal(seed) for seed in SEEDS], targets)


def _bimodal(seed: int) -> dict[str, float]:
    system = BimodalJumps()
    data, test = system.simulate(TRAIN, seed), system.simulate(TEST, seed + 1000)
    result = fit(data, Likelihood(networks=True), seed=seed)
    model, states = result.model, np.asarray(test.states)[:, ::10].reshape(-1, 2)
    found = recovery(model, system, test.states)
    rate, truth = model.jump_rate(states), np.asarray(system.jump_rate(states))
    laws = model.jump_law(states[:200]), system.jump_law(states[:200])
    return {
        "drift": found.drift.relative,
        "diffusion": found.diffusion.relative,
        "rate function": float(np.sqrt(np.mean((rate - truth) ** 2) / np.mean(truth**2))),
        "W1 of the law": float(jump_law_distance(*laws)[:, 0].mean()),
        "mean rate": float(rate.mean() / truth.mean()),
        "components": float(laws[0].components),
        "seconds": result.timings["total"],
    }


def simple_drifts() -> None:
    """Straight drifts beside noise or jumps that need networks: everything automatic, and a network for the drift."""
    systems: dict[str, System] = {"Cox–Ingersoll–Ross": CoxIngersollRoss(), "bimodal jumps": BimodalJumps()}
    for name, system in systems.items():
        for said, method in {"": Likelihood(), ", networks for all": Likelihood(networks=True)}.items():
            print_rows(f"{name}, {TEST} trajectories{said}", [_simple_drift(system, method, seed) for seed in SEEDS])


def _simple_drift(system: System, method: Likelihood, seed: int) -> dict[str, float]:
    data, test = system.simulate(TEST, seed), system.simulate(TEST, seed + 1000)
    result = fit(data, method, seed=seed)
    found = recovery(result.model, system, test.states)
    return {
        "drift": found.drift.relative,
        "diffusion": found.diffusion.relative,
        "drift without network": float(not _has_network(result.model.generator.advection.drift)),
        "seconds": result.timings["total"],
    }


def _has_network(function: object) -> bool:
    """Whether a coefficient contains a multilayer perceptron."""
    parts = jax.tree.leaves(function, is_leaf=lambda node: isinstance(node, eqx.nn.MLP))
    return any(isinstance(part, eqx.nn.MLP) for part in parts)


def sizes() -> None:
    """Double well from little to plenty of data, held-out score beside the true law's."""
    targets = {32: {"score over true law": "≥ −0.07", "diffusion": "≤ 0.12"}}
    targets[1024] = {"score over true law": "≥ −0.005", "diffusion": "≤ 0.035"}
    for trajectories in SIZES:
        rows = [_size(trajectories, seed) for seed in SEEDS]
        print_rows(f"double well, {trajectories} trajectories", rows, targets.get(trajectories))


def _size(trajectories: int, seed: int) -> dict[str, float]:
    system = DoubleWell()
    data, test = system.simulate(trajectories, seed), system.simulate(TEST, seed + 1000)
    result: FitResult = fit(data, Likelihood(networks=True), seed=seed)
    seen, found = test.transitions(), recovery(result.model, system, test.states)
    gain = result.model.log_prob(seen.y, given=seen.x, step=seen.step) - system.log_prob(
        seen.y, given=seen.x, step=seen.step
    )
    return {
        "score over true law": float(gain.mean()),
        "drift (median)": found.drift.median,
        "diffusion": found.diffusion.relative,
        "jump rate": float(result.model.jump_rate(np.asarray(test.states)[:, -1]).mean()),
        "seconds": result.timings["total"],
    }
