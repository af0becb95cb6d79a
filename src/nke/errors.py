"""Errors that nke raises on purpose: each says what was expected, what came and what to do.

The command line prints them in one line; anything else that reaches it is a defect and shows a traceback.
"""


class NkeError(Exception):
    """Base of all errors that nke raises on purpose.

    Each is also the error of Python that it resembles, so that ``except ValueError`` catches an ``InputError``. Files
    and folders that cannot be opened give Python's own ``OSError``.

    Example:
        >>> try:
        ...     nke.Trajectories([1.0, np.inf], 0.1)
        ... except nke.NkeError as error:
        ...     print(type(error).__name__)
        InputError
    """


class InputError(NkeError, ValueError):
    """Data, a file or an option is not what was expected.

    Example:
        >>> nke.Trajectories([1.0, 2.0], times=-0.1)
        Traceback (most recent call last):
        nke.errors.InputError: expected a positive finite time step, but got -0.1; pass the time between two rows, ...
    """


class InputTypeError(NkeError, TypeError):
    """An argument is of a type that cannot be used.

    Example:
        >>> nke.Trajectories(["low", "high"], times=0.1)
        Traceback (most recent call last):
        nke.errors.InputTypeError: expected states to be real numbers, but got text such as 'low'; convert it with ...
    """


class DamagedFileError(InputError):
    """A file is cut short, its content was changed after it was written, or it is of another format than its ending.

    Example:
        >>> path = getfixture("tmp_path") / "cells.npz"
        >>> _ = path.write_bytes(b"not an archive")
        >>> nke.read(path)
        Traceback (most recent call last):
        nke.errors.DamagedFileError: ... is damaged or is not a valid npz file; get a fresh copy, ...
    """


class DivergenceError(NkeError, FloatingPointError):
    """A loss, a likelihood, its derivatives or a simulated state became NaN or infinite.

    Example:
        >>> well = nke.systems.DoubleWell(rate=0, dt=0.1)
        >>> well.simulate(1, seed=0, times=[0.0, 10.0], initial=[[100.0, 0.0, 0.0]])
        Traceback (most recent call last):
        nke.errors.DivergenceError: expected finite states, but trajectory 0 of DoubleWell...
    """


class MissingPackageError(NkeError, ModuleNotFoundError):
    """An optional package is not installed; the message says how to install it.

    Example:
        >>> issubclass(nke.errors.MissingPackageError, ImportError)
        True
    """


class UnavailableError(NkeError, NotImplementedError):
    """A quantity was asked for that has no formula for this system.

    Example:
        >>> nke.systems.Lorenz().log_prob([1.0, 1.0, 1.0], given=[0.0, 0.0, 0.0], step=0.1)
        Traceback (most recent call last):
        nke.errors.UnavailableError: the transition density of Lorenz has no closed form; compare with simulate...
    """
