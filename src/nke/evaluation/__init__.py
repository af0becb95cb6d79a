"""How good a model is: ensemble metrics beside the oracle floor, and recovery of a known truth."""

from nke.evaluation.ensemble import EnsembleMetrics, ensemble_metrics, wasserstein
from nke.evaluation.evaluate import Evaluation, evaluate
from nke.evaluation.floor import OracleFloor, oracle_floor
from nke.evaluation.recovery import Recovery, RecoveryError, recovery

__all__ = [
    "EnsembleMetrics",
    "Evaluation",
    "OracleFloor",
    "Recovery",
    "RecoveryError",
    "ensemble_metrics",
    "evaluate",
    "oracle_floor",
    "recovery",
    "wasserstein",
]
