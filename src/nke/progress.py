"""The one protocol by which long work tells how far it has come, and the bar that shows it on a terminal.

Public functions take ``progress``: False for silence, True for a bar, None for a bar on a terminal only, or a callback.

Example:
    >>> def callback(name, total):
    ...     print(f"{name}: {total} in all")
    ...     return lambda amount: print(f"{amount} more")
    >>> paths = nke.systems.OrnsteinUhlenbeck().simulate(5, seed=0, times=[0.0, 0.1, 0.2], progress=callback)
    simulating: 2 in all
    1 more
    1 more
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich import progress as rich_progress
from rich.console import Console

Progress = Callable[[str, int], Callable[[int], None]]
"""``progress(name, total)`` begins a piece of work and returns the callback that receives the amount done since."""

ProgressOption = bool | None | Progress
"""What public functions take: a bar or none, None for a bar on a terminal only, or a callback of one's own."""


def silent(name: str, total: int) -> Callable[[int], None]:
    """Shows nothing: the ``Progress`` of work whose progress nobody asked for.

    Args:
        name: What the work is called.
        total: How much there is to do.

    Returns:
        A callback that ignores the amount done.

    Example:
        >>> from nke.progress import silent
        >>> silent("reading", 100)(40)
    """
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
        >>> from nke.progress import progress_bar
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
    # The speed is taken over five minutes, since slow work reports far apart.
    with rich_progress.Progress(*columns, console=console, transient=transient, speed_estimate_period=300) as bar:

        def begin(name: str, total: int) -> Callable[[int], None]:
            task = bar.add_task(name, total=total)
            return lambda amount: bar.update(task, advance=amount)

        yield begin
