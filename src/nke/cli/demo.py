"""``nke demo``: simulate the double well, fit, and print what was found beside the truth."""

from pathlib import Path

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.panel import Panel
from rich.table import Table

from nke.cli.demo_figure import save_figure
from nke.cli.output import require_matplotlib
from nke.data import Trajectories
from nke.errors import InputError
from nke.evaluation import ensemble_metrics, oracle_floor, recovery
from nke.fitting import FitResult, fit
from nke.model import Model
from nke.progress import progress_bar
from nke.systems import DoubleWell

TEST_TRAJECTORIES = 256
REPLICATES, FLOOR = 20, 50  # ensembles of the model and of the truth that are averaged: one alone is ruled by chance
LABELS = ("Mean MSE", "Covariance MSE", "Wasserstein")
TRUTH = "dx₁ = (x₁ − x₁³) dt + 0.5 dW, jumps N(0, 1) once per unit time; dx₂, dx₃ = −x dt + 0.5 dW"
NEXT = """  nke info data.csv                              # what nke sees in your file
  nke fit data.csv -o law.nke                    # the law, and what speaks against it
  nke plot law.nke data.csv -o pictures          # the law beside the data"""
PROBES = np.array([[x, 0.5, -0.5] for x in (-1.5, -1, -0.5, 0, 0.5, 1, 1.5)])


def run(output: Path, trajectories: int, seed: int) -> None:
    """Simulates, fits, and prints and draws the result beside the truth."""
    if not output.parent.is_dir():
        raise InputError(f"expected an existing folder for the figure, but {output.parent} is none; create it first")
    require_matplotlib()
    console = Console()
    system = DoubleWell()
    console.print(f"Simulating {trajectories} trajectories of a double well with jumps …")
    data, test = system.simulate(trajectories, seed), system.simulate(TEST_TRAJECTORIES, seed + 1)
    console.print("Fitting drift, diffusion and jumps (a minute or two on two cores) …")
    result = fit(data, seed=seed)
    console.print(_equation(result))
    console.print(result.summary(), highlight=False, soft_wrap=True)
    console.print(
        f"Simulating the model {REPLICATES} times from the start states of unseen paths, the truth {FLOOR} times …"
    )
    console.print(_metrics(result, system, test, seed))
    console.print(_coefficients(result.model, system))
    console.print(_errors(result.model, system, test))
    save_figure(result.model, system, test, output, seed)
    console.print(f"Figure saved to {output}\n\nWith data of your own:\n{NEXT}", highlight=False)


def _equation(result: FitResult) -> Panel:
    """The law that was learned, large, with the true one below."""
    lines = ["a law without short equation"] if result.equation is None else result.equation.lines()
    words = "\n".join(f"[bold]{line}[/bold]" for line in lines)
    return Panel(f"{words}\n\n[dim]truth: {TRUTH}[/dim]", title="learned, with standard errors", padding=(1, 3))


def _metrics(result: FitResult, system: DoubleWell, test: Trajectories, seed: int) -> Table:
    model, scale = result.model, result.model.coordinates.size
    with progress_bar(None) as begin:
        floor = oracle_floor(system, test, scale, FLOOR, seed=seed + 2, progress=begin)
        start, times = np.tile(test.initial, (REPLICATES, 1)), np.asarray(test.times)[0]
        paths = model.sample(start, times, seed=seed + 3, progress=begin)
    runs = paths.reshape(REPLICATES, len(test), *paths.shape[1:])
    found = np.array([ensemble_metrics(run / scale, np.asarray(test.states) / scale) for run in runs])
    table = Table(title=f"{len(test)} simulated against {len(test)} unseen paths, z-scored; mean ± sd over repetitions")
    for heading in ("metric", "model", "true law", "ratio ± error"):
        table.add_column(heading, justify="left" if heading == "metric" else "right")
    rows = zip(LABELS, found.mean(axis=0), found.std(axis=0, ddof=1), floor.mean, floor.spread, strict=True)
    for label, value, spread, mean, deviation in rows:
        ratio = value / mean
        error = ratio * np.hypot(spread / value / np.sqrt(REPLICATES), deviation / mean / np.sqrt(FLOOR))
        table.add_row(
            label, f"{value:.4f} ± {spread:.4f}", f"{mean:.4f} ± {deviation:.4f}", f"{ratio:.2f} ± {error:.2f}"
        )
    table.caption = (
        "Ratio 1: as close to the unseen paths as the true law itself, which chance keeps away from 0; "
        "2: twice as far. Below 1 is no merit."
    )
    return table


def _coefficients(model: Model, system: DoubleWell) -> Table:
    title = "Recovered coefficients at (x₁, 0.5, −0.5): learned (true)"
    table = Table(title=title, box=SIMPLE_HEAD, pad_edge=False)  # narrow enough for 80 columns
    for heading in ("x₁", "f₁", "f₂", "a₁₁", "a₂₂", "λ"):
        table.add_column(heading, justify="right")
    f, a, rate = model.drift(PROBES), model.diffusion(PROBES), model.jump_rate(PROBES)
    true_f, true_a, true_rate = (np.asarray(c(PROBES)) for c in (system.drift, system.diffusion, system.jump_rate))
    for i, state in enumerate(PROBES):
        pairs = [(f[i, 0], true_f[i, 0]), (f[i, 1], true_f[i, 1]), (a[i, 0, 0], true_a[i, 0, 0])]
        pairs += [(a[i, 1, 1], true_a[i, 1, 1]), (rate[i], true_rate[i])]
        cells = [f"{learned:.2f} ({true + 0.0:.2f})" for learned, true in pairs]
        table.add_row(f"{state[0]:g}", *cells)
    return table


def _errors(model: Model, system: DoubleWell, test) -> Table:
    table = Table(title="Errors over the unseen states")
    for heading in ("", "relative L2", "pointwise median"):
        table.add_column(heading, justify="left" if not heading else "right")
    found = recovery(model, system, test.states)
    rows = (("drift f", found.drift), ("diffusion a", found.diffusion), ("jump rate λ", found.jump_rate))
    for label, error in rows:
        if error is not None:
            table.add_row(label, f"{error.relative:.3f}", f"{error.median:.3f}")
    return table
