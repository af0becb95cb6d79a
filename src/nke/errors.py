"""Errors that nke raises on purpose: each says what was expected, what came and what to do.

The command line prints them in one line; anything else that reaches it is a defect and shows a traceback.
"""


class NkeError(Exception):
    """Base of all errors that nke raises on purpose.

    Example:
        >>> import nke
        >>> try:
        ...     nke.Trajectories([1.0, float("inf")], 0.1)
        ... except nke.NkeError as error:
        ...     print(type(error).__name__)
        InputError
    """


class InputError(NkeError, ValueError):
    """Data, a file or an option is not what was expected."""


class InputTypeError(NkeError, TypeError):
    """An argument is of a type that cannot be used."""


class DamagedFileError(InputError):
    """A file is cut short or its content was changed after it was written."""


class DivergenceError(NkeError, FloatingPointError):
    """A loss, a likelihood or its derivatives became NaN or infinite."""


class MissingPackageError(NkeError, ModuleNotFoundError):
    """An optional package is not installed."""
