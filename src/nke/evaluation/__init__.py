"""How good a model is: ensemble metrics beside the oracle floor, and recovery of a known truth."""

from nke.evaluation.ensemble import EnsembleMetrics, ensemble_metrics, wasserstein
from nke.evaluation.evaluate import Evaluation, evaluate
from nke.evaluation.floor import OracleFloor, oracle_floor
from nke.evaluation.likeness import simulate_like
from nke.evaluation.paths import PathMetrics, path_metrics, sliced_wasserstein
from nke.evaluation.recovery import Recovery, RecoveryError, jump_law_distance, recovery, relative_error

__all__ = [
    "EnsembleMetrics",
    "Evaluation",
    "OracleFloor",
    "PathMetrics",
    "Recovery",
    "RecoveryError",
    "ensemble_metrics",
    "evaluate",
    "jump_law_distance",
    "oracle_floor",
    "path_metrics",
    "recovery",
    "relative_error",
    "simulate_like",
    "sliced_wasserstein",
    "wasserstein",
]
