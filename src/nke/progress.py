"""A progress bar on a terminal, silence elsewhere."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

Stage = Callable[[str, int], Callable[[int], None]]
WINDOW = 300.0  # seconds that the speed is taken over: reports of slow work come far apart


def silent(name: str, total: int) -> Callable[[int], None]:
    """The stage that shows nothing."""
    return lambda steps: None


@contextmanager
def progress_bar(show: bool | None, transient: bool = False) -> Iterator[Stage]:
    """Yields ``stage(name, total) -> report(steps)``; ``show=None`` shows it when stderr is a terminal.

    A ``transient`` bar is taken away at the end.
    """
    console = Console(stderr=True)
    if not (console.is_terminal if show is None else show):
        yield silent
        return
    columns = (TextColumn("{task.description:<12}"), BarColumn(), TextColumn("{task.completed}/{task.total}"))
    columns += (TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=transient, speed_estimate_period=WINDOW) as bar:

        def stage(name: str, total: int) -> Callable[[int], None]:
            task = bar.add_task(name, total=total)
            return lambda steps: bar.update(task, advance=steps)

        yield stage
