"""Entry of the console script: errors of the user are printed in one line, defects with their traceback."""

import os
import sys
import traceback
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from nke.cli.cache import use_compilation_cache
from nke.cli.evaluate import evaluate
from nke.cli.fit import fit
from nke.cli.forecast import forecast
from nke.cli.info import info
from nke.cli.interruption import end_where_interruptions_are_lost
from nke.cli.options import MOST, Seed
from nke.cli.output import note
from nke.cli.plot import plot
from nke.cli.report import report
from nke.cli.sample import sample
from nke.cli.simulate import simulate
from nke.cli.split import split
from nke.cli.words import as_flags
from nke.errors import NkeError

# What every error of usage is: a class of click, which typer has within itself since 0.20.
WrongUsage: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")


class Commands(TyperGroup):
    """The group of all commands; exit code 0: done, 1: could not (one line says why), 2: wrong usage.

    ``nke fit`` ends with 3 where the law that was fitted is not to be trusted.
    After an interruption ``ctx.obj``, if there is one, ends the process at once: torn down in the midst of their work,
    compiled libraries may crash.
    """

    def main(self, *arguments: Any, standalone_mode: bool = True, **options: Any) -> Any:
        """Runs the command line; wrong usage is told in one line, as everything else."""
        if not standalone_mode:
            return super().main(*arguments, standalone_mode=False, **options)
        try:
            code = super().main(*arguments, standalone_mode=False, **options)
        except WrongUsage as error:
            if type(error).__name__ == "NoArgsIsHelpError":
                error.show()
            else:
                where = getattr(getattr(error, "ctx", None), "command_path", "nke")
                words = " ".join(error.format_message().split()).rstrip(".")
                typer.echo(f"nke: {words}; see {where} --help", err=True)
            sys.exit(error.exit_code)
        sys.exit(code or 0)

    def invoke(self, ctx: Any) -> Any:
        """Runs a command; warnings become notes, errors of the user one line."""
        try:
            with warnings.catch_warnings():
                warnings.showwarning = lambda message, *place, **more: note(str(message))
                return super().invoke(ctx)
        except BrokenPipeError:  # who read the output, as `head` does, has seen enough: click ends quietly
            raise
        except (NkeError, OSError, MemoryError, KeyboardInterrupt) as error:
            interrupted = isinstance(error, KeyboardInterrupt)
            if ctx.params["debug"]:
                typer.echo(traceback.format_exc(), err=True)
            words = "interrupted" if interrupted else " ".join(str(error).split()) or "out of memory"
            typer.echo(f"nke: {as_flags(words)}", err=True)
            if interrupted and ctx.obj is not None:
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


@app.callback()
def options(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of every error.")] = False,
) -> None:
    """Takes the options that stand before the command; ``Commands`` reads them."""


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="The figure to write.")] = Path("nke-demo.png"),
    trajectories: Annotated[int, typer.Option(min=64, max=MOST, help="Number of trajectories to learn from.")] = 1024,
    seed: Seed = 0,
) -> None:
    """Learn a double well with jumps from simulated trajectories and show the result beside the truth.

    Example: nke demo --trajectories 256 -o well.png
    """
    from nke.cli.demo import run

    run(output, trajectories, seed)


def bench(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder of results, tables and figures.")] = Path(
        "nke-bench"
    ),
    quick: Annotated[bool, typer.Option("--quick", help="Small budget, one seed: does everything run?")] = False,
    systems: Annotated[str | None, typer.Option(help="Names separated by commas; the paper's by default.")] = None,
    methods: Annotated[str | None, typer.Option(help="Names separated by commas; all by default.")] = None,
    seeds: Annotated[int | None, typer.Option(min=1, max=MOST, help="Number of seeds; 5, or 1 with --quick.")] = None,
    jobs: Annotated[int, typer.Option(help="Cells to run in parallel; -1: one for each core.")] = -1,
    backend: Annotated[str, typer.Option(help="joblib (this machine) or dask (a cluster).")] = "joblib",
    scheduler: Annotated[str | None, typer.Option(help="Address of the Dask scheduler, tcp://host:8786.")] = None,
) -> None:
    """Reproduce the paper's experiments beside the score of the true law itself.

    Every finished cell (system, method, seed) is kept, so that the same command continues after an interruption.

    Example: nke bench --quick --systems double-well,black-scholes --methods oracle,likelihood -o results
    """
    from nke.cli.bench import bench as run

    run(output, quick, systems, methods, seeds, jobs, backend, scheduler)


for command in (demo, info, split, fit, evaluate, sample, forecast, plot, report, simulate, bench):
    app.command()(command)


def main(arguments: list[str] | None = None) -> None:
    """Runs the command line; an error that nke did not raise on purpose is a defect and ends with exit code 70."""
    use_compilation_cache()
    end_where_interruptions_are_lost()
    try:
        app(arguments, obj=os._exit)
    except Exception:
        traceback.print_exc()
        typer.echo(
            "nke: this is a defect; please report it with the lines above, the command and, if possible, the data",
            err=True,
        )
        sys.exit(70)
