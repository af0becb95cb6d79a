"""Trajectories spread over threads: the same seed gives the same data whatever their number."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed

import numpy as np
from jaxtyping import Float, Int

from nke.progress import progress_bar
from nke.systems.gas.compilation import settings
from nke.systems.gas.mechanics import COLUMNS

CHUNKS = 8  # per thread, for the progress bar and for an even load


def run(
    kernel: Callable,
    starts: Float[np.ndarray, "m 6"],
    times: Float[np.ndarray, " n"],
    seed: int,
    room: int,
    long: bool,
) -> tuple[Float[np.ndarray, "m n 6"], Float[np.ndarray, "m room c"], Int[np.ndarray, " m"]]:
    """States, the first ``room`` collisions of each trajectory and how many there were.

    ``kernel(starts, times, streams, states, logs, counts)`` fills the last three for some of the trajectories.
    ``long`` work has a progress bar.
    """
    number = len(starts)
    streams = np.array([child.generate_state(4, np.uint64) for child in np.random.SeedSequence(seed).spawn(number)])
    states, logs = np.empty((number, len(times), 6)), np.empty((number, room, COLUMNS))
    counts = np.empty(number, np.int64)
    chunk = -(-number // (CHUNKS * threads()))
    pool = ThreadPoolExecutor(threads())
    try:
        with progress_bar(None if long else False) as stage:
            report = stage("collisions", number)
            work = {}
            for part in (slice(first, first + chunk) for first in range(0, number, chunk)):
                arrays = (starts[part], times, streams[part], states[part], logs[part], counts[part])
                work[pool.submit(kernel, *arrays)] = len(starts[part])
            for done in as_completed(work):
                done.result()
                report(work[done])
    finally:
        pool.shutdown(cancel_futures=True)
    return states, logs, counts


def threads() -> int:
    """As many as Numba would take: NUMBA_NUM_THREADS, or the cores that this process may use."""
    return settings.NUMBA_NUM_THREADS
