"""From transitions to a model: methods, one optimisation loop, the result."""

from nke.fitting.entry import fit
from nke.fitting.likelihood import Likelihood
from nke.fitting.loop import Schedule
from nke.fitting.moments import MomentMatching
from nke.fitting.result import FitResult

__all__ = ["FitResult", "Likelihood", "MomentMatching", "Schedule", "fit"]
