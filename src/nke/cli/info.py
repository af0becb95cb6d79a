"""``nke info``: what is in a file."""

from pathlib import Path
from typing import Annotated, Any

import typer

from nke.cli.options import AsJson, reads_data
from nke.cli.output import load_data, load_result, say, table


@reads_data
def info(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Model (.nke) or data.", show_default=False)],
    as_json: AsJson = False,
    *,
    columns: dict[str, Any],
) -> None:
    """Show what a file of data or a model holds.

    Example: nke info cells.csv
    """
    facts = _model(file) if file.suffix == ".nke" else _data(file, columns)
    decisions = {f"fit: {decision['topic']}": _decision(decision) for decision in facts.get("decisions", [])}
    rows = {name: value for name, value in facts.items() if name not in ("decisions", "diagnosis", "equation")}
    if facts.get("diagnosis"):
        rows["diagnosis"] = facts["diagnosis"]["verdict"]
    rows |= decisions
    say(table({name: _words(value) for name, value in rows.items()}), as_json, facts)


def _model(file: Path) -> dict[str, Any]:
    result = load_result(file)
    model = result.model
    return {
        "kind": "model",
        "coordinates": _coordinates(model),
        "unit of time": model.unit_of_time,
        "step": model.step,
        "jumps": model.has_jumps,
        "rule": repr(model.rule),
        "equation": result.equation and result.equation.to_dict(),
        "diagnosis": result.diagnosis and result.diagnosis.to_dict(),
        "decisions": [decision.to_dict() for decision in result.decisions],
    }


def _decision(saved: dict[str, Any]) -> str:
    from nke.fitting import Decision

    return str(Decision.from_dict(saved))


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
