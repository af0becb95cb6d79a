"""Trajectories spread over threads: the same seed gives the same data whatever their number."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial

import numpy as np
from jaxtyping import Float, Int

from nke.progress import ProgressOption, progress_bar
from nke.systems.gas import box, lazy
from nke.systems.gas.compilation import settings
from nke.systems.gas.constants import Gas
from nke.systems.gas.mechanics import LOG_COLUMNS


def run(
    gas: Gas,
    half: float | None,
    starts: Float[np.ndarray, "m 6"],
    times: Float[np.ndarray, " n"],
    seed: int,
    room: int,
    progress: ProgressOption,
) -> tuple[Float[np.ndarray, "m n 6"], Float[np.ndarray, "c f"], Int[np.ndarray, " m"]]:
    """Simulates trajectories in chunks on several threads.

    Args:
        gas: The gas.
        half: Half the side of the box; None for the lazy simulator.
        starts: Start states of the sphere.
        times: Recording times.
        seed: Seed of the streams of random numbers, one for each trajectory.
        room: A guess at the most collisions of a trajectory; 0 if they are not wanted.
        progress: Counts trajectories.

    Returns:
        States, collisions of all trajectories one after the other, and how many each has.
    """
    number = len(starts)
    kernel = partial(lazy.trajectories, gas) if half is None else partial(box.trajectories, gas, half)
    streams = np.array([child.generate_state(4, np.uint64) for child in np.random.SeedSequence(seed).spawn(number)])
    states, counts = np.empty((number, len(times), 6)), np.empty(number, np.int64)

    def simulate(part: slice) -> np.ndarray:
        size = room
        while True:
            logs = np.empty((len(starts[part]), size, LOG_COLUMNS))
            kernel(starts[part], times, streams[part].copy(), states[part], logs, counts[part])
            if not room or counts[part].max() <= size:
                return np.concatenate([log[:count] for log, count in zip(logs, counts[part], strict=True)])
            size = int(counts[part].max())

    chunk = -(-number // (8 * threads()))  # eight per thread, for the progress bar and for an even load
    parts = [slice(first, first + chunk) for first in range(0, number, chunk)]
    return states, np.concatenate(_in_threads(simulate, parts, len(starts), progress)), counts


def _in_threads(
    simulate: Callable[[slice], np.ndarray], parts: list[slice], number: int, progress: ProgressOption
) -> list[np.ndarray]:
    """Simulates the parts in a pool of threads and collects what they return, in order."""
    pool = ThreadPoolExecutor(threads())
    try:
        with progress_bar(progress) as begin:
            advance, chunk = begin("simulating", number), parts[0].stop
            work = [pool.submit(simulate, part) for part in parts]
            for part, done in zip(parts, as_completed(work), strict=True):
                done.result()
                advance(min(chunk, number - part.start))
        return [done.result() for done in work]
    finally:
        pool.shutdown(cancel_futures=True)


def threads() -> int:
    """Number of threads that Numba would take: NUMBA_NUM_THREADS, or the cores that this process may use."""
    return settings.NUMBA_NUM_THREADS
