"""A progress bar on a terminal, silence elsewhere: the one protocol by which long work tells how far it has come."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich import progress as rich_progress
from rich.console import Console

Progress = Callable[[str, int], Callable[[int], None]]
"""``progress(name, total)`` begins a piece of work and returns the callback that receives the amount done since."""

ProgressOption = bool | None | Progress
"""What public functions take: a bar or none, None for a bar on a terminal only, or a callback of one's own."""

WINDOW = 300.0  # seconds that the speed is taken over: reports of slow work come far apart


def silent(name: str, total: int) -> Callable[[int], None]:
    """The progress that shows nothing."""
    return lambda amount: None


@contextmanager
def progress_bar(show: ProgressOption, transient: bool = False) -> Iterator[Progress]:
    """Shows the progress of the work in its context.

    Args:
        show: True or False; None shows a bar when the error stream is a terminal; a ``Progress`` is used as it is.
        transient: Whether the bar is taken away at the end.

    Yields:
        The ``Progress`` to call as each piece of work begins.

    Example:
        >>> with progress_bar(False) as progress:
        ...     advance = progress("reading", 100)
        ...     advance(40)
    """
    if callable(show):
        yield show
        return
    console = Console(stderr=True)
    if not (console.is_terminal if show is None else show):
        yield silent
        return
    columns = (
        rich_progress.TextColumn("{task.description:<12}"),
        rich_progress.BarColumn(),
        rich_progress.TextColumn("{task.completed}/{task.total}"),
        rich_progress.TimeElapsedColumn(),
        rich_progress.TimeRemainingColumn(),
    )
    with rich_progress.Progress(*columns, console=console, transient=transient, speed_estimate_period=WINDOW) as bar:

        def begin(name: str, total: int) -> Callable[[int], None]:
            task = bar.add_task(name, total=total)
            return lambda amount: bar.update(task, advance=amount)

        yield begin
