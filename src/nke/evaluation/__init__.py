"""How good a model is: ensemble metrics beside the oracle floor, and recovery of a known truth."""

from nke.evaluation import checks
from nke.evaluation.binned import BinnedMotions, BinnedRates, Motions, binned_motions
from nke.evaluation.contrast import Contrast
from nke.evaluation.diagnosis import Diagnosis, diagnose
from nke.evaluation.ensemble import EnsembleMetrics, ensemble_metrics, wasserstein
from nke.evaluation.evaluate import Evaluation, evaluate
from nke.evaluation.finding import Finding
from nke.evaluation.floor import OracleFloor, oracle_floor
from nke.evaluation.likeness import simulate_like
from nke.evaluation.normal_scores import NormalScores, rosenblatt
from nke.evaluation.paths import PathMetrics, path_metrics, sliced_wasserstein
from nke.evaluation.recovery import Recovery, RecoveryError, jump_law_distance, recovery, relative_error
from nke.evaluation.serial_dependence import independent_share

__all__ = [
    "BinnedMotions",
    "BinnedRates",
    "Contrast",
    "Diagnosis",
    "EnsembleMetrics",
    "Evaluation",
    "Finding",
    "Motions",
    "NormalScores",
    "OracleFloor",
    "PathMetrics",
    "Recovery",
    "RecoveryError",
    "binned_motions",
    "checks",
    "diagnose",
    "ensemble_metrics",
    "evaluate",
    "independent_share",
    "jump_law_distance",
    "oracle_floor",
    "path_metrics",
    "recovery",
    "relative_error",
    "rosenblatt",
    "simulate_like",
    "sliced_wasserstein",
    "wasserstein",
]
