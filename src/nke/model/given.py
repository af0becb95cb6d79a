"""A model, however it was handed over."""

from typing import Any

from nke.errors import InputTypeError
from nke.model.model import Model


def as_model(given: Any) -> Model:
    """Takes a model, or the result of a fit, whose model it is.

    Args:
        given: What was handed over.

    Returns:
        The model.

    Raises:
        InputTypeError: If it is neither.

    Example:
        >>> nke.model.as_model(result) is result.model
        True
    """
    model = getattr(given, "model", given)
    if isinstance(model, Model):
        return model
    name = type(given).__name__
    swapped = "; model and data may be swapped" if name == "Trajectories" else ""
    raise InputTypeError(
        f"expected a model or the result of a fit, but got {name}{swapped}; nke.load reads a model from a file"
    )
