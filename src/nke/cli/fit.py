"""``nke fit``: from data to a model."""

from pathlib import Path
from typing import Annotated, Any

import typer

from nke.cli.options import AsJson, DataFile, Seed, reads_data
from nke.cli.output import load_data, note, say
from nke.errors import InputError

METHODS = ("likelihood", "moments")


@reads_data
def fit(
    data: DataFile,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Model file; DATA.nke by default.", show_default=False)
    ] = None,
    jumps: Annotated[
        bool | None, typer.Option("--jumps/--no-jumps", help="Decided from the data unless said.", show_default=False)
    ] = None,
    method: Annotated[str, typer.Option(help="likelihood, or moments (the paper's own; equal steps).")] = "likelihood",
    networks: Annotated[
        bool | None,
        typer.Option("--networks/--no-networks", help="Only where they are needed unless said.", show_default=False),
    ] = None,
    kinetic: Annotated[
        str | None, typer.Option(help="Positions with their velocities, x:vx,y:vy.", show_default=False)
    ] = None,
    invariant: Annotated[
        str | None, typer.Option(help="Columns on which the law does not depend, x,y.", show_default=False)
    ] = None,
    training_steps: Annotated[
        int | None, typer.Option(min=1, help="By default by the amount of data. Fewer: rougher.", show_default=False)
    ] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="Folder that keeps the state: a stopped fit goes on.", show_default=False)
    ] = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    *,
    columns: dict[str, Any],
) -> None:
    """Learn drift, diffusion and jumps from recorded trajectories.

    Stopped by Ctrl-C it leaves no half-written file; with --checkpoint the same command goes on where it was.

    Example: nke fit cells.csv -o cells.nke --time hours --trajectory cell --states length,width
    """
    if method not in METHODS:
        raise typer.BadParameter(f"expected one of {', '.join(METHODS)}, but got {method!r}", param_hint="--method")
    known = _known(kinetic, invariant) | ({} if networks is None else {"networks": networks})
    if known and method != "likelihood":
        raise typer.BadParameter("expected --kinetic, --invariant and --networks only with --method likelihood")
    output = data.with_suffix(".nke") if output is None else output
    _require_folder(output)
    recorded = load_data(data, columns)
    from nke.fitting import fit as learn

    try:
        how = _method(method, training_steps, recorded, known)
        result = learn(recorded, how, jumps=jumps, seed=seed, checkpoint=checkpoint)
    except KeyboardInterrupt:
        if checkpoint is not None and any(checkpoint.glob("*")):
            note(f"the fit is kept in {checkpoint}; the same command goes on from there")
        raise
    result.save(output)
    facts = {"output": str(output), "jumps": result.model.has_jumps, "timings": result.timings}
    say(f"{result.summary()}\nsaved to {output}", as_json, facts | {"decided": result.decided})


def _require_folder(output: Path) -> None:
    """Before the work, not after it."""
    if not output.parent.is_dir():
        raise InputError(f"expected an existing folder for {output}, but {output.parent} is none; create it first")
    if output.is_dir():
        raise InputError(f"expected a file name for the output, but {output} is a folder; add a name to it")


def _known(kinetic: str | None, invariant: str | None) -> dict[str, Any]:
    known: dict[str, Any] = {}
    if kinetic is not None:
        pairs = [pair.split(":") for pair in kinetic.split(",")]
        if any(len(pair) != 2 or not all(pair) for pair in pairs):
            raise typer.BadParameter(f"expected x:vx,y:vy, but got {kinetic!r}", param_hint="--kinetic")
        known["kinetic"] = dict(pairs)
    if invariant is not None:
        known["invariant"] = tuple(invariant.split(","))
    return known


def _method(name: str, steps: int | None, data, known: dict[str, Any]) -> Any:
    from dataclasses import replace

    from nke.fitting import Likelihood, MomentMatching
    from nke.fitting.likelihood import schedule_for

    method = Likelihood(**known) if name == "likelihood" else MomentMatching()
    if steps is None:
        return method
    schedule = method.schedule or schedule_for(data.dimension, len(data.transitions()))
    return replace(method, schedule=replace(schedule, steps=steps))
