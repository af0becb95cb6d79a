"""``nke evaluate``: a model against data that it has not seen."""

from typing import Any

from nke.cli.options import AsJson, DataFile, ModelFile, Seed, reads_data
from nke.cli.output import load_data, load_result, say, table


@reads_data
def evaluate(
    model: ModelFile, data: DataFile, seed: Seed = 0, as_json: AsJson = False, *, columns: dict[str, Any]
) -> None:
    """Score a model on data that it has not seen, and compare simulated with recorded paths.

    What speaks against the model in this data stands below: memory, calibration, change with time, long runs.
    The score is the mean log density of the recorded transitions (higher is better).
    Paths are compared where all trajectories are recorded at the same times; distances are in units of the standard
    deviations of the data that the model was fitted to.

    Example: nke evaluate cells.nke held-out.csv
    """
    from nke.evaluation import evaluate as measure

    law, recorded = load_result(model).model, load_data(data, columns)
    found = measure(law, recorded, seed, progress=None)
    count = len(recorded.transitions())
    rows = {"score": f"{found.score:.4f} mean log density over {count} transitions"}
    facts: dict[str, Any] = {"score": found.score, "transitions": count}
    if found.ensemble is None:
        rows["paths"] = "not compared: the trajectories are not recorded at the same times without gaps"
    else:
        facts |= found.ensemble._asdict()
        labels = {"mean_mse": "Mean MSE", "covariance_mse": "Covariance MSE", "wasserstein": "Wasserstein"}
        rows |= {label: f"{getattr(found.ensemble, name):.4g}" for name, label in labels.items()}
    facts["diagnosis"] = found.diagnosis.to_dict()
    say(f"{table(rows)}\ndiagnosis: {found.diagnosis}", as_json, facts)
