"""``nke forecast``: mean, deviation and quantiles of a model's state at later times."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nke.cli.options import AsJson, ModelFile, reads_data
from nke.cli.output import load_data, load_result, say
from nke.cli.sample import parse_state

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from nke.model import Forecast

ENDINGS = (".csv", ".parquet")


@reads_data
def forecast(
    model: ModelFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="Table to write, .csv or .parquet.")],
    times: Annotated[str, typer.Option(help="Times since the start: 0.1,0.5,2 or first:last:step as in 0:5:0.1.")],
    start: Annotated[
        str | None, typer.Option(help="Initial state, numbers separated by commas.", show_default=False)
    ] = None,
    after: Annotated[
        Path | None, typer.Option(help="Data of one trajectory, whose last row is the start.", show_default=False)
    ] = None,
    quantiles: Annotated[str, typer.Option(help="Probabilities separated by commas.")] = "0.05,0.25,0.5,0.75,0.95",
    components: Annotated[int, typer.Option(min=1, help="Most components of the mixture.")] = 64,
    as_json: AsJson = False,
    *,
    columns: dict[str, Any],
) -> None:
    """Forecast the density of the state without sampling: mean, standard deviation and quantiles at each time.

    Example: nke forecast well.nke -o fan.csv --start 0,0,0 --times 0:5:0.1
    """
    if (start is None) == (after is None):
        raise typer.BadParameter("expected an initial state: either --start STATE or --after DATA")
    if output.suffix not in ENDINGS:
        raise typer.BadParameter(f"expected a name that ends in {' or '.join(ENDINGS)}, but got {output.name!r}")
    asked, levels = _times(times), _numbers(quantiles)
    from nke.files.atomic import whole_file
    from nke.progress import progress_bar

    law = load_result(model).model
    initial = parse_state(str(start), law.names) if after is None else load_data(after, columns)
    with progress_bar(None) as begin:
        found = law.forecast(initial, asked, components, progress=begin)
    table = _table(found, levels)
    with whole_file(output) as temporary:
        table.to_csv(temporary, index=False) if output.suffix == ".csv" else table.to_parquet(temporary, index=False)
    facts = {"output": str(output), "rows": len(table), "columns": list(table.columns), "outside": found.outside}
    say(f"{table.to_string(index=False, max_rows=12)}\nsaved to {output}", as_json, facts)


def _table(found: "Forecast", levels: list[float]) -> "pd.DataFrame":
    """A row for each time, the columns of each coordinate together."""
    import numpy as np
    import pandas as pd

    columns = {"time" + (f" [{found.unit_of_time}]" if found.unit_of_time else ""): found.times}
    mean, deviation = found.mean, np.sqrt(np.diagonal(found.covariance, axis1=-2, axis2=-1))
    quantiles = found.quantile(levels)
    for i, name in enumerate(found.names):
        columns |= {f"{name} mean": mean[:, i], f"{name} sd": deviation[:, i]}
        columns |= {f"{name} q{level:g}": quantiles[k, :, i] for k, level in enumerate(levels)}
    return pd.DataFrame(columns)


def _times(words: str) -> "np.ndarray":
    import numpy as np

    if ":" not in words:
        return np.array(_numbers(words))
    parts = _numbers(words.replace(":", ","))
    if len(parts) != 3 or not (parts[2] > 0 and 0 < (parts[1] - parts[0]) / parts[2] < 1e6):
        raise typer.BadParameter(f"expected times first:last:step as in 0:5:0.1, but got {words!r}")
    return parts[0] + parts[2] * np.arange(round((parts[1] - parts[0]) / parts[2]) + 1)


def _numbers(words: str) -> list[float]:
    try:
        return [float(number) for number in words.split(",")]
    except ValueError as error:
        raise typer.BadParameter(f"expected numbers separated by commas, but got {words!r}") from error
