"""``nke info``: what is in a file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nke.cli.options import AsJson, reads_data
from nke.cli.output import load_data, load_result, say, table

if TYPE_CHECKING:
    from nke.fitting import FitResult


@reads_data
def info(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Model (.nke) or data.", show_default=False)],
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Of a model, tell also how it was found: every decision and its reasons.")
    ] = False,
    as_json: AsJson = False,
    *,
    columns: dict[str, Any],
) -> None:
    """Show what a file of data or a model holds: of a model its law, as nke fit does.

    Example: nke info cells.csv
    """
    if file.suffix == ".nke":
        result = load_result(file)
        say(result.summary(verbose), as_json, _model(result))
        return
    facts = _data(file, columns)
    say(table({name: _words(value) for name, value in facts.items()}), as_json, facts)


def _model(result: "FitResult") -> dict[str, Any]:
    model = result.model
    return {
        "kind": "model",
        "coordinates": _coordinates(model),
        "unit of time": model.unit_of_time,
        "step": model.step,
        "rule": repr(model.rule),
        **result.to_dict(),
    }


def _data(file: Path, columns: dict[str, Any]) -> dict[str, Any]:
    import numpy as np

    data = load_data(file, columns)
    steps, states = data.transitions().step, data.observed_states
    rows = [len(times) for times in data.times]
    facts = {
        "kind": "data",
        "trajectories": len(data),
        "rows": {"fewest": min(rows), "most": max(rows), "not observed": sum(rows) - len(states)},
        "unit of time": data.unit_of_time,
        "steps": {"shortest": steps.min(), "median": np.median(steps), "longest": steps.max()},
    }
    for label, column in zip(_coordinates(data), states.T, strict=True):
        facts[label] = {"min": column.min(), "mean": column.mean(), "max": column.max(), "sd": column.std()}
    return facts


def _coordinates(source) -> list[str]:
    return [f"{name} [{unit}]" if unit else name for name, unit in zip(source.names, source.units, strict=True)]


def _words(value: Any) -> str:
    """Formats a fact for people."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {_words(part)}" for name, part in value.items())
    if isinstance(value, list):
        return ", ".join(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float | int) or hasattr(value, "dtype") else str(value) or "not given"
