"""The figure of ``nke demo``: paths, coefficients and densities beside the truth."""

from pathlib import Path

import numpy as np

from nke.data import Trajectories
from nke.model import Model
from nke.plots.style import LEARNED
from nke.plots.style import RECORDED as TRUTH
from nke.systems import DoubleWell


def save_figure(model: Model, system: DoubleWell, test: Trajectories, output: Path, seed: int) -> None:
    """Draws six panels along the axis of the double well and writes them to ``output``."""
    from matplotlib.figure import Figure

    times = np.asarray(test.times)[0]
    true_paths = np.asarray(test.states)[..., 0]
    paths = model.sample(test.initial, times, seed=seed + 3)[..., 0]
    figure = Figure(figsize=(12, 7), layout="constrained")
    axes = figure.subplots(2, 3)
    for axis, title, drawn, colour in (
        (axes[0, 0], "recorded paths", true_paths, TRUTH),
        (axes[0, 1], "simulated from the model", paths, LEARNED),
    ):
        axis.plot(times, drawn[:12].T, color=colour, alpha=0.6, linewidth=0.9)
        axis.set(title=title, xlabel="time", ylabel="$x_1$", ylim=(-4, 4))
    _increments(axes[0, 2], true_paths, paths)
    _slices(axes[1, 0], axes[1, 1], model, system)
    bins = np.linspace(-3.5, 3.5, 36)
    axes[1, 2].hist(true_paths[:, -1], bins, density=True, color=TRUTH, alpha=0.35, label="recorded")
    axes[1, 2].hist(paths[:, -1], bins, density=True, histtype="step", linewidth=1.8, color=LEARNED, label="model")
    axes[1, 2].set(title=f"density at time {times[-1]:g}", xlabel="$x_1$")
    axes[1, 2].legend(frameon=False)
    figure.savefig(output, dpi=130)


def _increments(axis, true_paths: np.ndarray, paths: np.ndarray) -> None:
    bins = np.linspace(-3, 3, 61)
    for drawn, colour, label in ((true_paths, TRUTH, "recorded"), (paths, LEARNED, "model")):
        axis.hist(np.diff(drawn).ravel(), bins, density=True, histtype="step", linewidth=1.6, color=colour, label=label)
    axis.set(title="one-step increments (tails are the jumps)", xlabel="$\\Delta x_1$", yscale="log")
    axis.legend(frameon=False)


def _slices(drift_axis, noise_axis, model: Model, system: DoubleWell) -> None:
    line = np.linspace(-2, 2, 101)
    states = np.zeros((len(line), 3))
    states[:, 0] = line
    for source, style in ((system, {"color": TRUTH, "label": "true"}), (model, {"color": LEARNED, "label": "learned"})):
        dash = "--" if source is system else "-"
        drift_axis.plot(line, np.asarray(source.drift(states))[:, 0], linestyle=dash, **style)
        noise_axis.plot(line, np.asarray(source.diffusion(states))[:, 0, 0], linestyle=dash, **style)
        rate = {**style, "label": None, "alpha": 0.5}
        noise_axis.plot(line, np.asarray(source.jump_rate(states)), linestyle=dash, linewidth=2.5, **rate)
    drift_axis.set(title="drift $f_1(x_1, 0, 0)$", xlabel="$x_1$", ylim=(-5, 5))
    noise_axis.set(title="diffusion $a_{11}$ (thin) and jump rate $\\lambda$ (thick)", xlabel="$x_1$")
    noise_axis.set_ylim(0, 1.5)
    drift_axis.legend(frameon=False)
    noise_axis.legend(frameon=False)
