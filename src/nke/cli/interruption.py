"""An interruption ends a command, also where Python cannot raise it."""

import os
import signal
import threading

PATIENCE = 0.8  # seconds that a command has to end by itself


def end_where_interruptions_are_lost() -> None:
    """Ends the process soon after Ctrl-C, whatever it does.

    Python raises ``KeyboardInterrupt`` between two of its own steps: not within what XLA runs or compiles, and
    in a callback of a weak reference it is raised and ignored. A thread is told of the signal at once and waits a
    moment for the command to end. Files are written atomically, so that ending at any moment is safe.
    """
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return  # ignored, as in a job in the background, or somebody else's
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    threading.Thread(target=_wait, args=(reading,), daemon=True).start()


def _wait(reading: int) -> None:
    while (told := os.read(reading, 1)) and told[0] != signal.SIGINT:
        pass
    if told:
        threading.Event().wait(PATIENCE)
        os.write(2, b"nke: interrupted\n")
        os._exit(1)
