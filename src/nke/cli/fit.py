"""``nke fit``: from data to a model."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nke.cli.options import MOST, AsJson, DataFile, Seed, reads_data
from nke.cli.output import load_data, note, say
from nke.errors import InputError
from nke.files.atomic import require_writable
from nke.files.regular import require_regular

if TYPE_CHECKING:
    from nke.data import Trajectories


@reads_data
def fit(
    data: DataFile,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Model file to write; DATA.nke by default.", show_default=False),
    ] = None,
    jumps: Annotated[
        bool | None,
        typer.Option(
            "--jumps/--no-jumps",
            help="Whether the law has jumps; by default decided from the data.",
            show_default=False,
        ),
    ] = None,
    method: Annotated[
        str, typer.Option(help="likelihood, or moments (moment matching as in the paper; equal steps).")
    ] = "likelihood",
    networks: Annotated[
        bool | None,
        typer.Option(
            "--networks/--no-networks",
            help="Whether neural networks are trained; by default only where polynomials show lack of fit.",
            show_default=False,
        ),
    ] = None,
    noise: Annotated[
        str | None,
        typer.Option(
            help="constant, relative (in proportion to the state), plain (any function of it) or diagonal; by default "
            "decided from the data.",
            show_default=False,
        ),
    ] = None,
    kinetic: Annotated[
        str | None,
        typer.Option(
            help="Positions and their velocities, as in x:vx,y:vy, or none; by default decided from the data.",
            show_default=False,
        ),
    ] = None,
    invariant: Annotated[
        str | None, typer.Option(help="Columns that the law does not depend on, as in x,y.", show_default=False)
    ] = None,
    positive: Annotated[
        list[str] | None,
        typer.Option(
            "--positive",
            "--log",
            help="Column that is positive, learned as its logarithm; repeatable. By default decided from the data; "
            "none for no column.",
            show_default=False,
        ),
    ] = None,
    periodic: Annotated[
        list[str] | None,
        typer.Option(
            help="Column that is an angle, as in theta, or with its period, as in heading:360; repeatable; none for no "
            "column.",
            show_default=False,
        ),
    ] = None,
    bounds: Annotated[
        list[str] | None,
        typer.Option(help="Column that stays between two bounds, as in share:0:1; repeatable.", show_default=False),
    ] = None,
    training_steps: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=MOST,
            help="Training steps of networks; by default set by the amount of data.",
            show_default=False,
        ),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="Folder that keeps the state of the fit: after an interruption the same command continues.",
            show_default=False,
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="End with exit code 0 also where the law cannot be right.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Tell also how the law was found: every decision and its reasons.")
    ] = False,
    seed: Seed = 0,
    as_json: AsJson = False,
    *,
    columns: dict[str, Any],
) -> None:
    """Learn drift, diffusion and jumps from recorded trajectories.

    Where the diagnosis says that the law cannot be right, the model is written and marked, and the exit code is 3.
    An interruption by Ctrl-C leaves no half-written file; with --checkpoint the same command continues from there.

    Example: nke fit cells.csv -o cells.nke --time hours --trajectory cell --states length,width
    """
    if method not in ("likelihood", "moments"):
        raise typer.BadParameter(f"expected likelihood or moments, but got {method!r}", param_hint="--method")
    known = known_structure(kinetic, invariant, noise) | ({} if networks is None else {"networks": networks})
    if known and method != "likelihood":
        raise typer.BadParameter(
            "expected --kinetic, --invariant, --noise and --networks only with --method likelihood"
        )
    columns_known = known_columns(positive, periodic, bounds)
    if output is None:
        require_regular(data)  # a folder has no name for a model
        output = data.with_suffix(".nke")
    _require_folder(output)
    require_regular(data)
    recorded = load_data(data, columns)
    from nke.fitting import fit as learn

    try:
        how = chosen_method(method, training_steps, recorded, known)
        result = learn(recorded, how, jumps=jumps, seed=seed, checkpoint=checkpoint, **columns_known)
    except KeyboardInterrupt:
        if checkpoint is not None and any(checkpoint.glob("*")):
            note(f"the state of the fit is kept in {checkpoint}; the same command continues from there")
        raise
    result.save(output)
    say(f"{result.summary(verbose)}\nsaved to {output}", as_json, {"output": str(output), **result.to_dict()})
    if result.diagnosis is not None and result.diagnosis.severe and not force:
        note("exit code 3, since the law is not to be trusted; --force ends with 0")
        raise typer.Exit(3)


def _require_folder(output: Path) -> None:
    """Refuses an output that cannot be written, before the work and not after it."""
    if not output.parent.is_dir():
        raise InputError(f"expected an existing folder for {output}, but {output.parent} is none; create it first")
    if output.is_dir():
        raise InputError(f"expected a file name for the output, but {output} is a folder; add a name to it")
    require_writable(output)


def known_structure(kinetic: str | None, invariant: str | None, noise: str | None = None) -> dict[str, Any]:
    """Reads the options --kinetic, --invariant and --noise as options of ``Likelihood``."""
    known: dict[str, Any] = {} if noise is None else {"noise": noise}
    if kinetic == "none":
        known["kinetic"] = {}
    elif kinetic is not None:
        pairs = [pair.split(":") for pair in kinetic.split(",")]
        if any(len(pair) != 2 or not all(pair) for pair in pairs):
            raise typer.BadParameter(f"expected x:vx,y:vy, but got {kinetic!r}", param_hint="--kinetic")
        known["kinetic"] = dict(pairs)
    if invariant is not None:
        known["invariant"] = tuple(invariant.split(","))
    return known


def known_columns(positive: list[str] | None, periodic: list[str] | None, bounds: list[str] | None) -> dict[str, Any]:
    """Reads the options --positive, --periodic and --bounds as options of ``nke.fit``."""
    known: dict[str, Any] = {"positive": [] if positive == ["none"] else list(positive)} if positive else {}
    if periodic == ["none"]:
        known["periodic"] = []
    elif periodic:
        turns = [one.rpartition(":") if ":" in one else (one, "", str(2 * math.pi)) for one in periodic]
        known["periodic"] = {name: _number(period, "--periodic", "theta or heading:360") for name, _, period in turns}
    if bounds:
        known["bounds"] = {}
        for one in bounds:
            name, *pair = one.rsplit(":", 2)
            if len(pair) != 2 or not name:
                raise typer.BadParameter(f"expected share:0:1, but got {one!r}", param_hint="--bounds")
            known["bounds"][name] = tuple(_number(bound, "--bounds", "share:0:1") for bound in pair)
    return known


def _number(text: str, option: str, expected: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise typer.BadParameter(f"expected {expected}, but got {text!r} for a number", param_hint=option) from error


def chosen_method(name: str, steps: int | None, data: "Trajectories", known: dict[str, Any]) -> Any:
    """Builds the method that --method, --training-steps and what is known of the law ask for."""
    from nke.fitting import Likelihood, MomentMatching

    method = Likelihood(**known) if name == "likelihood" else MomentMatching()
    return method if steps is None else method.with_training_steps(steps, data)
