"""A limit on the time of a fit, in whatever thread it runs."""

import ctypes
import threading
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


class CapReachedError(TimeoutError):
    """The fit was given up."""


def capped(work: Callable[[], Result], seconds: float) -> Result:
    """Runs ``work`` in this thread; after ``seconds`` it is interrupted at its next Python instruction.

    A signal would do only in the main thread, and Dask runs its tasks in others.
    """
    thread, over = threading.get_ident(), threading.Lock()
    finished = False

    def interrupt() -> None:
        with over:
            if not finished:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(CapReachedError))

    timer = threading.Timer(seconds, interrupt)
    timer.daemon = True
    timer.start()
    try:
        result = work()
        with over:
            finished = True
        return result
    except CapReachedError:
        raise CapReachedError(f"the fit was given up after its cap of {seconds:g} s") from None
    finally:
        with over:
            finished = True
        timer.cancel()
