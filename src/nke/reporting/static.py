"""The report as Markdown, with figures as PNG for the text and as PDF for a paper."""

import warnings
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from nke import plots
from nke.errors import MissingPackageError
from nke.files.atomic import whole_file, write_atomically
from nke.reporting.contents import PATHS, Contents
from nke.reporting.markdown import markdown

Drawing = Callable[..., Any]


def save_static(contents: Contents, command: str, folder: Path) -> list[Path]:
    """Writes report.md and its figures.

    Args:
        contents: Of the report.
        command: That made it.
        folder: To write to.

    Returns:
        The files, report.md first.

    Raises:
        MissingPackageError: If Matplotlib is not installed.
    """
    require_matplotlib()
    drawings = figures(contents)
    folder.mkdir(parents=True, exist_ok=True)
    files = [file for name, draw in drawings.items() for file in _draw(draw, folder / name)]
    write_atomically(folder / "report.md", markdown(contents, command, list(drawings)).encode())
    return [folder / "report.md", *files]


def require_matplotlib() -> None:
    """Refuses to begin without Matplotlib."""
    if find_spec("matplotlib") is None:
        raise MissingPackageError("figures need matplotlib; install it with: pip install 'nke[plots]'")


def figures(contents: Contents) -> dict[str, Drawing]:
    """Collects what there is to draw, by name; each takes the figure."""
    model, data = contents.model, contents.data
    found: dict[str, Drawing] = {
        "paths": partial(plots.paths, model, contents.recorded.select(slice(PATHS)), simulated=contents.paths[0]),
        "densities": partial(plots.densities, model, contents.recorded, simulated=contents.simulated),
        "drift": partial(plots.drift, model, data),
        "diffusion": partial(plots.diffusion, model, data),
        "motions": partial(plots.motions, model, data, found=contents.motions),
    }
    if model.has_jumps:
        found["jump-rate"] = partial(plots.jump_rate, model, data)
        found["jump-law"] = partial(plots.jump_law, model, data)
    if contents.fan is not None:
        found["forecast"] = partial(plots.forecast, contents.fan.forecast, contents.fan.trajectories)
    if contents.long_run is not None:
        found["stationary"] = partial(plots.stationary, model, data, long_run=contents.long_run)
        found["autocorrelation"] = partial(plots.autocorrelation, model, data, long_run=contents.long_run)
    if contents.calibration:
        found["calibration"] = partial(plots.calibration, model, data, found=contents.calibration)
    found["increments"] = partial(plots.increments, model, data, seed=contents.seed)
    if contents.result is not None and any(curve.kind != "trial" for curve in contents.result.history.values()):
        found["history"] = partial(plots.history, contents.result)
    return found


def _draw(draw: Drawing, stem: Path) -> list[Path]:
    from matplotlib.figure import Figure

    figure, files = Figure(layout="constrained"), []
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")  # a box stands for it
        draw(figure=figure)
        for ending in ("png", "pdf"):
            files.append(stem.with_suffix(f".{ending}"))
            with whole_file(files[-1]) as temporary:
                figure.savefig(temporary, format=ending, dpi=150)
    return files
