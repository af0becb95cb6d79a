"""``nke report``: a page about a law."""

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from nke.cli.options import AsJson, DataFile, ModelFile, Seed, reads_data
from nke.cli.output import load_data, load_result, require_matplotlib, say


@reads_data
def report(
    model: ModelFile,
    data: DataFile,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Page to write; report.html by default.", show_default=False),
    ] = None,
    static: Annotated[
        Path | None,
        typer.Option(
            help="Folder for the same as Markdown with figures; then no page is written unless --output names it.",
            show_default=False,
        ),
    ] = None,
    beside: Annotated[
        list[Path] | None,
        typer.Option(help="Another model of the same columns, to be scored beside it; repeatable.", show_default=False),
    ] = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    *,
    columns: dict[str, Any],
) -> None:
    """Write a page about a law that opens offline: verdict, law, simulations, forecasts, scores, decisions.

    Example: nke report cells.nke cells.csv -o report.html
    """
    from nke.files.atomic import require_writable
    from nke.reporting import report as make
    from nke.reporting.report import require_html

    page = output if output is not None or static is not None else Path("report.html")
    if page is not None:  # before the work, not after it
        require_html(page)
        require_writable(page)
    if static is not None:
        require_matplotlib()
    law = load_result(model)
    recorded = load_data(data, columns, law.model)
    others = {other.name: load_result(other) for other in beside or []}
    found = make(law, recorded, beside=others, seed=seed, command=_command(model, data, seed), progress=None)
    files = []
    if page is not None:
        found.save(page)
        files.append(page)
    if static is not None:
        files += found.save_static(static)
    words = [found.verdict, *(f"saved to {file}" for file in files[:1]), *(str(file) for file in files[1:])]
    facts = {"verdict": found.verdict, "diagnosis": found.contents.diagnosis.to_dict(), "files": list(map(str, files))}
    say("\n".join(words), as_json, facts)


def _command(model: Path, data: Path, seed: int) -> str:
    """The command without folders, which are of this machine only."""
    return shlex.join(["nke", "report", model.name, data.name, "--seed", str(seed)])
