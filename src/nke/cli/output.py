"""What commands print: text for people, one JSON object for machines; notes and progress on the error stream."""

import json
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
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


@contextmanager
def working(words: str) -> Iterator[None]:
    """A moving bar with the time gone by, for work whose length is not known; nothing where no one looks."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        bar.add_task(words, total=None)
        yield


def load_data(path: Path, columns: dict[str, Any]) -> "Trajectories":
    """Reads a file and tells on the error stream what had to be done to it."""
    with working(f"reading {path}"):
        from nke.files import read

        data = read(path, **columns)
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
