"""A progress bar on a terminal, silence elsewhere."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

Stage = Callable[[str, int], Callable[[int], None]]


@contextmanager
def progress_bar(show: bool | None) -> Iterator[Stage]:
    """Yields ``stage(name, total) -> report(steps)``; ``show=None`` shows it when stderr is a terminal."""
    console = Console(stderr=True)
    if not (console.is_terminal if show is None else show):
        yield lambda name, total: lambda steps: None
        return
    columns = (TextColumn("{task.description:<12}"), BarColumn(), TextColumn("{task.completed}/{task.total}"))
    with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console) as bar:

        def stage(name: str, total: int) -> Callable[[int], None]:
            task = bar.add_task(name, total=total)
            return lambda steps: bar.update(task, advance=steps)

        yield stage
