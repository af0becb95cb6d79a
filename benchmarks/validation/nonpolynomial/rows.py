"""The file of rows, one JSON line each, and the Markdown tables made of it."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.validation.nonpolynomial.experiments import EXPERIMENTS, Experiment
from benchmarks.validation.nonpolynomial.measurement import REFERENCES
from benchmarks.validation.tables import mean_and_error
from nke.bench.measure import plain

Row = dict[str, Any]
PARAMETRIC_ALLOWANCE = 3  # times the parametric fit's error: what a fit that does not know the family may have


class Criterion(NamedTuple):
    """A column of the table: a figure, its heading, and the most that it may be in the mean."""

    figure: str
    heading: str
    most: float | None = None


CRITERIA = (
    Criterion("drift", "drift"),
    Criterion("drift over reference", "÷ reference", 1.3),
    Criterion("a", "a", 0.05),
    Criterion("rate", "λ", 0.08),
    Criterion("mean_mse over floor", "Mean MSE ÷ floor", 2.0),
    Criterion("covariance_mse over floor", "Cov. MSE ÷ floor", 2.0),
    Criterion("wasserstein over floor", "W1 ÷ floor", 1.15),
    Criterion("lost", "lost", 0.0),
    Criterion("negative", "negative", 0.0),
    Criterion("wall", "wall s"),
    Criterion("processor", "processor s"),
)
JUMP_COLUMNS = (
    Criterion("mean rate", "mean rate ÷ true"),
    Criterion("mean rate off", "off by", 0.04),
    Criterion("components", "Gaussians", 1.0),
    Criterion("variation of jumps", "variation of the mean jump with the state"),
)


def append(file: Path, row: Row) -> None:
    """Appends a row in one write that is on disk when it returns; a line cut short by a kill is dropped before."""
    if file.exists():
        text = file.read_bytes()
        os.truncate(file, text.rfind(b"\n") + 1)
    line = json.dumps(plain(row), ensure_ascii=False, allow_nan=False) + "\n"
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    try:
        os.write(descriptor, line.encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read(file: Path) -> list[Row]:
    """Reads all whole lines, the latest of each cell."""
    if not file.exists():
        return []
    lines = file.read_text(encoding="utf-8").split("\n")[:-1]
    return list({key(row): row for row in map(json.loads, lines)}.values())


def key(row: Row) -> tuple[str, int, str, int]:
    """Tells which cell a row is of."""
    return row["system"], row["seed"], row["method"], row["trajectories"]


def reference_error(row: Row) -> float:
    """Gives the best of regression and allowed parametric error."""
    regressions = [found["error"] for found in row["regression"].values()]
    return min(*regressions, PARAMETRIC_ALLOWANCE * row["parametric"])


def joined(rows: Sequence[Row]) -> list[Row]:
    """Adds to the figures of each fit its times and its drift error over the reference of the same data."""
    best = {
        (row["system"], row["seed"], row["trajectories"]): reference_error(row)
        for row in rows
        if row["method"] == REFERENCES and "error" not in row
    }
    whole = []
    for row in rows:
        if row["method"] == REFERENCES or "error" in row:
            continue
        figures = row["figures"] | {name: row[name] for name in ("wall", "processor")}
        reference = best.get((row["system"], row["seed"], row["trajectories"]))
        if reference is not None and figures["drift"] is not None:
            figures["drift over reference"] = figures["drift"] / reference
        if "mean rate" in figures:
            figures["mean rate off"] = abs(figures["mean rate"] - 1)
        whole.append(row | {"figures": figures})
    return whole


def one_line(row: Row) -> str:
    """Writes a row for the terminal, as it is done."""
    head = f"{row['system']} seed {row['seed']} {row['method']}:"
    if "error" in row:
        return f"{head} {row['error']}"
    if row["method"] == REFERENCES:
        errors = [f"regression {name} {found['error']:.4f}" for name, found in row["regression"].items()]
        return f"{head} parametric {row['parametric']:.4f}, {', '.join(errors)}"
    shown = [f"{name} {value:.3g}" for name, value in row["figures"].items() if value is not None]
    times = f"{row['wall']:.1f} s, {row['processor']:.1f} s of processor"
    said = "".join(f"\n    warned: {words}" for words in row["warnings"])
    return f"{head} {', '.join(shown)}; {times}; {row['form']}{said}"


def tables(rows: Sequence[Row]) -> str:
    """Writes all tables as Markdown, mean ± standard error over the seeds."""
    fits = joined(rows)
    parts = [_references_table([row for row in rows if row["method"] == REFERENCES and "error" not in row])]
    for method in dict.fromkeys(row["method"] for row in fits):
        chosen = [row for row in fits if row["method"] == method]
        parts.append(_main_table(f"Fits: {method}", chosen, CRITERIA))
        parts.append(_main_table(f"Jumps: {method}", [r for r in chosen if "mean rate" in r["figures"]], JUMP_COLUMNS))
        parts.append(_published_table(method, chosen))
        parts.append(_words(method, chosen))
    failed = [
        f"- {row['system']}, seed {row['seed']}, {row['method']}: {row['error']}" for row in rows if "error" in row
    ]
    parts.append("\n".join(["### Failed", "", *failed]) if failed else "")
    return "\n\n".join(part for part in parts if part) + "\n"


def _groups(rows: Sequence[Row]) -> dict[tuple[Experiment, int], list[Row]]:
    """Rows of the same system and size, in the order of the experiments."""
    found: dict[tuple[Experiment, int], list[Row]] = {}
    for name, experiment in EXPERIMENTS.items():
        for row in rows:
            if row["system"] == name:
                found.setdefault((experiment, row["trajectories"]), []).append(row)
    return found


def _main_table(title: str, rows: Sequence[Row], columns: Sequence[Criterion]) -> str:
    if not rows:
        return ""
    headings = [c.heading if c.most is None else f"{c.heading} (≤ {c.most:g})" for c in columns]
    lines = _head(title, ["System", "trajectories", "seeds", *headings])
    for (experiment, trajectories), group in _groups(rows).items():
        cells = [_cell(column, experiment, group) for column in columns]
        lines.append(f"| {experiment.name} | {trajectories} | {len(group)} | {' | '.join(cells)} |")
    notes = dict.fromkeys(f"{each.name}: {each.note}." for each, _ in _groups(rows) if each.note)
    return "\n".join([*lines, "", "✗: above what it may be.", *notes])


def _cell(column: Criterion, experiment: Experiment, rows: Sequence[Row]) -> str:
    values = [row["figures"][column.figure] for row in rows if column.figure in row["figures"]]
    if not values:
        return "--"
    if any(value is None for value in values):
        return "not finite ✗"
    judged = column.figure != "drift over reference" or experiment.judged_by_references
    failed = judged and column.most is not None and not sum(values) / len(values) <= column.most
    return _summary(values) + " ✗" * failed


def _published_table(method: str, rows: Sequence[Row]) -> str:
    """DynGMA's criteria: drift over its points, a averaged where it is constant, beside what it published."""
    groups = {k: group for k, group in _groups(rows).items() if k[0].published is not None}
    if not groups:
        return ""
    headings = ["System", "trajectories", "seeds", "drift", "DynGMA", "noise (a)", "noise (g)", "DynGMA"]
    lines = _head(f"DynGMA's systems: {method}", headings)
    for (experiment, trajectories), group in groups.items():
        assert experiment.published is not None
        constant = "mean a" in group[0]["figures"]
        most = experiment.published
        columns = [Criterion("drift", "", most.drift), Criterion("mean a" if constant else "a", "", most.noise)]
        shown = [_cell(column, experiment, group) for column in (*columns, Criterion("g", ""))]
        drift, noise = ("--" if value is None else f"{value:g}" for value in experiment.published)
        lines.append(
            f"| {experiment.name} | {trajectories} | {len(group)} | {shown[0]} | {drift} | {shown[1]} | {shown[2]} "
            f"| {noise} |"
        )
    return "\n".join(lines)


