"""``nke sample``: simulated paths of a model."""

from pathlib import Path
from typing import Annotated, Any

import typer

from nke.cli.options import AsJson, ModelFile, Seed, reads_data
from nke.cli.output import load_data, say
from nke.errors import InputError


@reads_data
def sample(
    model: ModelFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write; its ending tells the format.")],
    like: Annotated[
        Path | None, typer.Option(help="Data whose start states and times are taken.", show_default=False)
    ] = None,
    start: Annotated[str | None, typer.Option(help="Start state, with commas between.", show_default=False)] = None,
    duration: Annotated[float | None, typer.Option(help="Time from start to end.", show_default=False)] = None,
    interval: Annotated[
        float | None, typer.Option(help="Time between records; by default the model's step.", show_default=False)
    ] = None,
    paths: Annotated[int, typer.Option(min=1, help="How many, with --start.")] = 100,
    seed: Seed = 0,
    as_json: AsJson = False,
    *,
    columns: dict[str, Any],
) -> None:
    """Simulate paths from a model, from one start state or from those of recorded data.

    Example: nke sample well.nke -o paths.csv --start 0,0,0 --duration 5 --paths 50
    """
    if (like is None) == (start is None):
        raise typer.BadParameter("expected a start: either --like DATA, or --start STATE with --duration TIME")
    if start is not None and duration is None:
        raise typer.BadParameter("expected --duration with --start: how long to simulate")
    from nke.evaluation import simulate_like
    from nke.files import write
    from nke.files.entry import writer_for
    from nke.model import load
    from nke.progress import progress_bar

    writer_for(output)  # before the work, not after it
    law = load(model)
    data = None if like is None else load_data(like, columns)
    with progress_bar(None) as stage:
        if data is not None:
            drawn = simulate_like(law, data, seed, stage)
        else:
            drawn = _from_state(law, str(start), float(duration or 0), interval, paths, seed, stage)
        rows = [len(times) for times in drawn.times]
        write(drawn, output, report=stage("writing", sum(rows)))
    facts = {"output": str(output), "paths": len(drawn), "rows": rows}
    say(f"{drawn}\nsaved to {output}", as_json, facts)


def _from_state(law, start: str, duration: float, interval: float | None, paths: int, seed: int, stage):
    import numpy as np

    from nke.data import Trajectories

    try:
        state = [float(number) for number in start.split(",")]
    except ValueError as error:
        raise typer.BadParameter(f"expected numbers with commas between, but got {start!r}") from error
    step = law.step if interval is None else interval
    if not (step > 0 and duration >= step):
        raise InputError(f"expected 0 < interval ≤ duration, but got interval {step:g} and duration {duration:g}")
    times = step * np.arange(round(duration / step) + 1)
    states = law.sample(np.array(state), times, seed=seed, paths=paths, progress=stage)
    return Trajectories(states, times, law.names, law.units, law.unit_of_time)
