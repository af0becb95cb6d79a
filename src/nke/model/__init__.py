"""The learned law in the user's units: coefficients, transition density, sampling, storage."""

from nke.model.forecast import Forecast
from nke.model.model import Borders, Model
from nke.model.storage import load

__all__ = ["Borders", "Forecast", "Model", "load"]
