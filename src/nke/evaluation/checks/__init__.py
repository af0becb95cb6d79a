"""Checks of a model against recorded data: each takes normal scores or simulated paths and gives findings."""

from nke.evaluation.checks.calibration import calibration
from nke.evaluation.checks.long_run import block, long_run, some_paths
from nke.evaluation.checks.memory import memory
from nke.evaluation.checks.same_law import same_law
from nke.evaluation.checks.simpler_laws import TEXTBOOK_LAWS, simpler_laws

__all__ = ["TEXTBOOK_LAWS", "block", "calibration", "long_run", "memory", "same_law", "simpler_laws", "some_paths"]
