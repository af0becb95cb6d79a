"""``nke demo``: simulate the double well, fit, and print what was found beside the truth."""

from pathlib import Path

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from nke.cli.demo_figure import save_figure
from nke.cli.output import require_matplotlib
from nke.errors import InputError
from nke.evaluation import evaluate, oracle_floor, recovery
from nke.fitting import FitResult, fit
from nke.model import Model
from nke.progress import progress_bar
from nke.systems import DoubleWell

TEST_TRAJECTORIES = 256
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
    console.print(result.summary(), highlight=False, soft_wrap=True)
    console.print("Simulating the true system from the same start states, 50 times, for the oracle floor …")
    console.print(_metrics(result, system, test, seed))
    console.print(_coefficients(result.model, system))
    console.print(_errors(result.model, system, test))
    save_figure(result.model, system, test, output, seed)
    console.print(f"Figure saved to {output}")


def _metrics(result: FitResult, system: DoubleWell, test, seed: int) -> Table:
    with progress_bar(None) as begin:
        floor = oracle_floor(system, test, result.model.coordinates.size, seed=seed + 2, progress=begin)
        measured = evaluate(result.model, test, seed + 3, progress=begin).ensemble
    assert measured is not None  # the test set is an ensemble on common times
    table = Table(title=f"{TEST_TRAJECTORIES} simulated against {TEST_TRAJECTORIES} unseen paths, z-scored")
    for heading in ("metric", "model", "oracle floor (mean ± sd)", "ratio"):
        table.add_column(heading, justify="left" if heading == "metric" else "right")
    for name, label in (("mean_mse", "Mean MSE"), ("covariance_mse", "Covariance MSE"), ("wasserstein", "Wasserstein")):
        value, mean, spread = (getattr(source, name) for source in (measured, floor.mean, floor.spread))
        table.add_row(label, f"{value:.4f}", f"{mean:.4f} ± {spread:.4f}", f"{value / mean:.2f}")
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
