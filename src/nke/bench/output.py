"""What a sweep leaves in its folder: tables and figures."""

import os
import time
from collections.abc import Sequence
from pathlib import Path

from nke.bench import render
from nke.bench.figures import save_figure
from nke.bench.measure import Task
from nke.bench.protocol import cases
from nke.bench.results import Results
from nke.bench.summary import Table, TieRule, tables
from nke.files.atomic import write_atomically


def write_output(tasks: Sequence[Task], results: Results) -> list[Path]:
    """Writes tables as Markdown, LaTeX and CSV and figures as PNG and SVG; returns the files."""
    records = results.of(tasks)
    chosen = [case for name, case in cases().items() if any(task.system == name for task in tasks)]
    made = [table for case in chosen for table in tables(case, records)]
    head = _head(tasks, list(records.values()))
    texts = {"md": head + render.markdown(made), "tex": render.latex(made), "csv": render.comma_separated(made)}
    files = [results.folder / f"tables.{ending}" for ending in texts]
    for file, words in zip(files, texts.values(), strict=True):
        write_atomically(file, words.encode())
    return files + [file for case in chosen for file in save_figure(case, results)]


def paper_tables(tasks: Sequence[Task], results: Results) -> list[Table]:
    """Makes only the tables that have the paper's form."""
    records = results.of(tasks)
    return [t for case in cases().values() for t in tables(case, records) if t.name == "paper" and t.rows]


def _head(tasks: Sequence[Task], records: list[dict]) -> str:
    """Says what was run, when and with what."""
    protocol = tasks[0].protocol
    lines = [
        "# Benchmark",
        "",
        f"{len(records)} of {len(tasks)} cells. {protocol.train} training trajectories; {protocol.test} generated "
        f"against {protocol.test} test trajectories from the same start states, and {protocol.large} against "
        f"{protocol.large} in the larger protocol. Oracle: the true system simulated from the same start states, "
        f"{protocol.replicates} replicates, mean ± standard deviation of one. Others: mean ± standard deviation over "
        "seeds; in brackets the ratio to the floor ± its standard error. Bold: best, or tied with it: "
        f"{TieRule()}. --: did not converge.",
    ]
    if records:
        days = sorted(time.strftime("%Y-%m-%d", time.gmtime(record["began"])) for record in records)
        versions = ", ".join(f"{name} {number}" for name, number in records[-1]["versions"].items())
        span = days[0] if days[0] == days[-1] else f"{days[0]} to {days[-1]}"
        jobs = sorted({str(record.get("jobs")) for record in records})
        lines.append(f"\nRun {span} on {os.cpu_count()} cores, jobs {', '.join(jobs)}; {versions}.")
    return "\n".join(lines) + "\n\n"
