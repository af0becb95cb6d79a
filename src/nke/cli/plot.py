"""``nke plot``: pictures of a model beside data."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from nke.cli.options import AsJson, DataFile, ModelFile, Seed, reads_data
from nke.cli.output import load_data, note, say

ENDINGS = ("png", "svg", "pdf")
MOST_PATHS = 1000  # trajectories that are simulated again


@reads_data
def plot(
    model: ModelFile,
    data: DataFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the pictures.")] = Path("nke-plots"),
    ending: Annotated[str, typer.Option("--format", help="png, svg or pdf.")] = "png",
    seed: Seed = 0,
    as_json: AsJson = False,
    *,
    columns: dict[str, Any],
) -> None:
    """Draw drift, diffusion, jumps, paths, densities, increments and the history of the fit.

    Example: nke plot cells.nke cells.csv -o pictures
    """
    if ending not in ENDINGS:
        raise typer.BadParameter(f"expected one of {', '.join(ENDINGS)}, but got {ending!r}", param_hint="--format")
    from nke.fitting import FitResult
    from nke.progress import progress_bar

    result, recorded = FitResult.load(model), load_data(data, columns)
    with progress_bar(None) as stage:
        files = _draw(_pictures(result, recorded, seed, stage), output, ending, stage)
    say("\n".join(map(str, files)), as_json, {"files": list(map(str, files))})


def _pictures(result, data, seed: int, stage) -> dict[str, Callable[..., Any]]:
    """What there is to draw, by name; each takes the figure."""
    from functools import partial

    from nke import plots
    from nke.evaluation import simulate_like
    from nke.plots.view import require_same_coordinates

    model = result.model
    require_same_coordinates(model, data)
    some = data.select(slice(MOST_PATHS)) if len(data) > MOST_PATHS else data
    simulated = simulate_like(model, some, seed, stage)
    pictures = {
        "drift": partial(plots.drift, model, data),
        "diffusion": partial(plots.diffusion, model, data),
        "paths": partial(plots.paths, model, some, simulated=simulated),
        "densities": partial(plots.densities, model, some, simulated=simulated),
        "increments": partial(plots.increments, model, data, seed=seed),
    }
    if model.has_jumps:
        pictures["jump-rate"] = partial(plots.jump_rate, model, data)
        pictures["jump-law"] = partial(plots.jump_law, model, data)
    else:
        note("the model has no jumps: no picture of their rate and law")
    if result.history:
        pictures["history"] = partial(plots.history, result)
    return pictures


def _draw(pictures: dict[str, Callable[..., Any]], folder: Path, ending: str, stage) -> list[Path]:
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise ImportError("plots need matplotlib; install it with: pip install 'nke[plots]'") from error
    from nke.files.atomic import whole_file

    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"{name}.{ending}" for name in pictures]
    report = stage("drawing", len(files))
    for file, draw in zip(files, pictures.values(), strict=True):
        figure = Figure(layout="constrained")
        draw(figure=figure)
        with whole_file(file) as temporary:
            figure.savefig(temporary, format=ending, dpi=150)
        report(1)
    return files
