"""``nke evaluate``: a model against data that it has not seen."""

from typing import Any

from nke.cli.options import AsJson, DataFile, ModelFile, Seed, reads_data
from nke.cli.output import load_data, say, table

METRICS = {"mean_mse": "Mean MSE", "covariance_mse": "Covariance MSE", "wasserstein": "Wasserstein"}


@reads_data
def evaluate(
    model: ModelFile, data: DataFile, seed: Seed = 0, as_json: AsJson = False, *, columns: dict[str, Any]
) -> None:
    """Score a model on data, and compare simulated paths with recorded ones.

    The score is the mean log density of a recorded transition (higher is better).
    The distances of paths, in units of the model's scale, need trajectories recorded at the same times.

    Example: nke evaluate cells.nke held-out.csv
    """
    from nke.evaluation import evaluate as measure
    from nke.model import load

    law, recorded = load(model), load_data(data, columns)
    found = measure(law, recorded, seed, progress=None)
    count = len(recorded.transitions())
    rows = {"score": f"{found.score:.4f} mean log density over {count} transitions"}
    facts: dict[str, Any] = {"score": found.score, "transitions": count}
    if found.ensemble is None:
        rows["paths"] = "not compared: the trajectories are not recorded at the same times without gaps"
    else:
        facts |= found.ensemble._asdict()
        rows |= {label: f"{getattr(found.ensemble, name):.4g}" for name, label in METRICS.items()}
    say(table(rows), as_json, facts)
