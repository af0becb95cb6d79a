"""How much of a fit's time went into compilation."""

from collections.abc import Iterator
from contextlib import contextmanager

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
