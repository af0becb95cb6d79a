"""The learned law in the user's units: coefficients, transition density, sampling, storage."""

from nke.model.coefficients import Coefficients
from nke.model.given import as_model
from nke.model.model import Borders, Model
from nke.model.storage import load

__all__ = ["Borders", "Coefficients", "Model", "as_model", "load"]
