"""How much of a fit's time went into compilation, and how many compiled programs a process can hold."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import jax


class CompilationClock:
    """Seconds that JAX spent on tracing, lowering and compiling.

    Attributes:
        seconds: All of them.
        compiling: Those that a persistent cache would save the next time.
    """

    seconds: float = 0.0
    compiling: float = 0.0

    def hear(self, event: str, duration_secs: float, **kwargs: str | int) -> None:
        """Adds the duration of an event if it belongs to compilation."""
        if event.startswith("/jax/core/compile/"):
            self.seconds += duration_secs
        if event == "/jax/core/compile/backend_compile_duration":
            self.compiling += duration_secs


@contextmanager
def compilation_clock() -> Iterator[CompilationClock]:
    """Measures the compilation in its context."""
    clock = CompilationClock()
    listener = clock.hear  # one object, so that it can be taken off again
    jax.monitoring.register_event_duration_secs_listener(listener)
    try:
        yield clock
    finally:
        jax.monitoring.unregister_event_duration_listener(listener)


def forget_programs(share: float = 0.5) -> bool:
    """Drops all compiled programs where the process comes near the number of memory maps that Linux allows.

    Each program takes some maps (a fit of a smooth law about 1300), and JAX keeps them all. At the limit, after some
    fifty such fits, the next compilation would end the process with a segmentation fault.

    Args:
        share: Of the allowed maps, from which on programs are dropped.

    Returns:
        Whether they were dropped.

    Example:
        >>> from nke.fitting.compilation import forget_programs
        >>> forget_programs(share=1.0)
        False
    """
    try:
        most = int(Path("/proc/sys/vm/max_map_count").read_text())
        with Path("/proc/self/maps").open("rb") as maps:
            used = sum(1 for _ in maps)
    except (OSError, ValueError):  # another system, without such a limit
        return False
    if used < share * most:
        return False
    jax.clear_caches()
    gc.collect()
    return True
