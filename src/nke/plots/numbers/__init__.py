"""The numbers behind the pictures, computed without drawing: what ``nke.plots`` draws and the report shows.

Curves with their intervals, fields in planes of two coordinates, the size of jumps, histograms, the long run, and
calibration.
"""

from nke.plots.numbers.calibration import Calibration
from nke.plots.numbers.curve import Curve
from nke.plots.numbers.histogram import Histogram, few_times, increments, shared_range, usual_range
from nke.plots.numbers.jump_size import JumpSizes
from nke.plots.numbers.long_run import Band, LongRun
from nke.plots.numbers.paths import FEW, MOST_TIMES, simulated_paths
from nke.plots.numbers.plane import DriftField, Ellipses, RatePlane, round_down

__all__ = [
    "FEW",
    "MOST_TIMES",
    "Band",
    "Calibration",
    "Curve",
    "DriftField",
    "Ellipses",
    "Histogram",
    "JumpSizes",
    "LongRun",
    "RatePlane",
    "few_times",
    "increments",
    "round_down",
    "shared_range",
    "simulated_paths",
    "usual_range",
]