def _references_table(rows: Sequence[Row]) -> str:
    if not rows:
        return ""
    headings = ["System", "trajectories", "seeds", "parametric", "regression", "logarithms", "angles", "reference"]
    lines = _head("Drift errors that the data allows", headings)
    for (experiment, trajectories), group in _groups(rows).items():
        cells = [_summary([row["parametric"] for row in group])]
        for name in ("plain", "logarithms", "angles"):
            errors = [row["regression"][name]["error"] for row in group if name in row["regression"]]
            cells.append(_summary(errors) if errors else "--")
        cells.append(_summary([reference_error(row) for row in group]))
        lines.append(f"| {experiment.name} | {trajectories} | {len(group)} | {' | '.join(cells)} |")
    words = f"reference: the least of the regressions and {PARAMETRIC_ALLOWANCE} × parametric."
    return "\n".join([*lines, "", words])


def _words(method: str, rows: Sequence[Row]) -> str:
    """Lists forms and warnings."""
    lines = [f"### Forms and warnings: {method}", ""]
    for row in rows:
        said = "; ".join(row["warnings"]) or "no warning"
        lines.append(f"- {row['system']}, seed {row['seed']}: {row['form']}. {said}")
    return "\n".join(lines) if rows else ""


def _summary(values: Sequence[float]) -> str:
    return mean_and_error(values) if len(values) > 1 else f"{values[0]:.4g}"


def _head(title: str, headings: Sequence[str]) -> list[str]:
    return [f"### {title}", "", f"| {' | '.join(headings)} |", "| --- |" + " ---: |" * (len(headings) - 1)]
