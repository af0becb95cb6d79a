"""Entry of the console script; user errors are caught here and printed in one line."""

import sys
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    help="Neural Kolmogorov Equations: from noisy trajectories to the law behind them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback()
def root() -> None:
    """Keeps ``nke demo`` a sub-command while it is the only one."""


@app.command()
def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to save the figure.")] = Path("nke-demo.png"),
    trajectories: Annotated[int, typer.Option(min=64, help="Recorded trajectories to learn from.")] = 1024,
    seed: Annotated[int, typer.Option(help="Seed of the data and of the fit.")] = 0,
) -> None:
    """Learn a double well with jumps from simulated records and show the result beside the truth.

    Example: nke demo --trajectories 256 -o well.png
    """
    from nke.cli.demo import run

    run(output, trajectories, seed)


def main() -> None:
    try:
        app()
    except (OSError, ValueError, TypeError, ImportError, FloatingPointError) as error:
        typer.echo(f"nke: {error}", err=True)
        sys.exit(1)
    except KeyboardInterrupt:
        typer.echo("nke: interrupted", err=True)
        sys.exit(1)
