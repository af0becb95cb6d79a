"""``nke plot``: pictures of a model beside data."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nke.cli.options import AsJson, DataFile, ModelFile, Seed, reads_data
from nke.cli.output import load_data, load_result, note, require_matplotlib, say

if TYPE_CHECKING:
    from nke.progress import Progress


@reads_data
def plot(
    model: ModelFile,
    data: DataFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the figures.")] = Path("nke-plots"),
    ending: Annotated[str, typer.Option("--format", help="png, svg or pdf.")] = "png",
    seed: Seed = 0,
    as_json: AsJson = False,
    *,
    columns: dict[str, Any],
) -> None:
    """Draw drift, diffusion, jumps, paths, densities, increments, the long run and the history of the fit.

    Example: nke plot cells.nke cells.csv -o pictures
    """
    if ending not in ("png", "svg", "pdf"):
        raise typer.BadParameter(f"expected png, svg or pdf, but got {ending!r}", param_hint="--format")
    require_matplotlib()
    from nke.progress import progress_bar

    result = load_result(model)
    recorded = load_data(data, columns, result.model)
    with progress_bar(None) as begin:
        files = _draw(_pictures(result, recorded, seed, begin), output, ending, begin)
    say("\n".join(map(str, files)), as_json, {"files": list(map(str, files))})


def _pictures(result, data, seed: int, progress: "Progress") -> dict[str, Callable[..., Any]]:
    """Collects what there is to draw, by name; each takes the figure."""
    from functools import partial

    import numpy as np

    from nke import plots
    from nke.evaluation import simulate_like
    from nke.plots.numbers import MOST_TIMES
    from nke.plots.view import require_same_coordinates

    model = result.model
    require_same_coordinates(model, data)
    some = data.select(slice(1000)) if len(data) > 1000 else data  # more are not told apart in a picture
    simulated = simulate_like(model, some, seed, progress=progress, most_times=MOST_TIMES)
    pictures = {
        "drift": partial(plots.drift, model, data),
        "diffusion": partial(plots.diffusion, model, data),
        "paths": partial(plots.paths, model, some, simulated=simulated),
        "densities": partial(plots.densities, model, some, simulated=simulated),
        "increments": partial(plots.increments, model, data, seed=seed),
    }
    if max(map(np.count_nonzero, data.observed)) >= 20:
        pictures["autocorrelation"] = partial(plots.autocorrelation, model, data, seed=seed)
        pictures["stationary"] = partial(plots.stationary, model, data, seed=seed)
    if model.has_jumps:
        pictures["jump-rate"] = partial(plots.jump_rate, model, data)
        pictures["jump-law"] = partial(plots.jump_law, model, data)
    else:
        note("the model has no jumps: no picture of their rate and law")
    if result.history:
        pictures["history"] = partial(plots.history, result)
    return pictures


def _draw(pictures: dict[str, Callable[..., Any]], folder: Path, ending: str, progress: "Progress") -> list[Path]:
    from matplotlib.figure import Figure

    from nke.files.atomic import whole_file

    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"{name}.{ending}" for name in pictures]
    advance = progress("drawing", len(files))
    for file, draw in zip(files, pictures.values(), strict=True):
        figure = Figure(layout="constrained")
        draw(figure=figure)
        with whole_file(file) as temporary:
            figure.savefig(temporary, format=ending, dpi=150)
        advance(1)
    return files
