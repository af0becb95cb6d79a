"""Cells of the benchmark on a tiny budget, and records made by hand."""

from nke.bench.protocol import Protocol
from nke.bench.results import Results

SIZES = {"train": 16, "test": 8, "large": 12, "replicates": 2, "large_replicates": 2, "draws": 2, "large_draws": 1}
TINY = Protocol(**SIZES, scored=20, cap=200.0, adversarial=1.0, steps=1)
CHEAP = ["oracle", "parametric"]


def accuracy(results: Results) -> dict[tuple, dict]:
    """Everything but times."""
    return {(r["system"], r["method"], r["seed"]): r["metrics"] for r in results.records()}


def record(method: str, seed: int, value: float | None, seconds: float = 10.0, status: str = "done") -> dict:
    names = ("mean_mse", "covariance_mse", "wasserstein", "large_mean_mse", "large_covariance_mse", "large_wasserstein")
    metrics = dict.fromkeys(names, value)
    times = {} if method == "oracle" else {"times": {"total": seconds, "compilation": 1.0, "processor": 2 * seconds}}
    spread = {"spread": dict.fromkeys(names, 0.1)} if method == "oracle" else {}
    common = {"system": "double-well", "method": method, "seed": seed, "configuration": {"cap": 5.0}}
    return common | {"status": status, "metrics": metrics} | times | spread
