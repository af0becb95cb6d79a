"""``nke simulate``: trajectories of a system with known truth."""

import json
import re
from typing import Annotated

import typer

from nke.cli.options import MOST, AsJson, OutputFile, Seed, positive
from nke.cli.output import say
from nke.cli.times import recording_times

# Listed here, so that help and completion need not load the systems; a class is called by the same words in capitals.
SYSTEMS = (
    "bimodal-jumps",
    "black-scholes",
    "cox-ingersoll-ross",
    "double-well",
    "gene-network",
    "geometric-brownian-motion",
    "harmonic-oscillator",
    "langevin",
    "lorenz",
    "non-gradient-well",
    "ornstein-uhlenbeck",
    "pendulum",
    "periodic-potential",
    "phase-oscillators",
    "predator-prey",
    "rarefied-gas",
    "repressilator",
)


def _complete(incomplete: str) -> list[str]:
    return [name for name in SYSTEMS if name.startswith(incomplete)]


def simulate(
    system: Annotated[
        str,
        typer.Argument(
            metavar="SYSTEM", help=f"One of {', '.join(SYSTEMS)}.", autocompletion=_complete, show_default=False
        ),
    ],
    output: OutputFile,
    trajectories: Annotated[int, typer.Option(min=1, max=MOST, help="Number of trajectories.")] = 256,
    duration: Annotated[
        float | None,
        typer.Option(help="Time from start to end; the system has a default.", callback=positive, show_default=False),
    ] = None,
    interval: Annotated[
        float | None,
        typer.Option(help="Time between records; the system has a default.", callback=positive, show_default=False),
    ] = None,
    parameter: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Parameter of the system; may be repeated.")
    ] = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Simulate trajectories of a system whose law is known.

    Example: nke simulate double-well -o well.csv --trajectories 100 --set rate=0.5
    """
    if system not in SYSTEMS:
        raise typer.BadParameter(f"{system!r} is no system; choose one of {', '.join(SYSTEMS)}", param_hint="SYSTEM")
    parameters = dict(map(_parameter, parameter or []))
    from nke import systems
    from nke.files import write
    from nke.files.entry import writer_for
    from nke.progress import progress_bar

    writer_for(output)  # before the work, not after it
    chosen = _build(getattr(systems, system.title().replace("-", "")), parameters)
    times = chosen.times
    if duration is not None or interval is not None:
        times = recording_times(
            chosen.duration if duration is None else duration, chosen.interval if interval is None else interval
        )
    with progress_bar(None) as begin:
        data = chosen.simulate(trajectories, seed, times=times, progress=begin)
        write(data, output, progress=begin)
    facts = {"output": str(output), "system": repr(chosen), "trajectories": len(data), "rows": len(times)}
    say(f"{data}\nsaved to {output}", as_json, facts)


def _parameter(words: str) -> tuple[str, object]:
    found = re.fullmatch(r"(\w+)=(.+)", words.strip())
    try:
        return found[1], json.loads(found[2])  # type: ignore[index]
    except (TypeError, ValueError) as error:
        hint = "--set"
        raise typer.BadParameter(f"expected NAME=NUMBER or NAME=[…], but got {words!r}", param_hint=hint) from error


def _build(system, parameters):
    from dataclasses import fields

    known = [field.name for field in fields(system)]
    for name in parameters:
        if name not in known:
            raise typer.BadParameter(f"{system.__name__} has no {name!r}, only {', '.join(known)}", param_hint="--set")
    return system(**parameters)
