"""What commands print: text for people, one JSON object for machines; notes and progress on the error stream."""

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from nke.data import Trajectories


def say(words: str, as_json: bool, facts: dict[str, Any]) -> None:
    typer.echo(json.dumps(_plain(facts), ensure_ascii=False) if as_json else words)


def note(words: str) -> None:
    typer.echo(f"note: {words}", err=True)


def table(rows: dict[str, Any]) -> str:
    width = max(map(len, rows))
    return "\n".join(f"{name:<{width}}  {value}" for name, value in rows.items())


def load_data(path: Path, columns: dict[str, Any]) -> "Trajectories":
    """Reads a file and tells on the error stream what had to be done to it."""
    from nke.progress import progress_bar

    with progress_bar(None, transient=True) as stage:
        report = stage("reading", path.stat().st_size if path.exists() else 0)
        from nke.files import read

        data = read(path, report=report, **columns)
    for words in data.notes:
        note(words)
    return data


def _plain(value: Any) -> Any:
    """JSON has neither NaN nor NumPy numbers."""
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, list):
        return _plain(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value
