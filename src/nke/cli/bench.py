"""``nke bench``: the paper's experiments beside the score of the true law."""

from pathlib import Path

from rich.console import Console

from nke.bench.output import paper_tables, write_output
from nke.bench.protocol import QUICK, Protocol
from nke.bench.render import markdown
from nke.bench.runner import plan, run


def bench(
    output: Path,
    quick: bool,
    systems: str | None,
    methods: str | None,
    seeds: int | None,
    jobs: int,
    backend: str,
    scheduler: str | None,
) -> None:
    """Runs the cells that are missing and writes tables and figures."""
    count = seeds if seeds is not None else 1 if quick else 5
    tasks = plan(QUICK if quick else Protocol(), count, _names(systems), _names(methods))
    console = Console()
    console.print(f"{len(tasks)} cells (system, method, seed); results in {output}, where a later run goes on")
    results = run(tasks, output, jobs, backend, scheduler)
    files = write_output(tasks, results)
    console.print(markdown(paper_tables(tasks, results)), markup=False, highlight=False, soft_wrap=True)
    console.print("\n".join(map(str, files)), highlight=False, soft_wrap=True)


def _names(listed: str | None) -> list[str] | None:
    return None if listed is None else [name.strip() for name in listed.split(",") if name.strip()]
