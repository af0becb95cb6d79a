"""Checks of a model against recorded data: each takes normal scores, transitions or paths and gives findings."""

from nke.evaluation.checks.calibration import check_calibration
from nke.evaluation.checks.long_run import block, check_long_run, some_paths
from nke.evaluation.checks.memory import check_memory
from nke.evaluation.checks.same_law import check_same_law
from nke.evaluation.checks.simpler_laws import TEXTBOOK_LAWS, check_simpler_laws, gain, textbook_scores

__all__ = [
    "TEXTBOOK_LAWS",
    "block",
    "check_calibration",
    "check_long_run",
    "check_memory",
    "check_same_law",
    "check_simpler_laws",
    "gain",
    "some_paths",
    "textbook_scores",
]
