"""The sweep over systems, methods and seeds: on the local cores or on a Dask cluster."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Column

from nke.bench.measure import Status, Task, run_task
from nke.bench.methods import PARAMETRIC, methods
from nke.bench.protocol import Protocol, cases
from nke.bench.results import Results
from nke.errors import InputError, MissingPackageError


def plan(
    protocol: Protocol, seeds: int, systems: Sequence[str] | None = None, chosen: Sequence[str] | None = None
) -> list[Task]:
    """Lists the cells seed by seed, so that a run that is broken off leaves whole tables over fewer seeds."""
    known = cases()
    systems = _known(systems or [name for name, case in known.items() if case.by_default], list(known), "systems")
    chosen = _known(chosen, list(methods()), "methods")
    return [
        Task(system, method, seed, protocol, keep_paths=seed == 0)
        for seed in range(seeds)
        for system in systems
        for method in chosen
        if method != PARAMETRIC or known[system].parametric is not None
    ]


def _known(asked: Sequence[str] | None, there: list[str], what: str) -> list[str]:
    if unknown := set(asked or ()) - set(there):
        raise InputError(f"expected {what} among {', '.join(there)}, but got {', '.join(sorted(unknown))}")
    return [name for name in there if not asked or name in asked]


def run(
    tasks: Sequence[Task], folder: Path, jobs: int = -1, backend: str = "joblib", scheduler: str | None = None
) -> Results:
    """Runs what ``folder`` does not hold yet; every result is on disk before the next one is waited for."""
    if backend not in ("joblib", "dask") or (backend == "dask") != (scheduler is not None):
        raise InputError("expected --backend joblib, or --backend dask together with --scheduler ADDRESS")
    try:
        from joblib import Parallel, delayed, effective_n_jobs
    except ModuleNotFoundError as error:
        raise MissingPackageError("the benchmark needs joblib; install it with: pip install 'nke[bench]'") from error
    results = Results(folder)
    missing = results.missing(tasks)
    with _progress(len(tasks), len(tasks) - len(missing)) as show, _cluster(scheduler):

        def started() -> Iterator[Any]:
            for task in missing:
                show(start=task)
                yield delayed(run_task)(task)

        # A worker that has grown large is replaced, which is no news to a user.
        warnings.filterwarnings("ignore", "A worker stopped while some jobs were given", UserWarning)
        # One cell at a time to each worker, none ahead: what has been handed out is what runs now.
        options: dict[str, Any] = {"batch_size": 1, "pre_dispatch": "n_jobs", "return_as": "generator_unordered"}
        sweep = Parallel(n_jobs=jobs, **options)
        outcomes: Any = sweep(started()) if missing else ()
        for outcome in outcomes:
            outcome.record["jobs"] = effective_n_jobs(jobs) if scheduler is None else backend
            results.add(outcome)
            show(end=outcome.record)
    return results


def _cluster(scheduler: str | None) -> Any:
    if scheduler is None:
        return nullcontext()
    try:
        import distributed
    except ModuleNotFoundError as error:
        raise MissingPackageError(
            "a Dask cluster needs distributed; install it with: pip install 'nke[dask]'"
        ) from error
    return _dask(distributed.Client(scheduler))


@contextmanager
def _dask(client: Any) -> Iterator[None]:
    from joblib import parallel_config

    with client, parallel_config(backend="dask"):
        yield


@contextmanager
def _progress(total: int, done: int) -> Iterator[Any]:
    """Yields ``show(start=task)`` and ``show(end=record)``; silent where stderr is no terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda start=None, end=None: None
        return
    elapsed, left = (part(table_column=Column(min_width=7)) for part in (TimeElapsedColumn, TimeRemainingColumn))
    now = TextColumn("{task.description}", table_column=Column(no_wrap=True, overflow="ellipsis"))
    with Progress(BarColumn(bar_width=12), MofNCompleteColumn(), elapsed, left, now, console=console) as bar:
        task_id, running = bar.add_task("", total=total, completed=done), dict[tuple, None]()

        def show(start: Task | None = None, end: dict[str, Any] | None = None) -> None:
            if start is not None:
                running[start.system, start.method, start.seed] = None
            if end is not None:
                running.pop((end["system"], end["method"], end["seed"]), None)
                bar.advance(task_id)
                if end["status"] != Status.DONE:
                    bar.console.print(f"{end['system']} {end['method']} {end['seed']}: {end['status']}")
            bar.update(task_id, description=", ".join(f"{s} {m} {n}" for s, m, n in running))

        yield show
