"""What commands print: text for people, one JSON object for machines; notes and progress on the error stream."""

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from nke.cli.words import as_flags
from nke.errors import MissingPackageError

if TYPE_CHECKING:
    from nke.data import Trajectories
    from nke.fitting import FitResult
    from nke.model import Model


def say(words: str, as_json: bool, facts: dict[str, Any]) -> None:
    """Prints the words, or the facts as one JSON object."""
    typer.echo(json.dumps(_plain(facts), ensure_ascii=False) if as_json else as_flags(words))


def note(words: str) -> None:
    """Prints a note on the error stream."""
    typer.echo(f"note: {as_flags(words)}", err=True)


def table(rows: dict[str, Any]) -> str:
    """Puts names and values into two columns."""
    width = max(map(len, rows))
    return "\n".join(f"{name:<{width}}  {value}" for name, value in rows.items())


def load_data(path: Path, columns: dict[str, Any], model: "Model | None" = None) -> "Trajectories":
    """Reads a file and tells on the error stream what had to be done to it.

    Dates are counted as in the data that a model was fitted to, unless the options say how.
    """
    from nke.files import read

    data = read(path, progress=None, **columns)
    if model is not None and data.calendar is not None and data.unit_of_time != model.unit_of_time:
        asked = columns.get("time_unit") or columns.get("calendar", "all") != "all"
        if model.unit_of_time and not asked:
            trading = model.unit_of_time == "trading day"
            how: dict[str, Any] = {"calendar": "trading"} if trading else {"time_unit": model.unit_of_time}
            data = read(path, progress=None, **columns | how)
    for words in data.notes:
        note(words)
    return data


def load_result(path: Path) -> "FitResult":
    """Reads a model and repeats on the error stream that it is not to be trusted, if its fit found so."""
    from nke.fitting import FitResult

    result = FitResult.load(path)
    if result.diagnosis is not None and result.diagnosis.severe:
        note(f"the law in {path} is {result.diagnosis.verdict}; nke info {path} tells more")
    return result


def require_matplotlib() -> None:
    """Refuses to draw without Matplotlib, before the work and not after it."""
    from importlib.util import find_spec

    if find_spec("matplotlib") is None:
        raise MissingPackageError("figures need matplotlib; install it with: pip install 'nke[plots]'")


def _plain(value: Any) -> Any:
    """Makes plain values for JSON, which has neither NaN nor NumPy numbers."""
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, list):
        return _plain(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value
