"""The learned law in the user's units: coefficients, transition density, sampling, storage."""

from nke.model.model import Model
from nke.model.storage import load

__all__ = ["Model", "load"]
