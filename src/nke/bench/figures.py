"""The paper's figures: ground truth, Euler–Maruyama and Kolmogorov side by side."""

from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from nke.bench.methods import KOLMOGOROV, ORACLE, REFERENCE
from nke.bench.protocol import Case
from nke.bench.results import Results
from nke.errors import MissingPackageError


def save_figure(case: Case, results: Results) -> list[Path]:
    """Draws paths, density over time and density in a plane, a column for each method; PNG and SVG.

    Without paths of the truth nothing is drawn.
    """
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise MissingPackageError("figures need matplotlib; install it with: pip install 'nke[plots]'") from error
    columns = {ORACLE: "ground truth", REFERENCE: "Euler–Maruyama", KOLMOGOROV: "Kolmogorov"}
    paths = {method: results.paths(case.name, method) for method in columns}
    truth = paths[ORACLE]
    if truth is None:
        return []
    figure = Figure(figsize=(11, 9), layout="constrained")
    figure.suptitle(case.label)
    axes = figure.subplots(3, len(columns), sharex="row", sharey="row")
    limits = [_limits(truth[..., i]) for i in range(truth.shape[-1])]
    for column, (method, title) in enumerate(columns.items()):
        axes[0, column].set_title(title)
        _draw(axes[:, column], paths[method], truth, case, limits, first=column == 0)
    folder = results.folder / "figures"
    folder.mkdir(exist_ok=True)
    files = [folder / f"{case.name}.{ending}" for ending in ("png", "svg")]
    for file in files:
        figure.savefig(file, dpi=130)
    return files


def _draw(
    axes: Any,
    paths: Float[np.ndarray, "m t d"] | None,
    truth: Float[np.ndarray, "n t d"],
    case: Case,
    limits: list[tuple[float, float]],
    first: bool,
    shown: int = 40,
    bins: int = 48,
) -> None:
    """Draws one column: ``shown`` paths, and histograms of ``bins`` cells a side."""
    names, (i, j) = case.system.names, case.plane
    times = case.system.times
    if paths is None:
        for axis in axes:
            axis.text(0.5, 0.5, "not run", transform=axis.transAxes, ha="center", va="center", color="grey")
            axis.set_axis_off()
        return
    lines, over_time, plane = axes
    lines.plot(times, paths[:shown, :, i].T, color="black", alpha=0.35, linewidth=0.7)
    lines.set(xlim=(times[0], times[-1]), ylim=limits[i], xlabel="time")
    edges, grid = np.linspace(*limits[i], bins + 1), np.append(times, 2 * times[-1] - times[-2])
    # Roots show the rare places beside the frequent ones, colours end at the 99.5th percentile of the truth's density;
    # cells as pixels keep the SVG small.
    style = {"vmin": 0, "rasterized": True}
    top = np.percentile(_density(truth[..., i], edges), 99.5)
    over_time.pcolormesh(grid, edges, np.sqrt(_density(paths[..., i], edges)), vmax=np.sqrt(top), **style)
    over_time.set(xlabel="time")
    cells = edges, np.linspace(*limits[j], bins + 1)
    expected, seen = (np.histogram2d(*_pair(p, i, j), bins=cells, density=True)[0] for p in (truth, paths))
    top = np.percentile(expected, 99.5)
    plane.pcolormesh(*cells, np.sqrt(seen).T, vmax=np.sqrt(top), cmap="magma", **style)
    plane.set(xlabel=names[i])
    if first:
        lines.set_ylabel(f"{names[i]}, paths")
        over_time.set_ylabel(f"{names[i]}, density")
        plane.set_ylabel(f"{names[j]}, joint density")


def _limits(values: Float[np.ndarray, "m t"], margin: float = 0.2) -> tuple[float, float]:
    """The range of an axis: the 2nd to the 98th percentile of the truth, with a margin."""
    low, high = np.percentile(values, (2, 98))
    return float(low - margin * (high - low)), float(high + margin * (high - low))


def _density(values: Float[np.ndarray, "m t"], edges: Float[np.ndarray, " e"]) -> Float[np.ndarray, "b t"]:
    """A column for each time; what left the frame is missing from it."""
    columns = [np.histogram(values[:, t], edges)[0] for t in range(values.shape[1])]
    return np.stack(columns, axis=1) / len(values) / (edges[1] - edges[0])


def _pair(paths: Float[np.ndarray, "m t d"], i: int, j: int) -> tuple[np.ndarray, np.ndarray]:
    rows = paths[..., [i, j]].reshape(-1, 2)
    rows = rows[np.isfinite(rows).all(axis=1)]
    return rows[:, 0], rows[:, 1]
