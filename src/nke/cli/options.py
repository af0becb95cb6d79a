"""Arguments and options that several commands share."""

import inspect
import math
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

DataFile = Annotated[
    Path,
    typer.Argument(
        metavar="DATA", help="Trajectories: csv, tsv, parquet, npz, npy, hdf5, netcdf or zarr.", show_default=False
    ),
]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="Model written by nke fit.", show_default=False)]
OutputFile = Annotated[
    Path, typer.Option("--output", "-o", help="Data file to write; its ending (.csv, .npz, …) tells the format.")
]
Seed = Annotated[
    int, typer.Option(min=0, max=2**62, help="Seed of the random numbers; the same seed gives the same result.")
]
MOST = 10**9  # of anything that is counted on the command line: more fits no memory


def positive(value: float | None) -> float | None:
    """Refuses a time that is not positive and finite, as wrong usage."""
    if value is not None and not (math.isfinite(value) and value > 0):
        raise typer.BadParameter(f"expected a positive finite number, but got {value:g}")
    return value


AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]


def _column(help: str, *names: str, **checks: Any) -> Any:
    return typer.Option(*names, help=help, show_default=False, rich_help_panel="Layout of the data", **checks)


_COLUMNS = {
    "trajectory": Annotated[str | None, _column("Column that tells trajectories apart; by default found by its name.")],
    "time": Annotated[str | None, _column("Column of times; by default found by its name.")],
    "states": Annotated[str | None, _column("Columns of states, separated by commas; by default all others.")],
    "step": Annotated[float | None, _column("Time between rows, where no times were recorded.", callback=positive)],
    "wide": Annotated[
        bool | None,
        _column("Whether each trajectory is a column of its own; by default the headings tell.", "--wide/--long"),
    ],
    "delimiter": Annotated[str | None, _column("Separator of the columns of a text file: a character, tab or space.")],
    "decimal": Annotated[str, _column("Decimal sign of a text file.")],
    "time_unit": Annotated[
        str | None,
        _column("What dates are counted in: s, min, h, d, week or y; by default what suits. Of numbers, their unit."),
    ],
    "calendar": Annotated[
        str,
        _column("all counts all time between dates; trading counts observations, so that a weekend is one step."),
    ],
    "dates": Annotated[str | None, _column("Order of dates such as 3/4/2024: dmy or mdy; by default they tell.")],
}


_DEFAULTS = {"decimal": ".", "calendar": "all"}


def reads_data(command: Callable[..., None]) -> Callable[..., None]:
    """Adds the options of ``nke.read`` to a command, which gets them together as ``columns``."""
    signature = inspect.signature(command)
    own = [parameter for name, parameter in signature.parameters.items() if name != "columns"]
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=_DEFAULTS.get(name), annotation=annotation)
        for name, annotation in _COLUMNS.items()
    ]

    @wraps(command)
    def with_columns(**given: Any) -> None:
        columns = {name: given.pop(name) for name in _COLUMNS}
        if columns["states"] is not None:
            columns["states"] = [name.strip() for name in columns["states"].split(",")]
        command(**given, columns=columns)

    with_columns.__signature__ = signature.replace(parameters=[*own, *added])  # type: ignore[attr-defined]
    return with_columns
