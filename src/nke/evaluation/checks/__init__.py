"""Checks of a model against recorded data: each takes normal scores or simulated paths and gives findings."""

from nke.evaluation.checks.calibration import calibration
from nke.evaluation.checks.long_run import block, long_run, some_paths
from nke.evaluation.checks.memory import memory
from nke.evaluation.checks.same_law import same_law

__all__ = ["block", "calibration", "long_run", "memory", "same_law", "some_paths"]
