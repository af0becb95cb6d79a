"""The learned law in the user's units: coefficients, transition density, sampling, storage."""

from nke.model.coefficients import Coefficients
from nke.model.forecast import Forecast
from nke.model.given import as_model
from nke.model.interval import Interval
from nke.model.model import Borders, Model
from nke.model.region import DataRegion, far_from_each_other
from nke.model.storage import load
from nke.model.uncertainty import Uncertainty, named_arrays

__all__ = [
    "Borders",
    "Coefficients",
    "DataRegion",
    "Forecast",
    "Interval",
    "Model",
    "Uncertainty",
    "as_model",
    "far_from_each_other",
    "load",
    "named_arrays",
]
