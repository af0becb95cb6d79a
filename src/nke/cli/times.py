"""The times at which a simulation is recorded."""

from typing import TYPE_CHECKING

from nke.errors import InputError

if TYPE_CHECKING:
    import numpy as np


def recording_times(duration: float, interval: float) -> "np.ndarray":
    """Returns times from 0 to about ``duration``, one every ``interval``; refuses what gives no time or too many."""
    import numpy as np

    if not (0 < interval <= duration and duration / interval < 1e9):
        raise InputError(
            "expected 0 < interval ≤ duration and fewer than 1e9 intervals, "
            f"but got interval {interval:g} and duration {duration:g}"
        )
    return interval * np.arange(round(duration / interval) + 1)
