"""``nke split``: a part of the data is kept aside, to evaluate a model on."""

from pathlib import Path
from typing import Annotated, Any

import typer

from nke.cli.options import AsJson, DataFile, Seed, reads_data
from nke.cli.output import load_data, say


def _share(help: str, flag: str) -> Any:
    return typer.Option(flag, metavar="SHARE", help=help, show_default=False)


@reads_data
def split(
    data: DataFile,
    last: Annotated[str | None, _share("Last rows of every trajectory, as in 20%.", "--last")] = None,
    trajectories: Annotated[str | None, _share("Some of the trajectories, by chance.", "--trajectories")] = None,
    blocks: Annotated[
        str | None, _share("Rows of a single trajectory in stretches spread over its time.", "--blocks")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Name for both files: part.csv gives part-train.csv and part-test.csv; that of the data by default.",
            show_default=False,
        ),
    ] = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    *,
    columns: dict[str, Any],
) -> None:
    """Split data into a file to learn from and one to evaluate on.

    Example: nke split cells.csv --last 20%
    """
    asked = {
        name: share for name, share in (("last", last), ("trajectories", trajectories), ("blocks", blocks)) if share
    }
    if len(asked) != 1:
        raise typer.BadParameter("expected one of --last, --trajectories and --blocks, as in --last 20%")
    [(how, share)] = asked.items()
    fraction = _fraction(share, f"--{how}")
    from nke.errors import InputError
    from nke.files import write
    from nke.files.entry import writer_for

    base = output or data.with_name(data.name.removesuffix(".gz"))
    files = [base.with_name(f"{base.stem}-{part}{base.suffix}") for part in ("train", "test")]
    for file in files:
        writer_for(file)  # before the work, not after it
    recorded = load_data(data, columns)
    if (how == "trajectories") == (len(recorded) == 1) and how != "last":
        other = "--last or --blocks for a single trajectory" if how == "trajectories" else "--last or --trajectories"
        raise InputError(f"expected {other}, since {data} holds {len(recorded)}, but got --{how}")
    parts = recorded.split_last(fraction) if how == "last" else recorded.split(fraction, seed)
    for part, file in zip(parts, files, strict=True):
        write(part, file)
    words = "\n".join(f"{part}\nsaved to {file}" for part, file in zip(parts, files, strict=True))
    say(words, as_json, {"train": str(files[0]), "test": str(files[1])})


def _fraction(share: str, flag: str) -> float:
    try:
        found = float(share.removesuffix("%")) / (100 if share.endswith("%") else 1)
    except ValueError:
        found = -1.0
    if not 0 < found < 1:
        raise typer.BadParameter(f"expected a share such as 20% or 0.2, but got {share!r}", param_hint=flag)
    return found
