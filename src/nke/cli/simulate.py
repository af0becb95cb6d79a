"""``nke simulate``: trajectories of a system with known truth."""

import json
import re
from pathlib import Path
from typing import Annotated

import typer

from nke.cli.options import AsJson, Seed
from nke.cli.output import say
from nke.errors import InputError

SYSTEMS = {
    "bimodal-jumps": "BimodalJumps",
    "black-scholes": "BlackScholes",
    "cox-ingersoll-ross": "CoxIngersollRoss",
    "double-well": "DoubleWell",
    "geometric-brownian-motion": "GeometricBrownianMotion",
    "harmonic-oscillator": "HarmonicOscillator",
    "langevin": "Langevin",
    "lorenz": "Lorenz",
    "ornstein-uhlenbeck": "OrnsteinUhlenbeck",
    "rarefied-gas": "RarefiedGas",
}


def _complete(incomplete: str) -> list[str]:
    return [name for name in SYSTEMS if name.startswith(incomplete)]


def simulate(
    system: Annotated[
        str,
        typer.Argument(
            metavar="SYSTEM", help=f"One of {', '.join(SYSTEMS)}.", autocompletion=_complete, show_default=False
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write; its ending tells the format.")],
    trajectories: Annotated[int, typer.Option(min=1, help="How many.")] = 256,
    duration: Annotated[
        float | None, typer.Option(help="Time from start to end; by default the system's own.", show_default=False)
    ] = None,
    interval: Annotated[
        float | None, typer.Option(help="Time between records; by default the system's own.", show_default=False)
    ] = None,
    parameter: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A parameter; may be repeated.")
    ] = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Simulate a system whose law is known, to try things on.

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
    chosen = _build(getattr(systems, SYSTEMS[system]), parameters)
    times = _times(chosen, duration, interval)
    with progress_bar(None) as begin:
        data = chosen.simulate(trajectories, seed, times=times, progress=begin)
        write(data, output, report=begin("writing", trajectories * len(times)))
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


def _times(system, duration: float | None, interval: float | None):
    import numpy as np

    if duration is None and interval is None:
        return system.times
    interval = system.interval if interval is None else interval
    duration = system.duration if duration is None else duration
    if not (interval > 0 and duration >= interval):
        raise InputError(f"expected 0 < interval ≤ duration, but got interval {interval:g} and duration {duration:g}")
    return interval * np.arange(round(duration / interval) + 1)
