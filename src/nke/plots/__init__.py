"""Pictures of a model, beside its data and the truth where it is known.

Every function draws into ``figure`` (a matplotlib Figure or SubFigure; default: a new one of pyplot) and returns its
axes. Coefficients are drawn where the data is; more than two coordinates are shown two at a time, the others held at
the mean of the data nearby. Names and units stand on the axes.
"""

from nke.plots.calibration import calibration
from nke.plots.comparison import densities, increments, paths
from nke.plots.diffusion import diffusion
from nke.plots.drift import drift
from nke.plots.forecast import forecast
from nke.plots.history import history
from nke.plots.jumps import jump_law, jump_rate
from nke.plots.long_run import autocorrelation, stationary
from nke.plots.motions import motions

__all__ = [
    "autocorrelation",
    "calibration",
    "densities",
    "diffusion",
    "drift",
    "forecast",
    "history",
    "increments",
    "jump_law",
    "jump_rate",
    "motions",
    "paths",
    "stationary",
]
