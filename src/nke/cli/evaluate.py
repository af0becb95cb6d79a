"""``nke evaluate``: a model against data that it has not seen."""

from typing import Any

from nke.cli.options import AsJson, DataFile, ModelFile, Seed, reads_data
from nke.cli.output import load_data, load_result, say


@reads_data
def evaluate(
    model: ModelFile, data: DataFile, seed: Seed = 0, as_json: AsJson = False, *, columns: dict[str, Any]
) -> None:
    """Score a model on data that it has not seen, and compare simulated with recorded paths.

    What speaks against the model in this data stands below: memory, calibration, change with time, long runs.
    The score is the mean log density of the recorded transitions (higher is better) with its standard error.
    Paths are compared where all trajectories are recorded at the same times; distances are in units of the standard
    deviations of the data that the model was fitted to.

    Example: nke evaluate cells.nke held-out.csv
    """
    from nke.evaluation import evaluate as measure

    law = load_result(model).model
    recorded = load_data(data, columns, law)
    found = measure(law, recorded, seed, progress=None)
    say(str(found), as_json, found.to_dict())
