"""Entry of the console script; user errors are caught here and printed in one line."""

import os
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from nke.cli.cache import use_compilation_cache
from nke.cli.evaluate import evaluate
from nke.cli.fit import fit
from nke.cli.info import info
from nke.cli.options import Seed
from nke.cli.output import note
from nke.cli.plot import plot
from nke.cli.sample import sample
from nke.cli.simulate import simulate

USER_ERRORS = (OSError, ValueError, TypeError, ImportError, FloatingPointError, MemoryError)


class Commands(TyperGroup):
    """Exit code 0: done, 1: could not (one line says why), 2: wrong usage.

    After an interruption ``ctx.obj``, if there is one, ends the process at once: torn down in the midst of their work,
    compiled libraries may crash.
    """

    def invoke(self, ctx: Any) -> Any:
        try:
            with warnings.catch_warnings():
                warnings.showwarning = lambda message, *place, **more: note(str(message))
                return super().invoke(ctx)
        except USER_ERRORS as error:
            typer.echo(f"nke: {' '.join(str(error).split())}", err=True)
        except KeyboardInterrupt:
            typer.echo("nke: interrupted", err=True)
            if ctx.obj is not None:
                ctx.obj(1)
        raise typer.Exit(1)


app = typer.Typer(
    cls=Commands,
    help="Neural Kolmogorov Equations: from noisy trajectories to the law behind them.\n\n"
    "Example: nke fit cells.csv && nke plot cells.nke cells.csv",
    epilog="Compiled programs are kept in ~/.cache/nke, so that a second run starts fast; NKE_CACHE=off turns it off.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to save the figure.")] = Path("nke-demo.png"),
    trajectories: Annotated[int, typer.Option(min=64, help="Recorded trajectories to learn from.")] = 1024,
    seed: Seed = 0,
) -> None:
    """Learn a double well with jumps from simulated records and show the result beside the truth.

    Example: nke demo --trajectories 256 -o well.png
    """
    from nke.cli.demo import run

    run(output, trajectories, seed)


def bench(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder of results, tables and figures.")] = Path(
        "nke-bench"
    ),
    quick: Annotated[bool, typer.Option("--quick", help="Small budget, one seed: does everything run?")] = False,
    systems: Annotated[str | None, typer.Option(help="Names with commas between; all by default.")] = None,
    methods: Annotated[str | None, typer.Option(help="Names with commas between; all by default.")] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="Number of seeds; 5, or 1 with --quick.")] = None,
    jobs: Annotated[int, typer.Option(help="Cells at a time; -1: as many as there are cores.")] = -1,
    backend: Annotated[str, typer.Option(help="joblib (this machine) or dask (a cluster).")] = "joblib",
    scheduler: Annotated[str | None, typer.Option(help="Address of the Dask scheduler, tcp://host:8786.")] = None,
) -> None:
    """Reproduce the paper's experiments beside the score of the true law itself.

    Every finished cell (system, method, seed) is kept: stopped and started again, the command goes on where it was.

    Example: nke bench --quick --systems double-well,black-scholes --methods oracle,likelihood -o results
    """
    from nke.cli.bench import bench as run

    run(output, quick, systems, methods, seeds, jobs, backend, scheduler)


for command in (demo, info, fit, evaluate, sample, plot, simulate, bench):
    app.command()(command)


def main() -> None:
    use_compilation_cache()
    app(obj=os._exit)
