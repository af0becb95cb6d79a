"""``nke sample``: simulated paths of a model."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from nke.cli.options import MOST, AsJson, ModelFile, OutputFile, Seed, positive, reads_data
from nke.cli.output import load_data, load_result, say
from nke.cli.times import recording_times


@reads_data
def sample(
    model: ModelFile,
    output: OutputFile,
    like: Annotated[
        Path | None, typer.Option(help="Data whose initial states and times are taken.", show_default=False)
    ] = None,
    start: Annotated[
        str | None, typer.Option(help="Initial state, numbers separated by commas.", show_default=False)
    ] = None,
    duration: Annotated[
        float | None,
        typer.Option(help="Time from start to end.", callback=positive, show_default=False),
    ] = None,
    interval: Annotated[
        float | None,
        typer.Option(help="Time between records; by default the model's step.", callback=positive, show_default=False),
    ] = None,
    paths: Annotated[int, typer.Option(min=1, max=MOST, help="Number of paths, with --start.")] = 100,
    seed: Seed = 0,
    as_json: AsJson = False,
    *,
    columns: dict[str, Any],
) -> None:
    """Simulate paths of a model, from one initial state or from those of recorded data.

    Example: nke sample well.nke -o paths.csv --start 0,0,0 --duration 5 --paths 50
    """
    if (like is None) == (start is None):
        raise typer.BadParameter("expected an initial state: either --like DATA, or --start STATE with --duration TIME")
    if start is not None and duration is None:
        raise typer.BadParameter("expected --duration with --start: how long to simulate")
    from nke.data import Trajectories
    from nke.evaluation import simulate_like
    from nke.files import write
    from nke.files.entry import writer_for
    from nke.progress import progress_bar

    writer_for(output)  # before the work, not after it
    law = load_result(model).model
    data = None if like is None else load_data(like, columns, law)
    with progress_bar(None) as begin:
        if data is not None:
            drawn = simulate_like(law, data, seed, progress=begin)
        else:
            state, times = (
                parse_state(str(start), law.names),
                recording_times(float(duration or 0), law.step if interval is None else interval),
            )
            states = law.sample(state, times, seed=seed, paths=paths, progress=begin)
            drawn = Trajectories(states, times, law.names, law.units, law.unit_of_time)
        write(drawn, output, progress=begin)
    rows = [len(times) for times in drawn.times]
    facts = {"output": str(output), "paths": len(drawn), "rows": rows}
    say(f"{drawn}\nsaved to {output}", as_json, facts)


def parse_state(start: str, names: Sequence[str]) -> list[float]:
    """Reads numbers separated by commas, one for each coordinate."""
    try:
        state = [float(number) for number in start.split(",")]
    except ValueError as error:
        raise typer.BadParameter(f"expected numbers separated by commas, but got {start!r}") from error
    if len(state) != len(names):
        raise typer.BadParameter(
            f"expected {len(names)} {'number' if len(names) == 1 else 'numbers'} ({', '.join(names)}), "
            f"but got {len(state)}",
            param_hint="--start",
        )
    return state
