"""The rarefied gas as it is learned: its physics beside the truth, and the picture of docs/rarefied-gas.md."""

from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from rich.table import Table
from scipy.stats import rayleigh

from benchmarks.validation.tables import console
from nke.bench.cases.rarefied_gas import POSITIONS, law_statistics, path_statistics
from nke.fitting import FitResult, Likelihood, fit
from nke.model import Model
from nke.plots.style import LEARNED, RECORDED
from nke.systems import RarefiedGas

TRAIN = 512
PATHS, LATER, END = 1000, 5.0, 10.0  # simulated paths, and the part of them that is looked at
PICTURE = Path("rarefied-gas.png")
SHOWN = 3  # paths
TARGETS = {
    10.0: {
        "collision_rate": "8.653 ± 5 %",
        "velocity_variance": "1.1 ± 3 %",
        "autocorrelation": "0.3504 ± 0.02",
        "velocity_kurtosis": "± 15 %",
    },
    1000.0: {"friction": "1 ± 10 %", "diffusivity": "1 ± 10 %"},
}


def main(seed: int = 0) -> None:
    """Learns both gases and prints their physics; the first one is drawn."""
    for mass_ratio in TARGETS:
        gas = RarefiedGas(mass_ratio)
        result = learn(gas, seed)
        console.print(result.summary())
        paths = {"truth": stationary(gas, seed), "learned": stationary(result.model, seed)}
        console.print(_table(mass_ratio, *(_figures(law, paths) for law in (gas, result.model))))
        if mass_ratio == 10.0:
            draw(gas, result.model, paths["truth"], paths["learned"]).savefig(PICTURE, dpi=110)
            console.print(f"picture in {PICTURE}")


def _figures(law: RarefiedGas | Model, paths: dict[str, np.ndarray]) -> dict[str, float]:
    found = paths["learned" if isinstance(law, Model) else "truth"]
    states = _states(paths["truth"])
    noise = {"noise": float(np.mean(np.asarray(law.diffusion(states))[:, 3, 3]))}
    return path_statistics(found, paths["truth"], _times()) | law_statistics(law, states) | noise


def _table(mass_ratio: float, truth: dict[str, float], learned: dict[str, float]) -> Table:
    heading = f"mass ratio {mass_ratio:g}, {PATHS} paths from {LATER:g} to {END:g}"
    table = Table("figure", "molecular dynamics", "learned", "target", title=heading)
    for name, value in learned.items():
        table.add_row(name, f"{truth[name]:.4g}", f"{value:.4g}", TARGETS[mass_ratio].get(name, ""))
    return table


def learn(gas: RarefiedGas, seed: int) -> FitResult:
    """Told that positions follow their velocities and that space is the same everywhere; the rest is left to nke."""
    return fit(gas.simulate(TRAIN, seed), Likelihood(kinetic=POSITIONS, invariant=tuple(POSITIONS)), seed=seed)


def stationary(law: RarefiedGas | Model, seed: int) -> Float[np.ndarray, "m t d"]:
    """Paths long after their start, so that their statistics are the law's own."""
    start, times = RarefiedGas().initial(PATHS, np.random.default_rng(seed)), np.arange(0, END + 0.01, 0.02)
    if isinstance(law, Model):
        paths = law.sample(start, times, seed=seed + 1)
    else:
        paths = law.simulate_states(PATHS, seed + 2, times, start)
    return paths[:, times >= LATER - 1e-9]


def _times() -> Float[np.ndarray, " t"]:
    times = np.arange(0, END + 0.01, 0.02)
    return times[times >= LATER - 1e-9]


def _states(paths: Float[np.ndarray, "m t d"]) -> Float[np.ndarray, "n d"]:
    return paths[:, ::50].reshape(-1, paths.shape[-1])


def draw(gas: RarefiedGas, model: Model, truth: np.ndarray, learned: np.ndarray) -> Any:
    """Collisions, the law of a jump, its rate, and what the velocity forgets."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 7), layout="constrained")
    (gas_path, model_path, jumps), (rates, memory, spread) = figure.subplots(2, 3)
    model_path.sharey(gas_path)
    sides = ((gas_path, truth, "molecular dynamics", RECORDED), (model_path, learned, "learned", LEARNED))
    for axis, paths, title, colour in sides:
        axis.plot(_times()[:100] - LATER, paths[:SHOWN, :100, 3].T, color=colour, drawstyle="steps-post", linewidth=1)
        axis.set(title=title, xlabel="time", ylabel="v1")
    _draw_jumps(jumps, gas, truth, learned)
    _draw_rates(rates, gas, model, _states(truth))
    _draw_memory(memory, spread, gas, truth, learned)
    return figure


def _draw_jumps(axis: Any, gas: RarefiedGas, truth: np.ndarray, learned: np.ndarray) -> None:
    edges, middle = np.linspace(0, 2.5, 51), np.linspace(0.01, 2.5, 200)
    for paths, label, colour in ((truth, "molecular dynamics", RECORDED), (learned, "learned", LEARNED)):
        size = np.linalg.norm(np.diff(paths[..., 3:], axis=1), axis=-1).ravel()
        axis.hist(size[size > 0.01], edges, density=True, histtype="step", color=colour, label=label)
    axis.plot(middle, rayleigh.pdf(middle, scale=gas.jump_scale), "--", color="grey", label="one collision: Rayleigh")
    axis.set(title="kick of a step, where there is one", xlabel="|Δv|", ylabel="density")
    axis.legend(frameon=False)


def _draw_rates(axis: Any, gas: RarefiedGas, model: Model, states: Float[np.ndarray, "n d"]) -> None:
    speed = np.linalg.norm(states[:, 3:], axis=1)
    line = np.linspace(0, speed.max(), 100)
    axis.plot(speed, model.jump_rate(states), ".", color=LEARNED, markersize=2, alpha=0.5, label="learned")
    axis.plot(line, gas.jump_rate(line[:, None] * np.eye(6)[3]), color=RECORDED, label="truth Λ(|v|)")
    axis.set(title="collisions per time", xlabel="|v|", ylim=(0, None))
    axis.legend(frameon=False)


def _draw_memory(memory: Any, spread: Any, gas: RarefiedGas, truth: np.ndarray, learned: np.ndarray) -> None:
    lags = np.arange(0, 201, 10)
    for paths, label, colour in ((truth, "molecular dynamics", RECORDED), (learned, "learned", LEARNED)):
        v, x = paths[..., 3:], paths[..., :3]
        square = np.mean(v**2)
        kept = [np.mean(v[:, : v.shape[1] - lag] * v[:, lag:]) / square for lag in lags]
        moved = [np.mean((x[:, lag:] - x[:, : x.shape[1] - lag]) ** 2) for lag in lags]
        memory.plot(0.02 * lags, kept, ".", color=colour, label=label)
        spread.plot(0.02 * lags, moved, ".", color=colour, label=label)
    memory.plot(0.02 * lags, gas.autocorrelation(0.02 * lags), color="grey", label="formula")
    spread.plot(0.02 * lags, gas.mean_squared_displacement(0.02 * lags), color="grey", label="formula")
    memory.set(title="autocorrelation of v", xlabel="lag")
    spread.set(title="mean squared displacement", xlabel="lag")
    memory.legend(frameon=False)
